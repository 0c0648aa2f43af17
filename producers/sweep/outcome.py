"""Read from shards what their trials came to."""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from dbtool.core.contract import OTHER_METRICS, metric_columns
from dbtool.core.shards import read_tables
from producers.training.stopping import Goal

Values = tuple[np.ndarray, np.ndarray, np.ndarray]


def values_of(paths: Iterable[Path], metric: str) -> Values:
    """Return the trials, steps and values of a metric in shards, int, int and float64 [rows]."""
    column = metric if metric in metric_columns() else OTHER_METRICS
    # Row group by row group, since most rows lie between evaluations.
    tables = [
        table.drop_null()
        for path in paths
        for table in read_tables(path, ["trial_id", "step", column])
    ]
    if not tables:
        return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0)
    rows = pa.concat_tables(tables)
    trial, step = rows["trial_id"].to_numpy(), rows["step"].to_numpy()
    if column != OTHER_METRICS:
        return trial, step, rows[column].to_numpy().astype(float)
    texts, key = rows[column].to_pylist(), json.dumps(metric)
    held = np.array([key in text for text in texts], bool)
    values = [json.loads(text)[metric] for text in texts if key in text]
    return trial[held], step[held], np.array(values, float)


def best_of(values: Values, goal: Goal) -> int:
    """Return the row of the first value past the goal, or else of the best one."""
    trial, step, value = values
    reached = goal.reached(value)
    # The last key counts first.
    keys = (trial, step, ~reached) if reached.any() else (trial, step, goal.cost(value))
    return int(np.lexsort(keys)[0])
