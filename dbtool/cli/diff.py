"""The command that compares two releases."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.options import Format, Limit, OutputFormat
from dbtool.store.questions import FIRST_TRIALS

if TYPE_CHECKING:
    from dbtool.release.difference import Goal, Side

DIFFERENT = 1
TROUBLE = 2


def command(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="A database, a folder that `dbtool publish` wrote, or shards.",
            show_default=False,
        ),
    ],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    *,
    release: Annotated[
        str | None,
        typer.Option(
            "--release",
            metavar="NAME",
            help="The release to compare; may be left out where each holds one alone.",
            show_default=False,
        ),
    ] = None,
    release_b: Annotated[
        str | None,
        typer.Option(
            "--release-b",
            metavar="NAME",
            help="The release of B, where it has another name than that of A.",
            show_default=False,
        ),
    ] = None,
    goal: Annotated[
        float | None,
        typer.Option(
            "--goal",
            metavar="X",
            help="Compare steps to this value; without it to each workload's own goal.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="The column that is to pass the goal; without it each workload's own metric.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            "--trials",
            min=1,
            metavar="N",
            help="For steps to result, the first N trials of each study.",
        ),
    ] = FIRST_TRIALS,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """Print in what two releases differ.

    Workloads, studies and trials that only one of them has; of the others what they say of
    themselves, their status, steps, metaparameters and measurements; and which steps to result are
    others. As `diff` does, it ends with 0 where they are equal, 1 where they differ, and 2 where
    they could not be compared.

    Example: dbtool diff old.duckdb my-release --release measured
    """
    from dbtool.errors import DbtoolError, UsageError
    from dbtool.release.difference import Goal

    if metric is not None and goal is None:
        raise UsageError("--metric needs the value that it is to pass: give it with --goal X")
    try:
        with contextlib.ExitStack() as stack:
            first = _side(stack, a, release, metric)
            second = _side(stack, b, release_b or release, metric)
            different = _print(first, second, Goal(metric, goal, trials), output_format, limit)
    except DbtoolError as error:
        error.exit_code = TROUBLE
        raise
    if different:
        raise typer.Exit(DIFFERENT)


def _side(
    stack: contextlib.ExitStack, path: Path, release: str | None, metric: str | None
) -> "Side":
    """A release at a path, open as long as the stack is.

    Raises:
        UsageError: it holds no such release or metric, or several and none was named.
    """
    from dbtool.cli.database import answering
    from dbtool.cli.loading import loading_bar
    from dbtool.release.difference import Side, opened
    from dbtool.store.names import check_metric, only_release

    with loading_bar(f"loading {path}") as on_progress:
        connection = stack.enter_context(opened(path, on_progress))
    stack.enter_context(answering(connection))
    name = only_release(connection, release, what=str(path))
    check_metric(connection, metric)
    return Side(connection, name)


def _print(
    first: "Side", second: "Side", goal: "Goal", output_format: Format, limit: int | None
) -> bool:
    """Prints the differences; returns whether there are any."""
    from dbtool.cli.messages import counted
    from dbtool.cli.output import print_rows, require_printable
    from dbtool.release.difference import compared

    require_printable(output_format)
    with compared(first, second, goal) as differences:
        [(count,)] = differences.execute("SELECT count(*) FROM differences").fetchall()
        print_rows(differences.execute("FROM differences"), output_format, limit)
    sys.stdout.flush()
    sys.stderr.write(f"{counted(count, 'difference') if count else 'no differences'}\n")
    return bool(count)
