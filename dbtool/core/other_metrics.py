"""Metrics without their own column, as the JSON objects of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from dbtool.core.contract import OTHER_METRICS, column_names
from dbtool.core.footer import plain

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_other_metrics(columns: Mapping[str, pa.Array]) -> pa.Table:
    """Return the rows of a shard, with metrics that lack their own column in other_metrics.

    Args:
        columns: trial_id, step and metrics by name, [rows] each.
    """
    known = {name: values for name, values in columns.items() if name in column_names()}
    if others := {name: values for name, values in columns.items() if name not in known}:
        known[OTHER_METRICS] = encoded(others)
    return pa.table(known)


def encoded(columns: Mapping[str, pa.Array]) -> pa.Array:
    """Return one JSON object per row with the metrics of that row; null where all are missing.

    Args:
        columns: name of a metric to its values, [rows] float64.

    Returns:
        [rows] string.
    """
    rows = len(next(iter(columns.values())))
    there = {name: column.is_valid().to_numpy(False) for name, column in columns.items()}
    objects: list[bytes | None] = [None] * rows
    for row in np.flatnonzero(np.logical_or.reduce(list(there.values()))).tolist():
        found = {name: plain(columns[name][row].as_py()) for name in columns if there[name][row]}
        objects[row] = msgspec.json.encode(found, order="sorted")
    return pa.array([None if each is None else each.decode() for each in objects], pa.string())
