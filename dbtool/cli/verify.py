"""The command that checks releases."""

from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.bars import bar
from dbtool.cli.messages import tell
from dbtool.core.errors import DbtoolError, counted


def command(
    path: Annotated[
        list[Path], typer.Argument(metavar="FOLDER", help="Release folders, or folders of them.")
    ],
) -> None:
    """Check every byte of releases.

    Finds any flipped byte, any truncated, missing or extra file, rows that contradict what their
    shard says of itself, and an index that contradicts the shards; and tells what repairs it.

    Example: dbtool verify data
    """
    from dbtool.release.verify import verify

    problems = 0
    for each in path:
        with bar("checking", "bytes") as on_progress:
            outcome = verify(each, on_progress)
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
