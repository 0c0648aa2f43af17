"""The command that prints steps to result."""

from typing import Annotated

import typer

from dbtool.cli.options import BatchSizes, Database, Format, Limit, OutputFormat, Release, Workloads
from dbtool.store.questions import FIRST_TRIALS


def command(
    workload: Workloads,
    *,
    goal: Annotated[
        float | None,
        typer.Option(
            "--goal",
            metavar="X",
            help="The value to get past; without it the workload's own goal.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="The column that is to pass the goal; without it the workload's own metric.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option("--trials", min=1, metavar="N", help="Of each study, the first N trials."),
    ] = FIRST_TRIALS,
    batch_size: BatchSizes = None,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """Print the steps to result of a workload at each batch size.

    Steps to result: the fewest steps any of the first COMPLETE trials of a study took to get
    strictly past the goal, or to it where the workload's goal is inclusive. Where no trial did,
    steps are empty.

    Example: dbtool steps 'mnist/*' --goal 0.05 --metric val_classification_error
    """
    from dbtool.cli.database import reading
    from dbtool.cli.output import print_rows, require_printable
    from dbtool.store.questions import Asked, steps_to_result

    require_printable(output_format)
    asked = Asked(workload, release, batch_size or None, metric, trials)
    with reading(db) as connection:
        steps = steps_to_result(connection, asked, goal, "give one with `--goal X`")
        print_rows(steps, output_format, limit)
