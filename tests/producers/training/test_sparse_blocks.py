"""Blocks whose networks are pruned before the first step, by the gradient of the whole split."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.blocks import (
    PROBLEMS,
    TRAINING_EXAMPLES,
    TRIALS,
    LastStates,
    assert_close,
    compiled,
    made_up_split,
    rows,
    train,
)

from producers.training.pruning import kept_weights, prunable_weights
from producers.training.weight_matrices import weight_matrices

if TYPE_CHECKING:
    from producers.training.records import BlockRecord
    from producers.training.step import TrialState

SPARSITY = 0.9
TOLERANCE = 1e-4
TRAINER = PROBLEMS["fc"].trainer
SHAPES = jax.eval_shape(TRAINER.start, jax.ShapeDtypeStruct((), jnp.uint32)).parameters


@functools.cache
def trained(sparsity: float, devices: int = 1, devices_a_trial: int = 1) -> Any:
    """The record, and the states after the last step."""
    last = LastStates()
    record = train(
        "fc",
        devices=devices,
        devices_a_trial=devices_a_trial,
        sparsity=sparsity,
        checkpoints=last,
    )
    return record, last.states


@functools.cache
def starts() -> TrialState:
    """The dense states before the first step."""
    program = compiled("fc", 1, 1, 1, False, None)
    seeds = np.arange(100, 100 + TRIALS, dtype=np.uint32)
    found: TrialState = jax.device_get(program.start(seeds))
    return found


def weights_of(tree: Any, trial: int) -> np.ndarray:
    """The prunable weights of a trial, one after the other."""
    matrices = jax.tree.leaves(weight_matrices(SHAPES))
    arrays = jax.tree.leaves(tree)
    kept = [a[trial].ravel() for a, wanted in zip(arrays, matrices, strict=True) if wanted]
    return np.concatenate(kept)


@pytest.mark.parametrize("trial", range(TRIALS))
def test_the_weights_of_highest_sensitivity_over_all_examples_are_kept(trial: int) -> None:
    state = jax.tree.map(lambda a: a[trial], starts())
    split = made_up_split(TRAINER.form, TRAINING_EXAMPLES, 1)
    gradients = jax.jit(TRAINER.gradient)(state, {}, split.inputs, split.targets).gradients
    of_one = [jax.tree.map(lambda a: np.asarray(a)[None], a) for a in (state.parameters, gradients)]
    sensitivity = np.abs(weights_of(of_one[0], 0) * weights_of(of_one[1], 0))
    kept = weights_of(trained(SPARSITY)[1].masks, trial)
    # But for rounding, none that was pruned is more sensitive than one that was kept.
    assert sensitivity[~kept].max() <= sensitivity[kept].min() * (1 + TOLERANCE)
    assert sensitivity[kept].min() > 0


def test_the_realised_sparsity_is_exact() -> None:
    prunable = 784 * 16 + 16 * 10
    assert prunable_weights(SHAPES) == prunable
    assert kept_weights(SHAPES, SPARSITY) == round(0.1 * prunable)
    _, states = trained(SPARSITY)
    for trial in range(TRIALS):
        assert weights_of(states.masks, trial).sum() == round(0.1 * prunable)
        assert np.count_nonzero(weights_of(states.parameters, trial)) <= round(0.1 * prunable)


def test_pruned_weights_stay_zero_and_the_masks_as_they_were() -> None:
    _, states = trained(SPARSITY)
    program = compiled("fc", 1, 1, 1, False, None)
    split = made_up_split(TRAINER.form, TRAINING_EXAMPLES, 1)
    before = jax.device_get(program.prune(starts(), SPARSITY, program.put(split)))
    assert jax.tree.all(jax.tree.map(np.array_equal, states.masks, before.masks))
    for trial in range(TRIALS):
        pruned = ~weights_of(states.masks, trial)
        for tree in (before.parameters, states.parameters):
            assert not weights_of(tree, trial)[pruned].any()
        # Before pruning they were other than zero, and those that are kept learn.
        assert weights_of(starts().parameters, trial)[pruned].all()
        kept = ~pruned
        same = weights_of(states.parameters, trial) == weights_of(before.parameters, trial)
        assert same[kept].mean() < 0.5
        np.testing.assert_array_equal(
            weights_of(before.parameters, trial)[kept], weights_of(starts().parameters, trial)[kept]
        )


def test_biases_are_pruned_where_the_workload_says_so() -> None:
    last = LastStates()
    train("fc", sparsity=SPARSITY, prune_biases=True, checkpoints=last)
    matrices = jax.tree.leaves(weight_matrices(SHAPES))
    parameters = jax.tree.leaves(last.states.parameters)
    # They start at zero, and stay there.
    assert not any(
        array.any() for array, matrix in zip(parameters, matrices, strict=True) if not matrix
    )
    kept = round(0.1 * (784 * 16 + 16 + 16 * 10 + 10))
    for trial in range(TRIALS):
        assert weights_of(last.states.masks, trial).sum() == kept


def test_trials_have_masks_of_their_own() -> None:
    _, states = trained(SPARSITY)
    masks = [weights_of(states.masks, trial) for trial in range(TRIALS)]
    assert len({mask.tobytes() for mask in masks}) == TRIALS


@pytest.mark.slow
def test_devices_that_share_a_trial_prune_the_same_weights() -> None:
    found, expected = trained(SPARSITY, 8, 4), trained(SPARSITY)
    for trial in range(TRIALS):
        masks = [weights_of(each[1].masks, trial) for each in (found, expected)]
        np.testing.assert_array_equal(*masks)
    assert_close(found[0], expected[0], TOLERANCE)


def test_a_sparse_network_learns_otherwise_than_a_dense_one() -> None:
    def losses(record: BlockRecord) -> np.ndarray:
        found: np.ndarray = rows(record)["val_cross_entropy_error"].reshape(TRIALS, -1)
        return found[:, [0, -1]]

    sparse, dense = losses(trained(SPARSITY)[0]), losses(trained(0.0)[0])
    assert (sparse[:, 1] < sparse[:, 0]).all()
    assert (np.abs(sparse - dense) > 10 * TOLERANCE).all()
