"""The command that writes measurements into files."""

from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.bars import bar
from dbtool.cli.database import reading
from dbtool.cli.messages import tell
from dbtool.cli.options import AnyWorkloads, BatchSizes, Database, Release
from dbtool.core.errors import counted
from dbtool.release.file_format import FileFormat


def command(
    workload: AnyWorkloads = None,
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="PATH",
            help="The new file; for --format original a new folder, or a .tar, .tar.gz or "
            ".tar.bz2.",
        ),
    ],
    file_format: Annotated[
        FileFormat | None,
        typer.Option(
            "--format",
            case_sensitive=False,
            metavar="|".join(FileFormat),
            help="What to write; without it what the name of --out ends with. A duckdb file holds "
            "all views and macros, original is the layout of the archive of 2018, which `dbtool "
            "import` reads; the others hold the columns of the view measurements.",
        ),
    ] = None,
    batch_size: BatchSizes = None,
    db: Database = None,
    release: Release = None,
) -> None:
    """Write measurements into a file of another format.

    Rows are sorted by release, workload, batch size, trial and step. The file appears once it is
    whole. The original layout has no room for seeds, and for what produced the trials.

    Example: dbtool export 'mnist/fc_*' --out mnist.parquet
    """
    with reading(db, release) as database, bar("exporting", "measurements") as on_progress:
        studies = database.export(
            out,
            workload or None,
            file_format=file_format,
            batch_size=batch_size or None,
            on_progress=on_progress,
        )
    trials = [trial for study in studies for trial in study.trials]
    measurements = sum(trial.measurements for trial in trials)
    tell(
        f"wrote {out}: {counted(len(studies), 'study', 'studies')}, "
        f"{counted(len(trials), 'trial')}, {counted(measurements, 'measurement')}"
    )
