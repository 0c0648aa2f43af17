"""The command that loads shards, published releases, and runs of other tools."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dbtool.cli.options import Database

if TYPE_CHECKING:
    from dbtool.own_runs.load import OwnRunsReport
    from dbtool.store.ingest import IngestReport
    from dbtool.store.load import Loaded
    from dbtool.store.published.load import LoadReport

# What a person can take in.
_MOST_NAMES = 10


def command(
    path: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Shards, folders that are searched for trials-*.parquet, or folders that "
            "`dbtool publish` wrote; with --from, the files of another tool.",
            show_default=False,
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
            show_default=False,
        ),
    ] = None,
    map_: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="With --from: a TOML file that says what the columns are; see "
            "docs/your_own_runs.md.",
            show_default=False,
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            "--release",
            metavar="NAME",
            help="With --from: the name under which the runs are stored; without it the mapping's.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Load shards, a published release, or runs of other tools, into the database.

    What is already there changes nothing, so an interrupted load goes on when the same command is
    given again. A shard out of contract is refused and named, and so is a study of a published
    release of which other rows are there; the rest goes in. Runs of other tools become a release of
    their own; where a file is not what its mapping says, nothing of it is stored.

    Others can read the database meanwhile, and see the new rows once all of them are there.

    Example: dbtool ingest history.csv --from csv --map mapping.toml
    """
    from dbtool.errors import UsageError

    if from_ is not None and map_ is not None:
        _load_own_runs(path, from_, map_, release, db)
        return
    if from_ is not None:
        raise UsageError("--from needs --map FILE, which says what the columns are")
    if map_ is not None or release is not None:
        given = "--map" if map_ is not None else "--release"
        raise UsageError(f"{given} needs --from csv or --from jsonl; shards name their own release")
    _load_shards(path, db)


def _load_shards(path: list[Path], db: Path | None) -> None:
    from dbtool.cli.database import writing
    from dbtool.cli.loading import loading_bar
    from dbtool.release.copies import refuse_copies
    from dbtool.store.load import find, load

    find(path)
    refuse_copies(path)
    with writing(db, "dbtool ingest") as connection, loading_bar("loading") as on_progress:
        loaded = load(connection, path, on_progress)
    _print_report(loaded)
    _fail_where_refused(loaded)


def _load_own_runs(
    paths: list[Path],
    kind: Literal["csv", "jsonl"],
    mapping: Path,
    release: str | None,
    db: Path | None,
) -> None:
    from dbtool.cli.database import writing
    from dbtool.cli.loading import loading_bar
    from dbtool.errors import UsageError
    from dbtool.own_runs.load import read_own_runs, store_own_runs

    for path in paths:
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "is not there"
            raise UsageError(f"{path} {what}: name the files that your tool wrote")
    if release is not None and (not release.strip() or not release.isprintable()):
        raise UsageError(f"--release {release!r} is no name: give one such as my-sweep")
    # Before a database is made, which what the files hold may not be fit for.
    with loading_bar("reading files") as on_progress:
        read = read_own_runs(paths, kind, mapping, release=release, on_progress=on_progress)
    with writing(db, "dbtool ingest") as connection:
        report = store_own_runs(connection, read)
    _print_own_runs(report)


def _print_report(loaded: "Loaded") -> None:
    """Tells on standard error what became of what was named."""
    if loaded.shards is not None:
        _print_shards(loaded.shards)
    for release in loaded.releases:
        _print_release(release)


def _print_shards(report: "IngestReport") -> None:
    from dbtool.cli.messages import counted

    for shard, reason in report.refused:
        sys.stderr.write(f"refused {shard}: {reason}\n")
    sys.stderr.write(
        f"added {counted(report.added, 'shard')} with {counted(report.trials, 'trial')} and "
        f"{counted(report.measurements, 'measurement')}; "
        f"{counted(report.already_there, 'shard')} already there\n"
    )


def _print_own_runs(report: "OwnRunsReport") -> None:
    """Tells on standard error what became of the runs."""
    from dbtool.cli.messages import counted

    if report.without_values:
        names = _some(report.without_values)
        sys.stderr.write(f"left out, as they have no measurements: {names}\n")
    if report.other_metrics:
        names = _some(report.other_metrics)
        sys.stderr.write(f"kept in other_metrics under their own names: {names}\n")
    sys.stderr.write(
        f"added {counted(report.trials, 'trial')} and "
        f"{counted(report.measurements, 'measurement')} to {report.release}; "
        f"{counted(report.already_there, 'trial')} already there\n"
    )


def _some(names: tuple[str, ...]) -> str:
    """The first few of many names."""
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    shown = (name if name.isprintable() else repr(name) for name in names[:_MOST_NAMES])
    return ", ".join(shown) + more


def _print_release(report: "LoadReport") -> None:
    from dbtool.cli.messages import counted

    for study, reason in report.refused:
        sys.stderr.write(f"refused {report.release}, {study}: {reason}\n")
    sys.stderr.write(
        f"added {counted(report.added, 'study', 'studies')} of {report.release} with "
        f"{counted(report.trials, 'trial')} and {counted(report.measurements, 'measurement')}; "
        f"{counted(report.already_there, 'study', 'studies')} already there\n"
    )


def _fail_where_refused(loaded: "Loaded") -> None:
    """Ends in an error where not everything went in.

    Raises:
        DbtoolError: something was refused.
    """
    from dbtool.errors import DbtoolError

    shards = loaded.shards
    if shards is not None and shards.refused:
        total = len(shards.refused) + shards.added + shards.already_there
        raise DbtoolError(
            f"{len(shards.refused)} of {total} shards were refused; "
            "write them anew with `dbtool produce`, or fetch them again"
        )
    refused = sum(len(release.refused) for release in loaded.releases)
    if refused:
        raise DbtoolError(
            f"{refused} studies were refused; load the release into a database of its own with "
            "--db, or check its folder with `dbtool verify`"
        )
