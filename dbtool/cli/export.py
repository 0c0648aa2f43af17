"""The command that writes measurements into files."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.completion import held_workloads
from dbtool.cli.options import BatchSizes, Database, Release
from dbtool.export.formats import FileFormat, format_of


def command(
    pattern: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORKLOAD...]",
            help="Names of workloads, or patterns in quotes such as 'mnist/fc_*'; without any, "
            "all of them.",
            autocompletion=held_workloads,
            show_default=False,
        ),
    ] = None,
    *,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            metavar="WORKLOAD",
            help="The same; may be given more than once.",
            autocompletion=held_workloads,
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="The file, which must not be there yet; for --format original a folder, or a "
            ".tar, .tar.gz or .tar.bz2.",
        ),
    ],
    file_format: Annotated[
        FileFormat | None,
        typer.Option(
            "--format",
            case_sensitive=False,
            metavar="|".join(FileFormat),
            help="What to write; without it what the name of --out says. The first three hold the "
            "columns of the view measurements; original is the layout of the published archive, "
            "which `dbtool import` reads.",
            show_default=False,
        ),
    ] = None,
    batch_size: BatchSizes = None,
    db: Database = None,
    release: Release = None,
) -> None:
    """Write measurements into files of any format.

    Rows are sorted by release, workload, batch size, trial and step. The file or folder appears
    once it is whole. The original layout has no room for seeds, shards and producers.

    Example: dbtool export 'mnist/fc_*' --out mnist.parquet
    """
    from dbtool.cli.database import reading
    from dbtool.cli.messages import counted
    from dbtool.export.write import Selection, export

    chosen = file_format or format_of(out)
    patterns = [*(pattern or []), *(workload or [])]
    selection = Selection(patterns or ("*",), release, batch_size or None)
    with reading(db) as connection, _bar() as on_progress:
        done = export(connection, out, chosen, selection, on_progress)
    sys.stderr.write(
        f"wrote {out}: {counted(done.studies, 'study', 'studies')}, "
        f"{counted(done.trials, 'trial')}, {counted(done.measurements, 'measurement')}\n"
    )


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("exporting"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} % · {task.completed:,} measurements ·"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
