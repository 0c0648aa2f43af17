"""The measurements that are better than all before them, which answer most questions alone.

A first measurement past a goal, and the first of the best within a budget, are always among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dbtool.store.sql import statement

if TYPE_CHECKING:
    from collections.abc import Collection

    import duckdb

SCHEMA = pa.schema([("trial_id", pa.int32()), ("step", pa.int64()), ("value", pa.float64())])


def improvements(rows: pa.Table, metric: str, feasible: Collection[int]) -> pa.Table:
    """The improvements of the trials of one study that questions can be about.

    Args:
        rows: trial_id, step and metrics; the rows of a trial lie together, sorted by step.
        metric: the workload's own; higher values of an average precision are better, and lower
            ones of any other. It may be none of the columns: then nothing improves.
        feasible: the ids of the trials that are not INFEASIBLE.

    Returns:
        [improvements] `SCHEMA`, in the order of the rows: those whose value is strictly better than
        every finite one that its trial has before.
    """
    if metric not in rows.column_names:
        return SCHEMA.empty_table()
    trial_id = rows["trial_id"].to_numpy()
    starts = np.flatnonzero(np.diff(trial_id, prepend=trial_id[:1] - 1))
    counts = np.diff(starts, append=len(trial_id))
    taken = np.isin(trial_id[starts], np.fromiter(feasible, np.int64))
    better = np.repeat(taken, counts)
    values = rows[metric].to_numpy().astype(np.float64)
    costs = -values if metric.endswith("average_precision") else values
    better &= costs < _lowest_before(costs, starts[taken], counts[taken])
    found = np.flatnonzero(better)
    columns = [trial_id[found], rows["step"].to_numpy()[found], values[found]]
    return pa.table(columns, schema=SCHEMA)


def store_improvements(
    connection: duckdb.DuckDBPyConnection, study_id: int, found: pa.Table
) -> None:
    """Stores improvements of a study.

    Args:
        connection: from `open_for_writing`, in the transaction of the measurements.
        study_id: theirs.
        found: from `improvements`.
    """
    connection.register("incoming_improvements", found)
    try:
        connection.execute(statement("add_improvements"), {"study_id": study_id})
    finally:
        connection.unregister("incoming_improvements")


def _lowest_before(costs: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The lowest finite cost of a trial before each of its rows; inf where there is none.

    Args:
        costs: [rows] float64.
        starts: [trials] the first row of each trial.
        counts: [trials] how many rows each has, at least one.

    Returns:
        [rows] float64; nothing of use for the rows of other trials.
    """
    # An infinite value is past every goal, and yet never the best.
    finite = np.where(np.isfinite(costs), costs, np.inf)
    before = np.full_like(costs, np.inf)
    # A loop of some microseconds a trial beats sorting and grouping the rows of all.
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        end = start + count
        np.minimum.accumulate(finite[start : end - 1], out=before[start + 1 : end])
    return before
