"""The command that adds release folders, and runs of other tools, to the user's releases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dbtool.cli.bars import bar
from dbtool.cli.messages import tell
from dbtool.cli.options import Destination
from dbtool.core.errors import UsageError, counted
from dbtool.sources.registry import source_names

if TYPE_CHECKING:
    from dbtool.sources.base import Source

    SourceName = str
else:
    SourceName = Literal[source_names()]


def command(
    path: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Release folders, or folders of them; with --from, the files of another tool, "
            "folders of such files, or patterns such as 'runs/**/metrics.csv'.",
        ),
    ],
    *,
    db: Destination = None,
    from_: Annotated[
        SourceName | None,
        typer.Option(
            "--from",
            metavar="|".join(source_names()),
            help="Take learning curves of another tool from CSV, JSON Lines or Parquet.",
        ),
    ] = None,
    map_: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="With --from: a TOML file that says what the columns are; see "
            "docs/your_own_runs.md.",
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --from: the name under which the runs are stored; without it the mapping's.",
        ),
    ] = None,
    guess: Annotated[
        bool,
        typer.Option(
            "--guess",
            help="Print a first mapping for the runs in a folder, with ? where you have to say "
            "more, and store nothing.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="With --from: show how many runs there are and the first rows as they would be "
            "stored, and store nothing.",
        ),
    ] = False,
) -> None:
    """Add release folders, or runs of other tools, to your releases.

    What is already there changes nothing, so an interrupted load goes on when the same command is
    given again. A release that is damaged, or that disagrees with what is there, is refused and
    named; the others go in. Runs of other tools become a release of their own; where files are not
    what their mapping says, nothing is stored. --guess writes a first mapping.

    Example: dbtool ingest history.csv --from csv --map mapping.toml
    """
    import dbtool

    if guess:
        if from_ or map_ or release or dry_run:
            raise UsageError("--guess takes a folder and no other option")
        _guess(path)
        return
    with bar("reading files", "files") if from_ else bar("adding shards") as on_progress:
        if not dry_run:
            dbtool.ingest(
                path,
                db,
                source=from_,
                mapping=map_,
                release=release,
                on_progress=on_progress,
                on_message=tell,
            )
            return
        from dbtool.sources.ingest import open_source

        source = open_source(path, from_, map_, release, on_progress=on_progress, on_message=tell)
    _show(source)


def _show(source: "Source") -> None:
    """Print what would be stored: the number of runs, and the first trials and measurements."""
    from dbtool.cli.options import Format
    from dbtool.cli.output import print_table
    from dbtool.cli.table import View
    from dbtool.sources.ingest import preview

    found = preview(source)
    if found.measurements is not None:
        print_table(found.trials, Format.TABLE, view=View(wide=True))
        typer.echo()
        print_table(found.measurements, Format.TABLE, view=View(wide=True))
    tell(found.sentence)


def _guess(folders: list[Path]) -> None:
    from dbtool.sources.tables.guess import guess

    found = guess(*folders)
    typer.echo(found.mapping, nl=False)
    tell(
        f"guessed from {counted(found.files, 'file')}: save it as mapping.toml, fill in what is "
        f"marked ?, and try `dbtool ingest {folders[0]} --from {found.kind} --map mapping.toml "
        "--dry-run`"
    )
