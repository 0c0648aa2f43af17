"""The command that compares two releases."""

import sys
from typing import Annotated

import typer

from dbtool.cli.database import reading
from dbtool.cli.messages import tell
from dbtool.cli.options import Columns, Format, Goal, Limit, Metric, OutputFormat, Trials, Wide
from dbtool.cli.table import chosen_view
from dbtool.core.errors import DbtoolError, counted
from dbtool.store.questions import FIRST_TRIALS

_FIRST = ("workload", "batch_size", "trial_id", "kind", "what", "a", "b")
DIFFERENT = 1
TROUBLE = 2


def command(
    a: Annotated[
        str,
        typer.Argument(metavar="A", help="A release folder, a folder of them, or the URL of one."),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    *,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The release to compare, where A or B holds several.",
        ),
    ] = None,
    release_b: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The release of B, where it has another name than the one of A.",
        ),
    ] = None,
    goal: Goal = None,
    metric: Metric = None,
    trials: Trials = FIRST_TRIALS,
    columns: Columns = None,
    wide: Wide = False,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """Print how two releases differ, a row a difference.

    Compared are the workloads, studies and trials that each has, what it tells of them, their
    measurements, and the steps to result. Exits like `diff`: with 0 where the releases are equal,
    1 where they differ, and 2 where they could not be compared.

    Example: dbtool diff old-release new-release
    """
    from dbtool.cli.output import print_table, require_printable
    from dbtool.release.difference import diff

    require_printable(output_format)
    try:
        with (
            reading(a, release, option="A") as first,
            reading(b, release_b or release, option="B") as second,
        ):
            found = diff(first, second, metric=metric, goal=goal, trials=trials)
    except DbtoolError as error:
        error.exit_code = TROUBLE
        raise
    if len(found) or output_format is not Format.TABLE:
        print_table(
            found.arrow(), output_format, limit, view=chosen_view(_FIRST, columns, wide=wide)
        )
    sys.stdout.flush()
    tell(counted(len(found), "difference") if len(found) else "no differences")
    if len(found):
        raise typer.Exit(DIFFERENT)
