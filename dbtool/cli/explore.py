"""The command that writes the explorer, a page for the browser."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.bars import bar
from dbtool.cli.completion import held_workloads, trainable_workloads
from dbtool.cli.database import reading
from dbtool.cli.messages import tell
from dbtool.cli.options import Database, Release

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
    with reading(db, release) as database, bar("making the page", "workloads") as on_progress:
        database.explore(
            out,
            workload or None,
            trainable=trainable_workloads(),
            on_progress=on_progress,
            on_message=tell,
        )
    typer.echo(out)
    if show and not webbrowser.open(out.resolve().as_uri()):
        tell(f"no browser was found: open {out} in one")
