"""The values of runs as rows of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dbtool.store.contract import OTHER_METRICS, metric_columns, optional_columns, shard_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbtool.own_runs.gather import Run
    from dbtool.own_runs.studies import OwnTrial

_ROWS_A_TABLE = 200_000


def tables(trials: Sequence[OwnTrial]) -> Iterator[pa.Table]:
    """The rows of trials in the contract's columns, many trials to a table.

    Args:
        trials: by trial id.

    Yields:
        [rows] sorted by trial and step; every table has the same columns.
    """
    names = {name for trial in trials for name in trial.run.series}
    has_others = {OTHER_METRICS} if names - set(metric_columns()) else set()
    schema = shard_schema(frozenset((names | has_others) & optional_columns()))
    pending: list[pa.Table] = []
    for trial in trials:
        pending.append(_table(trial, schema))
        if sum(map(len, pending)) >= _ROWS_A_TABLE:
            yield pa.concat_tables(pending)
            pending = []
    if pending:
        yield pa.concat_tables(pending)


def _table(trial: OwnTrial, schema: pa.Schema) -> pa.Table:
    run = trial.run
    steps = np.unique(
        np.concatenate([np.frombuffer(series.steps, np.int64) for series in run.series.values()])
    )
    columns = []
    for column in schema:
        if column.name == "trial_id":
            values = pa.array(np.full(len(steps), trial.trial["trial_id"]), column.type)
        elif column.name == "step":
            values = pa.array(steps, column.type)
        elif column.name == OTHER_METRICS:
            values = _others(run, steps)
        else:
            values = _column(run, column.name, steps).cast(column.type, safe=False)
        columns.append(values)
    return pa.Table.from_arrays(columns, schema=schema)


def _column(run: Run, name: str, steps: np.ndarray) -> pa.Array:
    """A metric's values at steps, null where it has none."""
    values, missing = np.zeros(len(steps)), np.ones(len(steps), bool)
    if name in run.series:
        at = np.searchsorted(steps, np.frombuffer(run.series[name].steps, np.int64))
        values[at] = np.frombuffer(run.series[name].values, np.float64)
        missing[at] = False
    return pa.array(values, mask=missing)


def _others(run: Run, steps: np.ndarray) -> pa.MapArray:
    """The metrics without a column, null at steps at which none was measured."""
    names = sorted(set(run.series) - set(metric_columns()))
    if not names:
        return pa.nulls(len(steps), pa.map_(pa.string(), pa.float64()))
    found = [run.series[name] for name in names]
    row = np.concatenate(
        [np.searchsorted(steps, np.frombuffer(series.steps, np.int64)) for series in found]
    )
    values = np.concatenate([np.frombuffer(series.values, np.float64) for series in found])
    metric = np.repeat(np.arange(len(found)), [len(series.steps) for series in found])
    order = np.argsort(row, kind="stable")
    counts = np.bincount(row, minlength=len(steps))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    keys = pa.array(names).take(pa.array(metric[order]))
    return pa.MapArray.from_arrays(offsets, keys, values[order], mask=pa.array(counts == 0))
