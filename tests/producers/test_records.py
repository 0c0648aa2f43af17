"""Records of a block: which rows each trial has, and where diverged trials end."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dbtool.store.contract import shard_schema
from producers.training import records
from producers.training.records import BlockRecord

NAN = float("nan")
EVALUATED = "cross_entropy_error", "classification_error"


def table(record: BlockRecord, trial_ids: list[int]) -> pa.Table:
    return pa.concat_tables(record.tables(trial_ids))


def losses(*rows: list[float]) -> np.ndarray:
    return np.array(rows, np.float32)


def all_alive(count: int) -> np.ndarray:
    return np.ones(count, bool)


def test_rows_by_hand() -> None:
    record = BlockRecord(2, 3)
    both = np.array([0, 1])
    for split in ("train", "val", "test"):
        record.add_evaluation(
            both, all_alive(2), 0, split, np.array([2.5, 2.25]), np.array([0.9, 0.8])
        )
    assert record.add_losses(both, all_alive(2), 0, losses([2.0, 1.5], [1.0, 0.5])).tolist() == []
    record.add_evaluation(both, all_alive(2), 2, "val", np.array([1.0, 0.75]), np.array([0.5, 0.4]))
    record.add_losses(both, all_alive(2), 2, losses([1.25], [0.25]))
    rows = table(record, [4, 9])
    assert rows.schema.equals(shard_schema())
    assert rows.to_pydict() == {
        "trial_id": [4, 4, 4, 4, 9, 9, 9, 9],
        "step": [0, 1, 2, 3, 0, 1, 2, 3],
        "batch_cross_entropy_error": [None, 2.0, 1.5, 1.25, None, 1.0, 0.5, 0.25],
        "train_cross_entropy_error": [2.5, None, None, None, 2.25, None, None, None],
        "train_classification_error": [0.9, None, None, None, 0.8, None, None, None],
        "val_cross_entropy_error": [2.5, None, 1.0, None, 2.25, None, 0.75, None],
        "val_classification_error": [0.9, None, 0.5, None, 0.8, None, 0.4, None],
        "test_cross_entropy_error": [2.5, None, None, None, 2.25, None, None, None],
        "test_classification_error": [0.9, None, None, None, 0.8, None, None, None],
    }
    assert [record.status(0), record.steps(0)] == ["COMPLETE", 3]


def test_loss_that_is_not_finite_ends_its_trial_with_that_row() -> None:
    record = BlockRecord(3, 4)
    trials = np.array([0, 1, 2])
    ended = record.add_losses(
        trials,
        all_alive(3),
        0,
        losses([1, NAN, NAN, NAN], [1, 2, 3, 4], [1, 2, float("inf"), 0]),
    )
    assert ended.tolist() == [0, 2]
    assert [record.status(trial) for trial in trials] == ["INFEASIBLE", "COMPLETE", "INFEASIBLE"]
    assert [record.steps(trial) for trial in trials] == [2, 4, 3]
    rows = table(record, [0, 1, 2])
    assert rows["step"].to_pylist() == [0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2, 3]
    # NaN is a value of its own and not a missing one.
    assert rows["batch_cross_entropy_error"].null_count == 3
    values = rows["batch_cross_entropy_error"].fill_null(-1).to_numpy()
    np.testing.assert_array_equal(values, [-1, 1, NAN, -1, 1, 2, 3, 4, -1, 1, 2, np.inf])


def test_evaluation_that_is_not_finite_ends_its_trial() -> None:
    record = BlockRecord(2, 10)
    both = np.array([0, 1])
    record.add_losses(both, all_alive(2), 0, losses([1, 1], [1, 1]))
    ended = record.add_evaluation(
        both, all_alive(2), 2, "val", np.array([NAN, 3.0]), np.array([0.9, 0.5])
    )
    assert ended.tolist() == [0]
    assert [record.status(0), record.steps(0)] == ["INFEASIBLE", 2]
    last = table(record, [0, 1]).slice(2, 1)
    assert np.isnan(last["val_cross_entropy_error"][0].as_py())
    assert last["val_classification_error"][0].as_py() == 0.9


def test_rows_of_places_that_are_not_alive_are_passed_over() -> None:
    record = BlockRecord(2, 2)
    # The places hold the trials in another order, and one of them twice to fill the devices.
    places = np.array([1, 0, 0])
    alive = np.array([True, True, False])
    assert record.add_losses(places, alive, 0, losses([5, 6], [1, 2], [NAN, NAN])).size == 0
    record.add_evaluation(
        places, alive, 2, "val", np.array([7.0, 3.0, NAN]), np.array([0.7, 0.3, 1])
    )
    rows = table(record, [0, 1])
    assert rows["batch_cross_entropy_error"].to_pylist() == [None, 1, 2, None, 5, 6]
    assert rows["val_cross_entropy_error"].to_pylist() == [None, None, 3, None, None, 7]
    assert {record.status(0), record.status(1)} == {"COMPLETE"}


def test_trial_that_ends_before_its_first_step_keeps_its_start() -> None:
    record = BlockRecord(1, 5)
    record.add_evaluation(np.array([0]), all_alive(1), 0, "train", np.array([NAN]), np.array([0.9]))
    rows = table(record, [7]).to_pylist()
    assert len(rows) == 1
    assert (rows[0]["trial_id"], rows[0]["step"], rows[0]["batch_cross_entropy_error"]) == (
        7,
        0,
        None,
    )


@pytest.mark.parametrize("group", [1, 2, 3, 5, 100])
def test_groups_cut_the_same_rows(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    record = BlockRecord(3, 6)
    trials = np.array([0, 1, 2])
    record.add_evaluation(trials, all_alive(3), 0, "val", np.array([2.0, 3, 4]), np.ones(3))
    record.add_losses(
        trials,
        all_alive(3),
        0,
        losses([1, 2, 3, 4, 5, 6], [7, NAN, 0, 0, 0, 0], [9, 8, 7, 6, 5, 4]),
    )
    record.add_evaluation(
        np.array([0, 2]), all_alive(2), 6, "val", np.array([0.5, 0.25]), np.zeros(2)
    )
    (whole,) = record.tables([0, 1, 2])
    monkeypatch.setattr(records, "_ROWS_A_GROUP", group)
    groups = list(record.tables([0, 1, 2]))
    assert all(len(part) < 2 * group for part in groups)
    pieces = pa.concat_tables(groups).combine_chunks()
    assert pieces.drop_columns("batch_cross_entropy_error").equals(
        whole.drop_columns("batch_cross_entropy_error").combine_chunks()
    )
    np.testing.assert_array_equal(
        pieces["batch_cross_entropy_error"].to_numpy(),
        whole["batch_cross_entropy_error"].to_numpy(),
    )
