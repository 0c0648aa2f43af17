"""SNIP against sorting in NumPy and by hand, and blocks whose networks it pruned."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from producers.training.optimizers import weight_matrices
from producers.training.pruning import connection_sensitivity, kept_weights, masks, prunable_weights
from producers.training.step import trainer
from tests.support.blocks import (
    IMAGES,
    PROBLEMS,
    TOLERANCE,
    TRAINING_EXAMPLES,
    TRIALS,
    compiled,
    made_up_split,
    train_to_states,
)

# Few different values, so that there are ties; the largest and smallest floats among them.
SENSITIVITY = st.sampled_from([0.0, 1e-45, 1e-30, 0.5, 1.0, 2.0, 3e38]) | st.floats(0, 4, width=32)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(arrays.arrays(np.float32, 20, elements=SENSITIVITY), st.floats(0, 1))
def test_keeps_exactly_as_many_as_asked_and_ties_by_position(values, sparsity):
    sensitivity = {
        "a": {"bias": jnp.full(4, 9.0), "kernel": jnp.asarray(values[:12]).reshape(3, 4)},
        "b": {"bias": jnp.full(2, 9.0), "kernel": jnp.asarray(values[12:]).reshape(2, 2, 2)},
    }
    found = masks(sensitivity, sensitivity, sparsity)
    kernels = np.concatenate([np.asarray(found[layer]["kernel"]).ravel() for layer in "ab"])
    kept = round((1 - sparsity) * 20)
    expected = np.zeros(20, bool)
    expected[np.argsort(-values.astype(np.float64), kind="stable")[:kept]] = True
    assert kernels.tolist() == expected.tolist()
    assert found["a"]["bias"].all()
    assert found["b"]["bias"].all()


def test_biases_that_start_at_zero_are_pruned_first_by_hand():
    """As in the sparsity study: 4 + 2 weights and 2 + 1 biases, a third of them removed."""
    parameters = {
        "first": {"kernel": jnp.array([[1.0, -2.0], [0.5, 4.0]]), "bias": jnp.zeros(2)},
        "second": {"kernel": jnp.array([[-3.0], [0.25]]), "bias": jnp.zeros(1)},
    }
    sensitivity = connection_sensitivity(parameters, jax.tree.map(jnp.ones_like, parameters))
    assert prunable_weights(parameters, biases=True) == 9
    assert kept_weights(parameters, 2 / 3, biases=True) == 3
    masks_of = jax.jit(masks, static_argnums=2, static_argnames="biases")
    third = masks_of(parameters, sensitivity, 1 / 3, biases=True)
    assert all(third[layer]["kernel"].all() for layer in third)
    assert not any(third[layer]["bias"].any() for layer in third)
    most = masks_of(parameters, sensitivity, 2 / 3, biases=True)
    assert most["first"]["kernel"].tolist() == [[False, True], [False, True]]
    assert most["second"]["kernel"].tolist() == [[True], [False]]


def test_weight_matrices_are_told_by_axes_and_names():
    shapes = {"kernel": (8, 2, 4), "bias": (2, 4), "scale": (8,), "embedding": (10, 8)}
    parameters = {"layer": {name: jnp.zeros(shape) for name, shape in shapes.items()}}
    expected = {"kernel": True, "bias": False, "scale": False, "embedding": True}
    assert weight_matrices(parameters) == {"layer": expected}
    expected["embedding"] = False
    assert weight_matrices(parameters, embeddings=False) == {"layer": expected}


SPARSITY = 0.9
TRAINER = PROBLEMS["fc"].trainer
SHAPES = jax.eval_shape(TRAINER.start, jax.ShapeDtypeStruct((), jnp.uint32)).parameters


@functools.cache
def trained() -> Any:
    """The states after the last step."""
    return train_to_states("fc", sparsity=SPARSITY)[1]


@functools.cache
def starts() -> Any:
    """The dense states before the first step."""
    program = compiled("fc", 1, 1, 1, False, None)
    seeds = np.arange(100, 100 + TRIALS, dtype=np.uint32)
    return jax.device_get(program.start(seeds))


def weights_of(tree: Any, trial: int) -> np.ndarray:
    """The prunable weights of a trial, one after the other."""
    matrices = jax.tree.leaves(weight_matrices(SHAPES))
    arrays = jax.tree.leaves(tree)
    kept = [a[trial].ravel() for a, wanted in zip(arrays, matrices, strict=True) if wanted]
    return np.concatenate(kept)


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(TRIALS))
def test_the_weights_of_highest_sensitivity_over_all_examples_are_kept(trial):
    state = jax.tree.map(lambda a: a[trial], starts())
    split = made_up_split(TRAINER.form, TRAINING_EXAMPLES, 1)
    gradients = jax.jit(TRAINER.gradient)(state, {}, (split.inputs, split.targets)).gradients
    of_one = [jax.tree.map(lambda a: np.asarray(a)[None], a) for a in (state.parameters, gradients)]
    sensitivity = np.abs(weights_of(of_one[0], 0) * weights_of(of_one[1], 0))
    kept = weights_of(trained().masks, trial)
    # But for rounding, none that was pruned is more sensitive than one that was kept.
    assert sensitivity[~kept].max() <= sensitivity[kept].min() * (1 + TOLERANCE)
    assert sensitivity[kept].min() > 0


def test_pruned_weights_stay_zero_and_the_masks_as_they_were():
    states = trained()
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


def test_averages_of_weights_are_those_of_the_pruned_network():
    functions = trainer("fc_6", "schedule_free_adamw", "constant", IMAGES)
    values = dict.fromkeys(("learning_rate", *functions.optimizer.metaparameters), jnp.float32(0.1))
    split = made_up_split(IMAGES, 5, 1)
    batch = jnp.asarray(split.inputs), jnp.asarray(split.targets)

    @jax.jit
    def evaluated_after_a_step() -> tuple[Any, Any]:
        dense = functions.start(jnp.uint32(1))
        kept = masks(dense.parameters, jax.tree.map(jnp.abs, dense.parameters), SPARSITY)
        state, _ = functions.step(functions.pruned(dense, kept), values, *batch)
        return functions.evaluated(state), kept

    for weights, mask in zip(*map(jax.tree.leaves, evaluated_after_a_step()), strict=True):
        assert not np.asarray(weights)[~np.asarray(mask)].any()


def test_biases_are_pruned_where_the_workload_says_so():
    _, states = train_to_states("fc", sparsity=SPARSITY, prune_biases=True)
    matrices = jax.tree.leaves(weight_matrices(SHAPES))
    parameters = jax.tree.leaves(states.parameters)
    # They start at zero, and stay there.
    assert not any(
        array.any() for array, matrix in zip(parameters, matrices, strict=True) if not matrix
    )
    kept = round(0.1 * (784 * 16 + 16 + 16 * 10 + 10))
    for trial in range(TRIALS):
        assert weights_of(states.masks, trial).sum() == kept
