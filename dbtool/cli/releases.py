"""The commands that check releases, and compare two of them."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.database import reading
from dbtool.cli.messages import bar, tell
from dbtool.cli.options import (
    FETCH_UP_TO,
    FetchUpTo,
    Format,
    Limit,
    OutputFormat,
    Wide,
    held_releases,
)
from dbtool.cli.table import View
from dbtool.core.errors import DbtoolError, counted
from dbtool.core.files import expanded
from dbtool.core.manifest import About, check_name
from dbtool.store.questions import FIRST_TRIALS

_DIFF_COLUMNS = ("workload", "batch_size", "trial_id", "kind", "what", "a", "b")
DIFFERENT = 1
TROUBLE = 2


def verify(path: list[Path]) -> None:
    """Check every byte of releases.

    Finds any flipped byte, any truncated, missing or extra file, rows that contradict what their
    shard says of itself, and an index that contradicts the shards; and tells what repairs it.

    Example: dbtool verify data

    Args:
        path (FOLDER): Release folders, or folders of them.
    """
    import dbtool

    problems = 0
    for each in path:
        with bar("checking", "bytes") as on_progress:
            outcome = dbtool.verify(each, on_progress)
        for problem in outcome.problems:
            tell(str(problem))
        problems += len(outcome.problems)
        tell(
            f"{each}: {counted(outcome.releases, 'release')} and "
            f"{counted(outcome.shards, 'shard')} sound, "
            f"{counted(outcome.measurements, 'measurement')}"
        )
    if problems:
        raise DbtoolError(f"{counted(problems, 'problem')} found (listed above)")


def index(folder: Path, *, release: str | None = None) -> None:
    """Rebuild the index and the manifest of a release from its shards.

    Commands that add shards do so themselves; this is for shards that were copied or removed by
    hand, and for an index that is damaged.

    Example: dbtool index runs

    Args:
        folder (FOLDER): The release folder.
        release (NAME): The release's name, where its manifest is gone or damaged.
    """
    from dbtool.core.release import rebuild, telling_of_change
    from dbtool.sources.recorder import recover

    folder = expanded(folder)
    if release is not None:
        check_name(release)
    with telling_of_change(folder, tell):
        try:
            recover(folder)
        finally:
            # A trial that cannot be stored is reported at the end.
            manifest = rebuild(folder, None if release is None else About(release=release))
    rows = sum(file.rows or 0 for file in manifest.shards)
    tell(
        f"{manifest.release}: {counted(len(manifest.shards), 'shard')} with "
        f"{counted(rows, 'measurement')}"
    )


def diff(
    a: str,
    b: str,
    *,
    release: str | None = None,
    release_b: str | None = None,
    goal: float | None = None,
    metric: str | None = None,
    trials: int = FIRST_TRIALS,
    fetch_up_to: FetchUpTo = FETCH_UP_TO,
    columns: str | None = None,
    wide: Wide = False,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """Print how two releases differ, a row a difference.

    Compared are the workloads, studies and trials that each has, what it tells of them, their
    measurements, and the steps to result. Exits like `diff`: with 0 where the releases are equal,
    1 where they differ, and 2 where they could not be compared.

    Example: dbtool diff old-release new-release

    Args:
        a (A): A release folder, a folder of them, or the URL of one.
        b (B): Another one.
        release (NAME): The release to compare, where A or B holds several.
        release_b (NAME): The release of B, where it has another name than the one of A.
    """
    import dbtool
    from dbtool.cli.output import print_table, require_printable

    require_printable(output_format)
    try:
        with (
            reading(a, release, fetch_up_to=fetch_up_to, option="A") as first,
            reading(b, release_b or release, fetch_up_to=fetch_up_to, option="B") as second,
        ):
            found = dbtool.diff(first, second, metric=metric, goal=goal, trials=trials)
    except DbtoolError as error:
        error.exit_code = TROUBLE
        raise
    if len(found) or output_format is not Format.TABLE:
        view = View(_DIFF_COLUMNS, columns, wide)
        print_table(found.arrow(), output_format, limit, view=view)
    sys.stdout.flush()
    tell(counted(len(found), "difference") if len(found) else "no differences")
    if len(found):
        raise typer.Exit(DIFFERENT)


def forget(name: Annotated[str, typer.Argument(autocompletion=held_releases)]) -> None:
    """Remove a release from your own releases.

    Its folder, with all that is in it, is removed from where `dbtool ingest` adds releases by
    default. Releases elsewhere, and the one that ships with dbtool, stay.

    Example: dbtool forget my-runs

    Args:
        name (NAME): The exact name of the release; see `dbtool releases`.
    """
    import dbtool

    gone = dbtool.forget(name)
    tell(f"removed {gone.folder}: {counted(gone.measurements, 'measurement')}")
