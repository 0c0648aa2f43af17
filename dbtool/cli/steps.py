"""The command that prints steps to result."""

from typing import Annotated

import typer

from dbtool.cli.options import BatchSizes, Database, Format, Limit, OutputFormat, Release, Workloads

FIRST_TRIALS = 100


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
    from dbtool.cli.database import query, reading
    from dbtool.cli.names import check_batch_sizes, check_metric, matching_workloads
    from dbtool.cli.output import print_rows, require_printable
    from dbtool.errors import UsageError

    require_printable(output_format)
    with reading(db) as connection:
        names = matching_workloads(connection, workload, release)
        check_batch_sizes(connection, names, release, batch_size or [])
        check_metric(connection, metric)
        chosen = {"workloads": names, "release": release}
        goals = connection.execute(query("goals"), chosen).fetchall()
        for name, own_metric, own_goal in goals:
            if goal is None and (own_goal is None or metric not in {None, own_metric}):
                raise UsageError(
                    f"workload {name!r} has no goal of its own for {metric or own_metric}; "
                    "give one with `--goal X`"
                )
        values = {"metric": metric, "goal": goal, "trials": trials, "batch_sizes": batch_size}
        steps = connection.execute(query("steps"), chosen | values)
        print_rows(steps, output_format, limit)
