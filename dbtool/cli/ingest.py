"""The command that adds release folders, and runs of other tools, to the user's releases."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dbtool.cli.bars import bar
from dbtool.cli.messages import few_of, tell, telling_unpublished
from dbtool.cli.options import Database
from dbtool.core.errors import DbtoolError, UsageError, counted
from dbtool.core.manifest import check_name, read_manifest
from dbtool.store.sources import folder_to_write, named_source

# What a person can take in.
_MOST_NAMES = 10


def command(
    path: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Release folders, or folders of them; with --from, the files of another tool.",
        ),
    ],
    *,
    db: Database = None,
    from_: Annotated[
        Literal["csv", "jsonl"] | None,
        typer.Option(
            "--from",
            metavar="csv|jsonl",
            help="Take learning curves of another tool from CSV or JSON Lines.",
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
) -> None:
    """Add release folders, or runs of other tools, to your releases.

    What is already there changes nothing, so an interrupted load goes on when the same command is
    given again. A release that is damaged, or that disagrees with what is there, is refused and
    named; the others go in. Runs of other tools become a release of their own; where a file is not
    what its mapping says, nothing of it is stored.

    Example: dbtool ingest history.csv --from csv --map mapping.toml
    """
    if from_ is not None and map_ is not None:
        _load_own_runs(path, from_, map_, release, db)
        return
    if from_ is not None:
        raise UsageError("--from needs --map FILE, which says what the columns are")
    if map_ is not None or release is not None:
        given = "--map" if map_ is not None else "--release"
        raise UsageError(f"{given} needs --from csv or --from jsonl; a release folder names itself")
    _add_releases(path, db)


def _add_releases(paths: list[Path], db: str | None) -> None:
    from dbtool.release.add import add_release

    folders = [folder for path in paths for folder in named_source(path, "PATH").folders]
    refused = 0
    for folder in folders:
        try:
            into = folder_to_write(db, read_manifest(folder).release)
            with telling_unpublished(into), bar("adding shards") as on_progress:
                added = add_release(folder, into, on_progress=on_progress)
                tell(
                    f"added {counted(added.shards, 'shard')} with "
                    f"{counted(added.trials, 'trial')} and "
                    f"{counted(added.measurements, 'measurement')} to {added.release}; "
                    f"{counted(added.already_there, 'shard')} already there"
                )
        except DbtoolError as error:
            if len(folders) == 1:
                raise
            refused += 1
            tell(f"refused {folder}: {error}")
    if refused:
        raise DbtoolError(f"{refused} of {len(folders)} releases were refused (named above)")


def _load_own_runs(
    paths: list[Path],
    kind: Literal["csv", "jsonl"],
    mapping: Path,
    release: str | None,
    db: str | None,
) -> None:
    from dbtool.sources.own_runs.load import read_own_runs, store_own_runs

    for path in paths:
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "is no file"
            raise UsageError(f"{path} {what}: name the files that your tool wrote")
    if release is not None:
        check_name(release)
    with bar("reading files", "files") as on_progress:
        read = read_own_runs(paths, kind, mapping, release=release, on_progress=on_progress)
    into = folder_to_write(db, read.release)
    with telling_unpublished(into):
        report = store_own_runs(into, read)
        if read.without_values:
            names = few_of(read.without_values, _MOST_NAMES)
            tell(f"left out, as they have no measurements: {names}")
        if read.other_metrics:
            names = few_of(read.other_metrics, _MOST_NAMES)
            tell(f"kept in other_metrics under their own names: {names}")
        tell(
            f"added {counted(report.trials, 'trial')} and "
            f"{counted(report.measurements, 'measurement')} to {read.release}; "
            f"{counted(report.already_there, 'trial')} already there"
        )
