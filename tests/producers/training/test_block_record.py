"""Records of a block: which rows each trial has, and where diverged trials end."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.contract import shard_schema
from producers.training import block_record
from producers.training.block_record import BlockRecord

NAN = float("nan")


def table(record: BlockRecord, trial_ids: list[int]) -> pa.Table:
    return pa.concat_tables(record.tables(trial_ids))


def losses(*rows: list[float]) -> np.ndarray:
    return np.array(rows, np.float32)


def of_split(split: str, loss: list[float], error: list[float]) -> dict[str, np.ndarray]:
    return {
        f"{split}_cross_entropy_error": np.array(loss, np.float64),
        f"{split}_classification_error": np.array(error, np.float64),
    }


def all_alive(count: int) -> np.ndarray:
    return np.ones(count, bool)


def test_rows_by_hand():
    record = BlockRecord(2)
    both = np.array([0, 1])
    for split in ("train", "val", "test"):
        record.add_evaluation(both, all_alive(2), 0, of_split(split, [2.5, 2.25], [0.9, 0.8]))
    assert record.add_losses(both, all_alive(2), 0, losses([2.0, 1.5], [1.0, 0.5])).tolist() == []
    record.add_evaluation(both, all_alive(2), 2, of_split("val", [1.0, 0.75], [0.5, 0.4]))
    record.add_losses(both, all_alive(2), 2, losses([1.25], [0.25]))
    rows = table(record, [4, 9])
    contract = {field.name: field.type for field in shard_schema()}
    assert [field.type for field in rows.schema] == [contract[name] for name in rows.column_names]
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


def test_loss_that_is_not_finite_ends_its_trial_with_that_row():
    record = BlockRecord(3)
    trials = np.array([0, 1, 2])
    ended = record.add_losses(
        trials, all_alive(3), 0, losses([1, NAN, NAN, NAN], [1, 2, 3, 4], [1, 2, float("inf"), 0])
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


def test_rows_of_slots_that_are_not_alive_are_passed_over():
    record = BlockRecord(2)
    # The slots hold the trials in another order, and one of them twice to fill the devices.
    slots = np.array([1, 0, 0])
    alive = np.array([True, True, False])
    assert record.add_losses(slots, alive, 0, losses([5, 6], [1, 2], [NAN, NAN])).size == 0
    record.add_evaluation(slots, alive, 2, of_split("val", [7.0, 3.0, NAN], [0.7, 0.3, 1]))
    rows = table(record, [0, 1])
    assert rows["batch_cross_entropy_error"].to_pylist() == [None, 1, 2, None, 5, 6]
    assert rows["val_cross_entropy_error"].to_pylist() == [None, None, 3, None, None, 7]
    assert {record.status(0), record.status(1)} == {"COMPLETE"}


@pytest.mark.parametrize("group", [1, 2, 3, 5, 100])
def test_groups_cut_the_same_rows(group, monkeypatch):
    record = BlockRecord(3)
    trials = np.array([0, 1, 2])
    record.add_evaluation(trials, all_alive(3), 0, of_split("val", [2.0, 3, 4], [1, 1, 1]))
    record.add_evaluation(trials, all_alive(3), 1, {"squares": np.array([1.0, NAN, 9.0])})
    record.add_losses(
        trials,
        all_alive(3),
        0,
        losses([1, 2, 3, 4, 5, 6], [7, NAN, 0, 0, 0, 0], [9, 8, 7, 6, 5, 4]),
    )
    record.add_evaluation(np.array([0, 2]), all_alive(2), 6, of_split("val", [0.5, 0.25], [0, 0]))
    (whole,) = record.tables([0, 1, 2])
    monkeypatch.setattr(block_record, "_ROWS_A_GROUP", group)
    assert all(len(part) < 2 * group for part in record.tables([0, 1, 2]))
    assert rows_of(record, [0, 1, 2]) == str(whole.to_pylist())
    assert table(record, [0, 1, 2]).schema == whole.schema


def test_columns_that_hold_nothing_are_left_out():
    record = BlockRecord(2)
    both = np.array([0, 1])
    nothing = {"val_average_precision": np.full(2, NAN), "gradient_squared_norm": np.full(2, NAN)}
    assert record.add_evaluation(both, all_alive(2), 0, nothing).size == 0
    always = ["trial_id", "step", "batch_cross_entropy_error"]
    assert table(record, [0, 1]).column_names == always
    record.add_evaluation(both, all_alive(2), 0, {"val_average_precision": np.array([NAN, 0.25])})
    assert table(record, [0, 1]).column_names == [*always, "val_average_precision"]
    assert table(record, [0, 1])["val_average_precision"].to_pylist() == [None, 0.25]


def test_metrics_without_a_column_lie_in_an_object_by_hand():
    record = BlockRecord(2)
    both = np.array([0, 1])
    record.add_losses(both, all_alive(2), 0, losses([1, 1], [1, 1]))
    moments = {
        "gradient_squared_norm": np.array([4.0, 9.0]),
        "gradient_covariance_trace": np.array([0.5, NAN]),
    }
    assert record.add_evaluation(both, all_alive(2), 0, moments).size == 0
    constant = {"gradient_lipschitz_constant": np.array([np.inf, 8.0])}
    assert record.add_evaluation(both, all_alive(2), 2, constant).size == 0
    rows = table(record, [3, 5])
    assert rows.schema.names[-1] == "other_metrics"
    # In the order of their names; a metric that is NaN ends no trial and is left out.
    assert rows["other_metrics"].to_pylist() == [
        '{"gradient_covariance_trace":0.5,"gradient_squared_norm":4.0}',
        None,
        '{"gradient_lipschitz_constant":"inf"}',
        '{"gradient_squared_norm":9.0}',
        None,
        '{"gradient_lipschitz_constant":8.0}',
    ]
    assert {record.status(0), record.status(1)} == {"COMPLETE"}


def test_a_later_value_of_a_metric_takes_the_place_of_the_earlier():
    record = BlockRecord(1)
    for value in (0.5, 0.25):
        error = {"val_classification_error": np.array([value])}
        record.add_evaluation(np.array([0]), all_alive(1), 0, error)
    assert table(record, [0])["val_classification_error"].to_pylist() == [0.25]


NAMES = ("val_cross_entropy_error", "val_average_precision", "gradient_squared_norm", "größe/1")


@st.composite
def records_with_histories(draw: st.DrawFn) -> BlockRecord:
    """A record that steps and evaluations were added to, some of which ended trials."""
    trials, train_steps = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    record = BlockRecord(trials)
    slots, alive = np.arange(trials), np.ones(trials, bool)
    numbers = st.floats(width=32)
    for step in range(train_steps + 1):
        metrics = {
            name: np.array(draw(st.lists(numbers, min_size=trials, max_size=trials)))
            for name in draw(st.sets(st.sampled_from(NAMES)))
        }
        alive &= ~np.isin(slots, record.add_evaluation(slots, alive, step, metrics))
        dropped = slots[
            alive & np.array(draw(st.lists(st.booleans(), min_size=trials, max_size=trials)))
        ]
        record.drop(dropped)
        alive &= ~np.isin(slots, dropped)
        if step == train_steps or not alive.any() or draw(st.booleans()):
            break
        batch = draw(st.lists(numbers, min_size=trials, max_size=trials))
        ended = record.add_losses(slots, alive, step, losses(*([loss] for loss in batch)))
        alive &= ~np.isin(slots, ended)
    return record


@given(records_with_histories())
def test_a_record_is_restored_from_its_arrays(record):
    arrays = record.arrays()
    assert all(array.size for array in arrays.values())
    assert {array.dtype.kind for array in arrays.values()} <= {"i", "u", "f"}
    restored = BlockRecord.from_arrays(arrays)
    trials = len(arrays["last"])
    for trial in range(trials):
        assert restored.status(trial) == record.status(trial)
        assert restored.steps(trial) == record.steps(trial)
    ids = list(range(trials))
    assert rows_of(restored, ids) == rows_of(record, ids)
    # Going on with one of them leaves the arrays, and so the other, alone.
    more = {"gradient_squared_norm": np.ones(trials), "val_cross_entropy_error": np.ones(trials)}
    for other in (restored, record):
        other.add_evaluation(np.arange(trials), all_alive(trials), 0, more)
    assert rows_of(restored, ids) == rows_of(record, ids)


def rows_of(record: BlockRecord, trial_ids: list[int]) -> str:
    """The rows as text, in which NaN equals NaN."""
    return str(table(record, trial_ids).to_pylist())
