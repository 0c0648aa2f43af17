"""The differences of two releases: workloads, studies, trials, measurements, steps to result."""

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from dbtool.core.checks import require_whole
from dbtool.core.errors import UsageError
from dbtool.core.resources import query
from dbtool.store.questions import FIRST_TRIALS, chosen_workloads, require_metric, with_goals
from dbtool.store.releases import Releases
from dbtool.store.result import Result
from dbtool.store.statements import table_of


def diff(
    first: Releases,
    second: Releases,
    *,
    metric: str | None = None,
    goal: float | None = None,
    trials: int = FIRST_TRIALS,
) -> Result:
    """Return the differences of two releases, one row per difference, sorted.

    Args:
        first: the release with the values of column a; choose its `release` where it holds several.
        second: the release with the values of column b, likewise.
        metric: column to compare with the goal for steps to result; None for each workload's own.
        goal: target value; None for each workload's own.
        trials: number of each study's first trials to count for steps to result.

    Returns:
        kind (workload, study, trial or steps to result), workload, batch_size, trial_id, what, and
        both values as text.

    Raises:
        UsageError: one of them holds several releases and none was chosen, or the metric has no
            column.
        DbtoolError: a shard is damaged.

    Example:
        >>> with dbtool.open("old") as old, dbtool.open("new") as new:
        ...     print(dbtool.diff(old, new))
    """
    if goal is not None:
        named = {
            "workloads": chosen_workloads(first, None),
            "release": None,
            "batch_sizes": None,
        }
        require_metric(first, metric, named)
        with_goals(first, named, None, metric, goal)
    elif metric is not None:
        raise UsageError("a metric needs the value that it is to pass: give it with --goal X")
    to_goal = {"metric": metric, "goal": goal, "trials": require_whole("trials", trials)}
    with duckdb.connect() as connection:
        for name, side in (("a", first), ("b", second)):
            connection.from_arrow(_facts(side, to_goal)).create(name)
        return Result(table_of(connection, query("differences", "diff"), {}))


def _only_release(db: Releases) -> str:
    if db.release is not None:
        return db.release
    held: list[str] = db.releases()["release"].to_list()
    if len(held) > 1:
        names = ", ".join(held[:3])
        raise UsageError(
            f"{db.opened.name} holds {len(held)} releases ({names}): choose one with --release, or "
            "--release-b for the second folder"
        )
    return held[0]


def _facts(db: Releases, goal: Mapping[str, object]) -> pa.Table:
    release = {"release": _only_release(db)}
    with db.cursor() as cursor:
        facts = table_of(cursor, query("facts", "diff"), release)
        # A separate query, since DuckDB 1.5 deadlocks where one query also reads the facts.
        steps = table_of(cursor, query("steps", "diff"), {**release, **goal})
    return pa.concat_tables([facts, steps.cast(facts.schema)])
