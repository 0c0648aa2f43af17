"""The command that loads shards."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.options import Database

if TYPE_CHECKING:
    from dbtool.store.ingest import IngestReport


def command(
    path: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Shards, or folders that are searched for trials-*.parquet.",
            show_default=False,
        ),
    ],
    *,
    db: Database = None,
) -> None:
    """Load shards of measurements into the database.

    Shards that are already there change nothing, so an interrupted load goes on when the same
    command is given again. A shard out of contract is refused and named; the rest goes in.

    Example: dbtool ingest runs
    """
    from dbtool.cli.database import writing
    from dbtool.cli.loading import loading_bar
    from dbtool.errors import DbtoolError, UsageError
    from dbtool.release.copies import refuse_copies
    from dbtool.store.ingest import find_shards, ingest

    shards = find_shards(path)
    if not shards:
        names = ", ".join(map(str, path))
        raise UsageError(
            f"there are no shards (trials-*.parquet) in {names}; `dbtool produce` writes them"
        )
    refuse_copies(path)
    with writing(db) as connection, loading_bar("loading shards") as on_progress:
        report = ingest(connection, shards, on_progress)
    _print_report(report)
    if report.refused:
        raise DbtoolError(
            f"{len(report.refused)} of {len(shards)} shards were refused; "
            "write them anew with `dbtool produce`, or fetch them again"
        )


def _print_report(report: "IngestReport") -> None:
    """Tells on standard error what became of the shards."""
    from dbtool.cli.messages import counted

    for shard, reason in report.refused:
        sys.stderr.write(f"refused {shard}: {reason}\n")
    sys.stderr.write(
        f"added {counted(report.added, 'shard')} with {counted(report.trials, 'trial')} and "
        f"{counted(report.measurements, 'measurement')}; "
        f"{counted(report.already_there, 'shard')} already there\n"
    )
