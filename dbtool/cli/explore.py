"""The command that writes the explorer, a page for the browser."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.bars import bar
from dbtool.cli.completion import held_workloads
from dbtool.cli.database import reading
from dbtool.cli.messages import tell
from dbtool.cli.options import Database, Release
from dbtool.core.errors import UsageError

if TYPE_CHECKING:
    from dbtool.database import Database as Opened
    from dbtool.explorer.contents import Chosen

_DEFAULT_FILE = Path("explorer.html")


def command(
    *,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            metavar="W",
            help="Only this workload, or a pattern in quotes such as 'mnist/fc_*'; may be given "
            "more than once.",
            autocompletion=held_workloads,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE.html", help="The file to write.")
    ] = _DEFAULT_FILE,
    show: Annotated[
        bool, typer.Option("--open", help="Show the page in the browser, too.")
    ] = False,
    db: Database = None,
    release: Release = None,
) -> None:
    """Write a page for the browser on which goals are sliders and points lead to their trials.

    The page is one file, which holds all that it shows: it needs no network and no server, and
    sends nothing anywhere. Prints the file's name. Where there are more than ten million values,
    the page has no curves, and of each workload only the metric of its goal.

    Example: dbtool explore --workload 'mnist/*' --out mnist.html
    """
    from dbtool.explorer.contents import choose
    from dbtool.explorer.page import require_built
    from dbtool.explorer.writing import write_alone
    from dbtool.figures.batch import writing
    from dbtool.release.references import bibtex

    if out.suffix != ".html":
        raise UsageError(f"--out is {str(out)!r}: name a file that ends with .html")
    with reading(db, release) as database:
        chosen = choose(database, workload or None, release)
        require_built()
        figures = _packed(database, chosen, workload, release)
        with bar("reading workloads", "workloads") as on_progress, writing(out):
            write_alone(
                database,
                chosen,
                out,
                figures=figures,
                bibtex=bibtex(database, release),
                options=["--db", db] if db else [],
                on_progress=on_progress,
            )
    typer.echo(out)
    if show and not webbrowser.open(out.resolve().as_uri()):
        tell(f"no browser was found: open {out} in one")


def write_into(folder: Path) -> list[str]:
    """Write a page into a release folder, for a server with both.

    Returns:
        The page and its tables, relative to the folder.

    Raises:
        OSError: they cannot be written.
        DbtoolError: the application was not built, or a shard is damaged.
    """
    from dbtool.explorer.contents import choose
    from dbtool.explorer.writing import write_beside
    from dbtool.release.references import bibtex

    with reading(str(folder)) as database:
        chosen = choose(database, None, None)
        figures = _packed(database, chosen, None, None)
        with bar("reading workloads", "workloads") as on_progress:
            return write_beside(
                database,
                chosen,
                folder,
                figures=figures,
                bibtex=bibtex(database, None),
                on_progress=on_progress,
            )


def _packed(
    database: "Opened", chosen: "Chosen", workload: list[str] | None, release: str | None
) -> bytes:
    """Return the figures of the page; tell which data the page lacks."""
    from dbtool.cli.completion import trainable_workloads
    from dbtool.figures.plot import checked, packed_figures
    from dbtool.figures.points import Request
    from dbtool.figures.specs import ALL, chosen_specs

    if chosen.is_large:
        tell("left out for want of room: all curves, and metrics that are not of a workload's goal")
    names = tuple(workload) if workload else None
    trainable = frozenset(trainable_workloads())
    request = checked(database, Request(release, workloads=names, trainable=trainable))
    specs = chosen_specs([ALL], any_workloads=workload is not None)
    with bar("asking for figures", "figures") as on_progress:
        return packed_figures(database, specs, request, on_progress)
