"""The commands that list the contents of the database, and the one that prints steps to result."""

from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.completion import trainable_workloads
from dbtool.cli.database import print_answer, tell_unlike_definitions
from dbtool.cli.options import (
    AnyWorkloads,
    BatchSizes,
    Columns,
    Database,
    Format,
    Goal,
    Limit,
    Metric,
    OutputFormat,
    Release,
    Trials,
    Wide,
    Workloads,
)
from dbtool.cli.table import View, chosen_view
from dbtool.core.errors import UsageError
from dbtool.store.questions import FIRST_TRIALS

if TYPE_CHECKING:
    import polars as pl

    from dbtool import database as store

_FIRST = {
    "releases": ("release", "workloads", "studies", "trials", "measurements", "licence"),
    "workloads": ("release", "workload", "goal", "studies", "trials"),
    "catalog": ("workload", "goal", "complete", "infeasible", "releases", "metric"),
    "settings": ("setting", "certainty", "value"),
    "studies": ("release", "workload", "batch_size", "complete", "infeasible"),
    "trials": (
        *("release", "workload", "batch_size", "trial_id", "status", "steps", "learning_rate"),
        "momentum",
    ),
    "steps": (
        *("release", "workload", "batch_size", "steps", "goal", "trials", "learning_rate"),
        *("momentum", "trial_id", "metric"),
    ),
}


def _view(command: str, columns: str | None, *, wide: bool) -> View:
    return chosen_view(_FIRST[command], columns, wide=wide)


def releases(
    *,
    columns: Columns = None,
    wide: Wide = False,
    db: Database = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """List the releases with their sizes.

    Example: dbtool releases --format markdown
    """
    view = _view("releases", columns, wide=wide)
    print_answer(lambda database: database.releases(), db, output_format, limit, view)


def workloads(
    *,
    catalog: Annotated[
        bool,
        typer.Option(
            "--catalog",
            help="List instead the 35 workloads of the archive of 2018, also without its data: "
            "goals, sizes, trials by status, and which releases here hold them.",
        ),
    ] = False,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Print instead every setting of a workload that can be trained, and whether it is "
            "stated by the paper or its release, recalled from the paper, or chosen here.",
            autocompletion=trainable_workloads,
        ),
    ] = None,
    columns: Columns = None,
    wide: Wide = False,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """List the workloads with their goals and sizes.

    Example: dbtool workloads --format csv > workloads.csv
    """
    listing = "settings" if show is not None else "catalog" if catalog else "workloads"
    view = _view(listing, columns, wide=wide)
    if show is not None:
        for name, value in {"--catalog": catalog, "--release": release, "--db": db}.items():
            if value:
                raise UsageError(f"--show needs no release; leave out {name}, or --show")
        from dbtool.cli.workloads import print_settings

        print_settings(show, output_format, limit, view)
        return
    if catalog:
        from dbtool.cli.workloads import print_catalog

        print_catalog(db, release, output_format, limit, view)
        return
    print_answer(
        lambda database: database.workloads(release=release), db, output_format, limit, view
    )


def studies(
    workload: AnyWorkloads = None,
    *,
    columns: Columns = None,
    wide: Wide = False,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """List the studies: one batch size of one workload each.

    Of the trials of a study, those that were trained to their end are complete and those that
    diverged infeasible; --wide shows how many were stopped before (incomplete), too.

    Example: dbtool studies 'mnist/*'
    """
    print_answer(
        lambda database: database.studies(workload, release=release),
        db,
        output_format,
        limit,
        _view("studies", columns, wide=wide),
    )


def trials(
    workload: Workloads,
    *,
    batch_size: BatchSizes = None,
    columns: Columns = None,
    wide: Wide = False,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """List the trials of a workload.

    A trial's status is COMPLETE where it was trained to its end, INFEASIBLE where it diverged, and
    INCOMPLETE where it was stopped before.

    Example: dbtool trials 'mnist/*' --batch-size 64 --limit 20
    """
    print_answer(
        lambda database: database.trials(workload, batch_size=batch_size, release=release),
        db,
        output_format,
        limit,
        _view("trials", columns, wide=wide),
    )


def steps(
    workload: Workloads,
    *,
    goal: Goal = None,
    metric: Metric = None,
    trials: Trials = FIRST_TRIALS,
    batch_size: BatchSizes = None,
    columns: Columns = None,
    wide: Wide = False,
    db: Database = None,
    release: Release = None,
    output_format: OutputFormat = Format.TABLE,
    limit: Limit = None,
) -> None:
    """Print the steps to result of a workload at each batch size.

    Steps to result are the fewest steps that any of a study's first COMPLETE trials, which were
    trained to their end, took to get strictly past the goal (or to it, where the workload's goal is
    inclusive). Of a study that was searched in lockstep, the trials that were dropped count too.
    Steps are empty where no trial did.

    Example: dbtool steps 'mnist/*' --goal 0.05 --metric val_classification_error
    """

    def answer(database: "store.Database") -> "pl.DataFrame":
        tell_unlike_definitions(database, workload, release)
        return database.steps_to_result(
            workload,
            goal=goal,
            metric=metric,
            trials=trials,
            batch_size=batch_size,
            release=release,
        )

    view = _view("steps", columns, wide=wide)
    print_answer(answer, db, output_format, limit, view)
