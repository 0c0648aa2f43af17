"""The questions that the command line and Python ask alike, with the names in them checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.errors import UsageError
from dbtool.resources import query
from dbtool.store.names import check_batch_sizes, check_metric, matching_workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    import pyarrow as pa

# As many of each study's COMPLETE trials as the paper counts.
FIRST_TRIALS = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question is about.

    Attributes:
        workloads: names, or patterns with *, ? and [] as in a shell.
        release: the release they belong to; None: any.
        batch_sizes: the studies; None: all.
        metric: the column of the measurements that counts; None: each workload's own.
        trials: of each study, so many of the first COMPLETE ones count.
    """

    workloads: Sequence[str]
    release: str | None = None
    batch_sizes: Sequence[int] | None = None
    metric: str | None = None
    trials: int = FIRST_TRIALS

    def checked(self, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """The values of the queries' parameters.

        Raises:
            UsageError: a name is not there, or no trials are asked for.
        """
        if self.trials < 1:
            raise UsageError(
                f"of each study {self.trials} trials were asked for: ask for 1 or more"
            )
        names = matching_workloads(connection, self.workloads, self.release)
        check_batch_sizes(connection, names, self.release, self.batch_sizes or [])
        check_metric(connection, self.metric)
        return {
            "workloads": names,
            "release": self.release,
            "batch_sizes": None if self.batch_sizes is None else list(self.batch_sizes),
            "metric": self.metric,
            "trials": self.trials,
        }


def steps_to_result(
    connection: duckdb.DuckDBPyConnection, asked: Asked, goal: float | None, mend: str
) -> duckdb.DuckDBPyConnection:
    """Runs queries/browse/steps.sql.

    Args:
        connection: the database, which then has the rows.
        asked: what about.
        goal: the value to get past; None: each workload's own.
        mend: how to give a goal, such as "give one with `--goal X`".

    Raises:
        UsageError: a name is not there, or a workload has no goal of its own for the metric.
    """
    values = asked.checked(connection)
    chosen = {name: values[name] for name in ("workloads", "release")}
    for name, own_metric, own_goal in connection.execute(query("goals"), chosen).fetchall():
        if goal is None and (own_goal is None or asked.metric not in {None, own_metric}):
            raise UsageError(
                f"workload {name!r} has no goal of its own for {asked.metric or own_metric}; {mend}"
            )
    return connection.execute(query("steps"), values | {"goal": goal})


def best_measurements(
    connection: duckdb.DuckDBPyConnection,
    asked: Asked,
    most_steps: int | None,
    most_examples: int | None,
) -> pa.Table:
    """The rows of queries/browse/best.sql for each workload, in the order of asking.

    Args:
        connection: the database.
        asked: what about.
        most_steps: the budget in steps; None: no bound.
        most_examples: the budget in examples, which are steps times batch size; None: no bound.

    Raises:
        UsageError: a name is not there.
    """
    import pyarrow as pa

    values = asked.checked(connection) | {"most_steps": most_steps, "most_examples": most_examples}
    # A query a workload, which leaves the measurements of the others out early.
    tables = [
        connection.execute(query("best"), values | {"workload": name}).to_arrow_table()
        for name in values.pop("workloads")
    ]
    return pa.concat_tables(tables)
