"""The commands that list the contents of the database, and the one that prints steps to result."""

import inspect
import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from dbtool.cli import options
from dbtool.cli.database import reading, tell_left_out, tell_unlike_definitions
from dbtool.cli.messages import tell
from dbtool.cli.table import View
from dbtool.core.errors import DbtoolError, UsageError, matching, unknown
from dbtool.store.questions import FIRST_TRIALS, index_question

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from dbtool import database as store

# The columns of JSON, which frames store as text.
_JSON = ("definition", "search_space", "search", "metaparameters", "settings", "producer")


def listing(*first: str) -> "Callable[[Callable[..., pl.DataFrame]], Callable[..., None]]":
    """Make a command of a function that returns rows of a database.

    The command has the function's parameters after the first, which is the database, and --db,
    --columns, --wide, --format and --limit.

    Args:
        first: the columns that a table shows, the most important first.
    """

    def decorated(answer: "Callable[..., pl.DataFrame]") -> "Callable[..., None]":
        def command(
            *,
            columns: str | None = None,
            wide: options.Wide = False,
            db: str | None = None,
            fetch_up_to: options.FetchUpTo = options.FETCH_UP_TO,
            output_format: options.OutputFormat = options.Format.TABLE,
            limit: options.Limit = None,
            **values: object,
        ) -> None:
            from dbtool.cli.output import print_table, require_printable

            require_printable(output_format)
            with reading(db, fetch_up_to=fetch_up_to) as database:
                rows = answer(database, **values)
            view = View(first, columns, wide)
            print_table(rows.to_arrow(), output_format, limit, view, _JSON)

        _, *own = inspect.signature(answer).parameters.values()
        *shared, _ = inspect.signature(command).parameters.values()
        command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined] # Typer reads it
        command.__doc__ = answer.__doc__
        return command

    return decorated


@listing("release", "workloads", "studies", "trials", "measurements", "licence")
def releases(database: "store.Database") -> "pl.DataFrame":
    """List the releases with their sizes.

    Example: dbtool releases --format markdown
    """
    return database.releases()


@listing("release", "workload", "batch_size", "complete", "infeasible")
def studies(
    database: "store.Database",
    workload: options.AnyWorkloads = None,
    *,
    release: options.Release = None,
) -> "pl.DataFrame":
    """List the studies: one batch size of one workload each.

    Of the trials of a study, those that were trained to their end are complete and those that
    diverged infeasible; --wide shows how many were stopped before (incomplete), too.

    Example: dbtool studies 'mnist/*'
    """
    return database.studies(workload, release=release)


@listing(
    *("release", "workload", "batch_size", "trial_id", "status", "steps", "learning_rate"),
    "momentum",
)
def trials(
    database: "store.Database",
    workload: options.Workloads,
    *,
    batch_size: list[int] | None = None,
    release: options.Release = None,
) -> "pl.DataFrame":
    """List the trials of a workload.

    A trial's status is COMPLETE where it was trained to its end, INFEASIBLE where it diverged, and
    INCOMPLETE where it was stopped before.

    Example: dbtool trials 'mnist/*' --batch-size 64 --limit 20
    """
    return database.trials(workload, batch_size=batch_size, release=release)


@listing(
    *("release", "workload", "batch_size", "steps", "seconds", "examples", "goal", "trials"),
    *("learning_rate", "momentum", "trial_id", "metric"),
)
def steps(
    database: "store.Database",
    workload: options.Workloads,
    *,
    goal: float | None = None,
    metric: str | None = None,
    trials: int = FIRST_TRIALS,
    sustained: int = 1,
    by: Literal["steps", "seconds", "examples"] = "steps",
    batch_size: list[int] | None = None,
    release: options.Release = None,
) -> "pl.DataFrame":
    """Print the steps to result of a workload at each batch size.

    Steps to result are the fewest steps that any of a study's first COMPLETE trials, which were
    trained to their end, took to get strictly past the goal (or to it, where the workload's goal is
    inclusive). Of a study that was searched in lockstep, the trials that were dropped count too.
    Trials with equal metaparameters and other seeds are replicates: their median counts,
    and trial_id is the middle one.
    Steps are empty where no trial did, and where the search ended before the goal.

    Example: dbtool steps 'mnist/*' --goal 0.05 --metric val_classification_error

    Args:
        by: Print in place of steps their training `examples`, or the `seconds` since training
            began, where a source tells them.
    """
    tell_unlike_definitions(database, workload, release)
    rows = database.steps(
        workload,
        goal=goal,
        metric=metric,
        trials=trials,
        sustained=sustained,
        by=by,
        batch_size=batch_size,
        release=release,
    )
    tell_left_out(database, workload, metric, goal, release)
    named = {"releases": [*rows["release"].unique()], "workloads": [*rows["workload"].unique()]}
    if ("replicates",) in database.result(index_question("searches", **named)):
        tell("steps of replicates are their median, and trial_id is the middle one")
    ended = rows.filter(rows[by].is_null() & rows["stopped_at"].is_not_null())
    for held, name, sizes in (
        ended.group_by("release", "workload", maintain_order=True).agg("batch_size").iter_rows()
    ):
        tell(
            f"{name} ({held}): steps are unknown, since the search ended first, at batch "
            f"size {', '.join(map(str, sizes))}"
        )
    return rows


def workloads(
    workload: options.AnyWorkloads = None,
    *,
    catalog: Annotated[bool, typer.Option("--catalog")] = False,
    show: Annotated[str | None, typer.Option(autocompletion=options.trainable_workloads)] = None,
    columns: str | None = None,
    wide: options.Wide = False,
    db: str | None = None,
    fetch_up_to: options.FetchUpTo = options.FETCH_UP_TO,
    release: options.Release = None,
    output_format: options.OutputFormat = options.Format.TABLE,
    limit: options.Limit = None,
) -> None:
    """List the workloads with their goals and sizes.

    Example: dbtool workloads --format csv > workloads.csv

    Args:
        catalog: List instead the 35 workloads of the archive of 2018, also without its data: goals,
            sizes, trials by status, and which releases here hold them.
        show (NAME): Print instead every setting of a workload that can be trained, and whether it
            is stated by the paper or its release, recalled from the paper, or chosen here.
    """
    import polars as pl

    from dbtool.cli.output import print_table, require_printable

    require_printable(output_format)
    is_nested = show is not None and output_format in (options.Format.JSON, options.Format.JSONL)
    if show is not None:
        others = {"WORKLOAD": workload, "--catalog": catalog, "--release": release, "--db": db}
        for name, value in others.items():
            if value:
                raise UsageError(f"--show takes one name and no release; leave out {name}")
        rows = pl.DataFrame(_setting_rows(show, is_nested=is_nested))
        first: tuple[str, ...] = ("setting", "certainty", "value")
    elif catalog:
        rows = pl.DataFrame(
            _published_rows(workload or ["*"], db, release), infer_schema_length=None
        )
        first = ("workload", "goal", "complete", "infeasible", "releases", "metric")
    else:
        with reading(db, fetch_up_to=fetch_up_to) as database:
            rows = database.workloads(workload, release=release)
        first = ("release", "workload", "goal", "studies", "trials")
    view, documents = View(first, columns, wide), ("value",) if is_nested else ()
    print_table(rows.to_arrow(), output_format, limit, view, documents)


def _setting_rows(name: str, *, is_nested: bool) -> list[dict[str, Any]]:
    """Return a row for each setting of a workload; values are JSON or, unless nested, text."""
    from producers.workloads.own import load_own
    from producers.workloads.registry import WORKLOADS
    from producers.workloads.settings import settings

    load_own()
    if name not in WORKLOADS:
        raise unknown("workload to show", name, WORKLOADS, "dbtool produce --list")
    return [
        {
            "setting": each.name,
            "value": json.dumps(each.value) if is_nested else each.text,
            "certainty": each.certainty,
        }
        for each in settings(WORKLOADS[name])
    ]


def _published_rows(
    patterns: list[str], db: str | None, release: str | None
) -> list[dict[str, Any]]:
    """Return a row for each published workload that matches, with the releases that have it.

    Unless a database or release is named, all are listed even where no release can be read.
    """
    from dbtool.core.catalog import catalog
    from dbtool.store.questions import index_question

    published = {each.workload: each for each in catalog()}
    absent = partial(
        unknown, "published workload", choices=published, listing="dbtool workloads --catalog"
    )
    chosen = [published[name] for name in matching(patterns, published, absent)]
    holding: dict[str, list[str]] | None = None
    try:
        with reading(db, release) as database:
            holding = dict(database.result(index_question("holding_releases")).rows())
    except DbtoolError as error:
        if db is not None or release is not None:
            raise
        tell(f"not known which releases hold the workloads: {error}")
    rows = [
        {
            **msgspec.structs.asdict(workload),
            "batch_sizes": workload.batch_sizes,
            "complete": sum(study.complete for study in workload.studies),
            "incomplete": sum(study.incomplete for study in workload.studies),
            "infeasible": sum(study.infeasible for study in workload.studies),
            "releases": None if holding is None else holding.get(workload.workload, []),
        }
        for workload in chosen
    ]
    return [row for row in rows if release is None or release in row["releases"]]
