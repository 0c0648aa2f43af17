"""The command that writes the explorer, a page for the browser."""

import webbrowser
from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.bars import bar
from dbtool.cli.completion import held_workloads
from dbtool.cli.database import reading
from dbtool.cli.messages import tell
from dbtool.cli.options import Database, Release

DEFAULT_FILE = Path("explorer.html")


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
        Path, typer.Option(metavar="FILE.html", help="The file to write.", show_default=True)
    ] = DEFAULT_FILE,
    open_: Annotated[
        bool, typer.Option("--open", help="Show the page in the browser, too.")
    ] = False,
    db: Database = None,
    release: Release = None,
) -> None:
    """Write a page for the browser on which goals are sliders and points lead to their trials.

    The page is one file, which holds all that it shows: it needs no network and no server, and
    sends nothing anywhere. Prints the file's name. Of releases with more than ten million
    evaluations it has no curves, and of each workload only the metric of its goal.

    Example: dbtool explore --workload 'mnist/*' --open
    """
    from dbtool.cli.cite import bibtex
    from dbtool.core.errors import UsageError
    from dbtool.core.files import write_whole
    from dbtool.explorer.contents import Tables, choose, facts_of, write_tables
    from dbtool.explorer.page import page, require_built

    if out.suffix != ".html":
        raise UsageError(f"--out is {str(out)!r}: name a file that ends with .html")
    require_built()
    options = [("--db", db), ("--release", release)]
    with reading(db, release) as database:
        chosen = choose(database, workload or None, release)
        if chosen.is_large:
            tell("left out: the curves, and metrics without a goal; --workload takes fewer")
        trials, improvements, curves = BytesIO(), BytesIO(), BytesIO()
        tables = Tables(trials, improvements, None if chosen.is_large else curves)
        with bar("reading workloads", "workloads") as on_progress:
            workloads = write_tables(database, chosen, tables, on_progress)
        facts = facts_of(
            database,
            workloads,
            bibtex=bibtex(database, release),
            options=[word for name, value in options if value for word in (name, value)],
        )
    text = page(
        facts,
        trials=trials.getvalue(),
        improvements=improvements.getvalue(),
        curves=curves.getvalue(),
    )
    write_whole(out, text.encode())
    typer.echo(out)
    if open_ and not webbrowser.open(out.resolve().as_uri()):
        tell(f"no browser was found: open {out} in one")
