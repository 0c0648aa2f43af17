"""The metrics of a shard that have no column of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dbtool.store.contract import OTHER_METRICS, metric_columns
from dbtool.store.metadata import MetadataError

if TYPE_CHECKING:
    import pyarrow as pa


def check_other_metrics(column: pa.MapArray) -> None:
    """Refuses metrics that the store could not hold, or that it would not find by their name.

    Args:
        column: [rows] name to number.

    Raises:
        MetadataError: a row names a metric twice or one without a number, or a metric has a
            column of its own.
    """
    offsets = column.offsets.to_numpy()
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    if column.items.slice(first, count).null_count:
        raise MetadataError(f"its column {OTHER_METRICS} holds a null under a name")
    names = column.keys.slice(first, count).dictionary_encode()
    if columns := {"trial_id", "step", *metric_columns()} & set(names.dictionary.to_pylist()):
        raise MetadataError(
            f"its column {OTHER_METRICS} holds {min(columns)}, which has a column of its own"
        )
    code = names.indices.to_numpy()
    row = np.repeat(np.arange(len(column)), np.diff(offsets))
    pairs, times = np.unique(row * (len(names.dictionary) + 1) + code, return_counts=True)
    if (times > 1).any():
        name = names.dictionary[int(pairs[times.argmax()]) % (len(names.dictionary) + 1)]
        raise MetadataError(f"its column {OTHER_METRICS} names {name} twice in one row")
