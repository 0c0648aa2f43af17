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


def rows_of(record: BlockRecord, trial_ids: list[int]) -> str:
    """The rows as text, in which NaN equals NaN."""
    return str(table(record, trial_ids).to_pylist())


def advance(record: BlockRecord, step: int, *losses: list[float]) -> list[int]:
    """Adds each trial's losses of some steps; returns the trials that ended."""
    slots = np.arange(record.trials)
    ended = record.add_losses(slots, slots >= 0, step, np.array(losses, np.float32))
    return [int(trial) for trial in ended]


def evaluate(record: BlockRecord, step: int, **metrics: list[float]) -> list[int]:
    """Adds metrics of every trial, likewise."""
    slots = np.arange(record.trials)
    columns = {name: np.array(values) for name, values in metrics.items()}
    return [int(trial) for trial in record.add_evaluation(slots, slots >= 0, step, columns)]


def test_rows_by_hand():
    record = BlockRecord(2)
    for split in ("train", "val", "test"):
        loss, error = f"{split}_cross_entropy_error", f"{split}_classification_error"
        assert evaluate(record, 0, **{loss: [2.5, 2.25], error: [0.9, 0.8]}) == []
    assert advance(record, 0, [2.0, 1.5], [1.0, 0.5]) == []
    evaluate(record, 2, val_cross_entropy_error=[1.0, 0.75], val_classification_error=[0.5, 0.4])
    advance(record, 2, [1.25], [0.25])
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


def test_loss_that_is_not_finite_ends_its_trial_with_that_row():
    record = BlockRecord(3)
    assert advance(record, 0, [1, NAN, NAN, NAN], [1, 2, 3, 4], [1, 2, float("inf"), 0]) == [0, 2]
    statuses = [record.status(trial) for trial in range(3)]
    assert statuses == ["INFEASIBLE", "COMPLETE", "INFEASIBLE"]
    assert [record.steps(trial) for trial in range(3)] == [2, 4, 3]
    rows = table(record, [0, 1, 2])
    assert rows["step"].to_pylist() == [0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2, 3]
    # NaN is a value of its own and not a missing one.
    assert rows["batch_cross_entropy_error"].null_count == 3
    values = rows["batch_cross_entropy_error"].fill_null(-1).to_numpy()
    np.testing.assert_array_equal(values, [-1, 1, NAN, -1, 1, 2, 3, 4, -1, 1, 2, np.inf])


def test_rows_of_slots_that_are_not_alive_are_passed_over():
    record = BlockRecord(2)
    # The slots hold the trials in another order, and one of them twice to fill the devices.
    slots, alive = np.array([1, 0, 0]), np.array([True, True, False])
    values = np.array([[5, 6], [1, 2], [NAN, NAN]], np.float32)
    assert record.add_losses(slots, alive, 0, values).size == 0
    record.add_evaluation(slots, alive, 2, {"val_cross_entropy_error": np.array([7.0, 3.0, NAN])})
    rows = table(record, [0, 1])
    assert rows["batch_cross_entropy_error"].to_pylist() == [None, 1, 2, None, 5, 6]
    assert rows["val_cross_entropy_error"].to_pylist() == [None, None, 3, None, None, 7]
    assert {record.status(0), record.status(1)} == {"COMPLETE"}


@pytest.mark.parametrize("group", [1, 3, 100])
def test_groups_cut_the_same_rows(group, monkeypatch):
    record = BlockRecord(3)
    evaluate(record, 0, val_cross_entropy_error=[2.0, 3.0, 4.0])
    evaluate(record, 1, squares=[1.0, NAN, 9.0])
    assert advance(record, 0, [1, 2, 3, 4, 5, 6], [7, NAN, 0, 0, 0, 0], [9, 8, 7, 6, 5, 4]) == [1]
    last = {"val_cross_entropy_error": np.array([0.5, 0.25])}
    record.add_evaluation(np.array([0, 2]), np.ones(2, bool), 6, last)
    (whole,) = record.tables([0, 1, 2])
    monkeypatch.setattr(block_record, "_ROWS_A_GROUP", group)
    assert all(len(part) < 2 * group for part in record.tables([0, 1, 2]))
    assert rows_of(record, [0, 1, 2]) == str(whole.to_pylist())
    assert table(record, [0, 1, 2]).schema == whole.schema


def test_columns_that_hold_nothing_are_left_out_and_later_values_count():
    record = BlockRecord(2)
    nothing = [NAN, NAN]
    assert evaluate(record, 0, val_average_precision=nothing, gradient_squared_norm=nothing) == []
    always = ["trial_id", "step", "batch_cross_entropy_error"]
    assert table(record, [0, 1]).column_names == always
    for value in (0.5, 0.25):
        evaluate(record, 0, val_average_precision=[NAN, value])
    assert table(record, [0, 1]).column_names == [*always, "val_average_precision"]
    assert table(record, [0, 1])["val_average_precision"].to_pylist() == [None, 0.25]


def test_metrics_without_a_column_lie_in_an_object_by_hand():
    record = BlockRecord(2)
    advance(record, 0, [1, 1], [1, 1])
    moments = {"gradient_squared_norm": [4.0, 9.0], "gradient_covariance_trace": [0.5, NAN]}
    assert evaluate(record, 0, **moments) == []
    assert evaluate(record, 2, gradient_lipschitz_constant=[np.inf, 8.0]) == []
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
        batch = np.array(draw(st.lists(numbers, min_size=trials, max_size=trials)), np.float32)
        ended = record.add_losses(slots, alive, step, batch[:, None])
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
    more = [1.0] * trials
    for other in (restored, record):
        evaluate(other, 0, gradient_squared_norm=more, val_cross_entropy_error=more)
    assert rows_of(restored, ids) == rows_of(record, ids)
