"""Blocks of trials: the same curves however trials are grouped, and diverging ones end early."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import jax
import numpy as np
import pytest

from producers.datasets import Split
from producers.training.block import BlockProgram
from producers.training.mesh import device_mesh
from producers.training.run import BlockTrials, Splits, train_block
from producers.training.step import trainer

if TYPE_CHECKING:
    from producers.training.records import BlockRecord

BATCH_SIZE = 8
EVALUATIONS = {0: True, 1: False, 7: False, 40: True}
TRIALS = 6
# Summing in another order changes float32 results in their last digits, and training amplifies it.
TOLERANCE = 1e-4


def made_up_split(count: int, seed: int) -> Split:
    """Images of noise whose brightest column tells their label."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, count, dtype=np.uint8)
    images = random.integers(0, 60, (count, 28, 28), dtype=np.uint8)
    images[np.arange(count), :, labels * 2] += 150
    return Split(images, labels)


@functools.cache
def compiled(lanes: int, shared: bool) -> BlockProgram:
    return BlockProgram(
        trainer("fc_16", "momentum", "constant"),
        device_mesh(jax.devices()[:2]),
        lanes=lanes,
        shared_batches=shared,
        evaluation_batch=10,
    )


def train(
    trial_ids: list[int],
    lanes: int,
    *,
    learning_rates: dict[int, float] | None = None,
    shared: bool = False,
) -> BlockRecord:
    program = compiled(lanes, shared)
    training, other = made_up_split(50, 1), program.put(made_up_split(20, 2))
    splits = Splits(program.put(training), program.put(training.first(10)), other, other)
    rates = learning_rates or {}
    trials = BlockTrials(
        trial_ids=trial_ids,
        seeds=[100 + trial_id for trial_id in trial_ids],
        metaparameters=[
            {"learning_rate": rates.get(trial_id, 0.01 * (1 + trial_id)), "momentum": 0.9}
            for trial_id in trial_ids
        ],
        shared_seed=5 if shared else None,
    )
    return train_block(program, splits, trials, batch_size=BATCH_SIZE, evaluations=EVALUATIONS)


def rows(record: BlockRecord, trial_ids: list[int]) -> dict[str, np.ndarray]:
    (table,) = record.tables(trial_ids)
    return {name: table[name].to_numpy() for name in table.column_names}


def of_trial(columns: dict[str, np.ndarray], trial_id: int) -> dict[str, np.ndarray]:
    return {name: values[columns["trial_id"] == trial_id] for name, values in columns.items()}


@pytest.mark.parametrize("lanes", [2, 100])
def test_curves_do_not_depend_on_the_grouping(lanes: int) -> None:
    ids = list(range(TRIALS))
    one_lane, several = rows(train(ids, 1), ids), rows(train(ids, lanes), ids)
    for name, values in one_lane.items():
        np.testing.assert_allclose(several[name], values, rtol=TOLERANCE, err_msg=name)


def test_a_trial_of_a_block_is_bit_for_bit_the_trial_alone() -> None:
    ids = list(range(TRIALS))
    together = rows(train(ids, 1), ids)
    for trial_id in (0, 4):
        alone = rows(train([trial_id], 1), [trial_id])
        for name, values in of_trial(together, trial_id).items():
            np.testing.assert_array_equal(alone[name], values, err_msg=name)


@pytest.mark.parametrize("lanes", [1, 100])
def test_a_diverging_trial_ends_with_the_row_that_shows_it(lanes: int) -> None:
    ids = list(range(TRIALS))
    undisturbed = rows(train(ids, lanes), ids)
    diverging = {1: 1e30, 2: 1e25, 3: 1e30, 4: 1e30}
    record = train(ids, lanes, learning_rates=diverging)
    columns = rows(record, ids)
    for trial_id in ids:
        found = of_trial(columns, trial_id)
        losses = found["batch_cross_entropy_error"][1:]
        last = len(losses)
        assert found["step"].tolist() == list(range(last + 1))
        assert record.steps(trial_id) == last
        if trial_id in diverging:
            assert record.status(trial_id) == "INFEASIBLE"
            assert last < 10
            ended_by_batch = not np.isfinite(losses[-1])
            ended_by_evaluation = not np.isfinite(found["val_cross_entropy_error"][-1])
            assert ended_by_batch or ended_by_evaluation
            assert np.isfinite(losses[:-1]).all()
        else:
            assert record.status(trial_id) == "COMPLETE"
            assert last == 40
            for name, values in of_trial(undisturbed, trial_id).items():
                np.testing.assert_allclose(found[name], values, rtol=TOLERANCE, err_msg=name)


def test_a_block_that_diverges_whole_ends() -> None:
    ids = [0, 1]
    record = train(ids, 1, learning_rates={0: 1e30, 1: 1e30})
    assert [record.status(trial) for trial in ids] == ["INFEASIBLE"] * 2
    assert all(record.steps(trial) < 10 for trial in ids)


def test_splits_are_measured_at_their_evaluations_alone() -> None:
    columns = rows(train([0], 1), [0])
    for name, steps in {"val": [0, 1, 7, 40], "train": [0, 40], "test": [0, 40]}.items():
        for metric in ("cross_entropy_error", "classification_error"):
            values = columns[f"{name}_{metric}"]
            assert np.flatnonzero(~np.isnan(values)).tolist() == steps
    assert np.isnan(columns["batch_cross_entropy_error"]).nonzero()[0].tolist() == [0]


def test_training_learns_and_errors_are_exact_shares() -> None:
    columns = rows(train([2], 1), [2])
    error = columns["val_classification_error"]
    measured = error[~np.isnan(error)]
    assert measured[-1] < measured[0]
    assert [round(value * 20) / 20 for value in measured] == measured.tolist()


@pytest.mark.parametrize("lanes", [1, 100])
def test_shared_batches_are_the_same_for_all_trials(lanes: int) -> None:
    # The same seed and metaparameters under two ids: equal only where the batches are.
    same = {0: 0.1, 1: 0.1}
    ids = [0, 1]
    shared = rows(train(ids, lanes, learning_rates=same, shared=True), ids)
    own = rows(train(ids, lanes, learning_rates=same), ids)
    assert not np.array_equal(
        of_trial(own, 0)["batch_cross_entropy_error"][1:],
        of_trial(shared, 0)["batch_cross_entropy_error"][1:],
    )
    alone = rows(train([1], 1, learning_rates=same, shared=True), [1])
    for name, values in of_trial(shared, 1).items():
        np.testing.assert_allclose(alone[name], values, rtol=TOLERANCE, err_msg=name)
