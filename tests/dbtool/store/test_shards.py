"""Long shards: the checks of rows hold across the batches they are read in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from support.made_up import shard_metadata, write_table

from dbtool.store.contract import shard_schema
from dbtool.store.shards import ShardError, read_rows, read_shard

if TYPE_CHECKING:
    from pathlib import Path

BATCH = 1 << 17
# A trial that ends where a batch does, one over three batches, one of a single row, and a rest.
LENGTHS = (BATCH, 2 * BATCH + 5, 1, 70)


def written(folder: Path, trial_id: np.ndarray[Any, Any], step: np.ndarray[Any, Any]) -> Path:
    columns = [pa.array(trial_id, pa.int32()), pa.array(step, pa.int64())]
    columns += [pa.nulls(len(step), field.type) for field in list(shard_schema())[2:]]
    table = pa.Table.from_arrays(columns, schema=shard_schema())
    trials: list[Any] = [
        (number, "COMPLETE", {}, [{"step": length - 1}]) for number, length in enumerate(LENGTHS)
    ]
    return write_table(folder, table, shard_metadata(trials, train_steps=0))


@pytest.fixture
def keys() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    steps = np.concatenate([np.arange(length) for length in LENGTHS])
    return np.repeat(np.arange(len(LENGTHS)), LENGTHS), steps


def test_rows_are_counted_across_batches(tmp_path: Path, keys: Any) -> None:
    path = written(tmp_path, *keys)
    shard = read_shard(path)
    assert shard.trial_rows == LENGTHS
    assert shard.rows == sum(LENGTHS)
    assert sum(batch.num_rows for batch in read_rows(path)) == sum(LENGTHS)


@pytest.mark.parametrize("at", [1, BATCH - 1, BATCH + 1, 2 * BATCH, 3 * BATCH, sum(LENGTHS) - 1])
def test_a_step_repeated_at_any_place_is_found(tmp_path: Path, keys: Any, at: int) -> None:
    trial_id, step = keys
    step[at] = step[at - 1]
    with pytest.raises(ShardError, match=f"trial {trial_id[at]} has step {step[at]} twice"):
        read_shard(written(tmp_path, trial_id, step))


@pytest.mark.parametrize("at", [BATCH, 3 * BATCH + 5])
def test_a_trial_after_a_later_one_is_found(tmp_path: Path, keys: Any, at: int) -> None:
    trial_id, step = keys
    trial_id[:at] += 3
    with pytest.raises(ShardError, match=f"comes after trial {trial_id[at - 1]}"):
        read_shard(written(tmp_path, trial_id, step))


def test_negative_keys_are_found(tmp_path: Path, keys: Any) -> None:
    trial_id, step = keys
    step[0] = -1
    with pytest.raises(ShardError, match="negative"):
        read_shard(written(tmp_path, trial_id, step))
