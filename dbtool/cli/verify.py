"""The command that checks what is stored."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    path: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Release folders, folders of shards, shards or databases.",
            show_default=False,
        ),
    ],
) -> None:
    """Check every byte of releases, shards and databases.

    Finds any flipped byte, truncated, missing or extra file, and in a database rows that are
    missing, out of order or there twice, and says what mends it.

    Example: dbtool verify data
    """
    from dbtool.cli.messages import counted
    from dbtool.errors import DbtoolError
    from dbtool.release.verify import verify

    problems = 0
    for each in path:
        outcome = verify(each)
        for problem in outcome.problems:
            sys.stderr.write(f"{problem}\n")
        problems += len(outcome.problems)
        sound = [
            counted(count, name)
            for count, name in (
                (outcome.shards, "shard"),
                (outcome.releases, "published release"),
                (outcome.databases, "database"),
            )
            if count
        ]
        sys.stderr.write(
            f"{each}: {' and '.join(sound) or 'nothing'} sound, "
            f"{counted(outcome.measurements, 'measurement')}\n"
        )
    if problems:
        raise DbtoolError(f"{counted(problems, 'problem')} found (listed above)")
