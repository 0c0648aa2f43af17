"""What a reduction makes of a release's shards, trials and measurements."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dbtool.errors import DbtoolError, UsageError
from dbtool.release.reduction import REDUCED_KEY, Reduction

if TYPE_CHECKING:
    from collections.abc import Mapping


def reduced_shards(shards: pa.Table, reduction: Reduction) -> pa.Table:
    """The shards as their rows are once reduced; counts of rows stay as they are.

    A shard that changes says how in its producer's metadata, and has another digest: that of its
    file and of the reduction. One that was reduced the same way before stays as it is.

    Raises:
        UsageError: a shard was reduced before in a way that does not go with this one.
        DbtoolError: a shard's metadata says of its reduction what cannot be read.
    """
    rows = [_reduced(row, reduction) for row in shards.to_pylist()]
    return pa.Table.from_pylist(rows, schema=shards.schema)


def reductions(shards: pa.Table) -> tuple[Mapping[str, Any], ...]:
    """The different ways in which shards were reduced; none where none was."""
    producers = [json.loads(text) for text in shards["producer"].to_pylist()]
    found = [producer[REDUCED_KEY] for producer in producers if REDUCED_KEY in producer]
    whole = Reduction().to_json()
    texts = {json.dumps(each, sort_keys=True) for each in found if each != whole}
    return tuple(json.loads(text) for text in sorted(texts))


def reduced_rows(rows: pa.Table, trials: pa.Table, reduction: Reduction) -> pa.Table:
    """The measurements of shards that are kept, with their batch losses rounded.

    Args:
        rows: the columns of a shard.
        trials: trial_id and steps of their trials, and perhaps of others.
        reduction: what to leave out.
    """
    last_steps = dict(zip(trials["trial_id"].to_pylist(), trials["steps"].to_pylist(), strict=True))
    kept = [reduction.apply(batch, last_steps) for batch in rows.to_batches() if len(batch)]
    return pa.Table.from_batches(kept, schema=rows.schema)


def recounted(table: pa.Table, key: str, counts: Mapping[int, int]) -> pa.Table:
    """A table with other numbers of measurements.

    Args:
        table: with the columns `key` and measurements.
        key: the column that tells its rows apart.
        counts: by the key; 0 where there is none.
    """
    position = table.schema.get_field_index("measurements")
    field = table.schema.field(position)
    numbers = [counts.get(each, 0) for each in table[key].to_pylist()]
    return table.set_column(position, field, pa.array(numbers, field.type))


def count(column: pa.ChunkedArray) -> Counter[int]:
    """How often each number is there."""
    numbers, times = np.unique(column.to_numpy(), return_counts=True)
    return Counter(dict(zip(numbers.tolist(), times.tolist(), strict=True)))


def _reduced(row: dict[str, Any], reduction: Reduction) -> dict[str, Any]:
    """A row of the table of shards."""
    producer = json.loads(row["producer"])
    before = _before(row["name"], producer)
    after = reduction.after(before)
    if after is None:
        raise UsageError(
            f"the losses of {row['name']} were thinned before (all up to step "
            f"{before.every_loss_up_to:,}, then one in {before.then_one_in}), which this cannot go "
            f"on from: give --every-loss-up-to {before.every_loss_up_to} and as --then-one-in "
            "a multiple, or publish the shards as they were produced"
        )
    if after == before:
        return row
    said = json.dumps(after.to_json(), sort_keys=True)
    digest = hashlib.sha256(f"{row['sha256']} {said}".encode()).hexdigest()
    changed = json.dumps({**producer, REDUCED_KEY: after.to_json()})
    return {**row, "sha256": digest, "producer": changed}


def _before(name: str, producer: Mapping[str, Any]) -> Reduction:
    """How a shard was reduced."""
    try:
        return Reduction(**producer.get(REDUCED_KEY, {}))
    except TypeError as error:
        raise DbtoolError(
            f"the shard {name} says in a way unknown here how it was reduced; "
            "publish it with the version of dbtool that reduced it"
        ) from error
