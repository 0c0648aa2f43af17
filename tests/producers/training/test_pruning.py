"""SNIP against sorting in NumPy, and by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from producers.training.pruning import (
    connection_sensitivity,
    kept_weights,
    masks,
    prunable_weights,
)
from producers.training.step import pruned, trainer
from producers.training.weight_matrices import weight_matrices

# Few different values, so that there are ties; the largest and smallest floats among them.
SENSITIVITY = st.sampled_from([0.0, 1e-45, 1e-30, 0.5, 1.0, 2.0, 3e38]) | st.floats(0, 4, width=32)


def flat(masks: Any) -> np.ndarray:
    return np.concatenate([np.asarray(mask).ravel() for mask in jax.tree.leaves(masks)])


def tree(values: np.ndarray | jax.Array) -> dict[str, dict[str, jax.Array]]:
    """Two layers with 12 and 8 prunable weights."""
    assert values.shape == (20,)
    return {
        "a": {"bias": jnp.full(4, 9.0), "kernel": jnp.asarray(values[:12]).reshape(3, 4)},
        "b": {"bias": jnp.full(2, 9.0), "kernel": jnp.asarray(values[12:]).reshape(2, 2, 2)},
    }


def kernels(masks: dict[str, dict[str, jax.Array]]) -> np.ndarray:
    return np.concatenate([np.asarray(masks[layer]["kernel"]).ravel() for layer in ("a", "b")])


def test_keeps_the_most_sensitive_weights_of_a_small_network_by_hand() -> None:
    parameters = {
        "first": {"kernel": jnp.array([[1.0, -2.0], [0.5, 4.0]]), "bias": jnp.array([7.0, 0.0])},
        "second": {"kernel": jnp.array([[-3.0], [0.25]]), "bias": jnp.array([0.0])},
    }
    gradients = {
        "first": {"kernel": jnp.array([[0.5, 1.0], [-8.0, 0.0]]), "bias": jnp.array([9.0, 9.0])},
        "second": {"kernel": jnp.array([[-1.0], [4.0]]), "bias": jnp.array([9.0])},
    }
    sensitivity = connection_sensitivity(parameters, gradients)
    assert sensitivity["first"]["kernel"].tolist() == [[0.5, 2.0], [4.0, 0.0]]
    assert sensitivity["second"]["kernel"].tolist() == [[3.0], [1.0]]

    found = masks(parameters, sensitivity, 0.5)

    # 4, 3 and 2 are the highest three of six, whatever layer they are in.
    assert found["first"]["kernel"].tolist() == [[False, True], [True, False]]
    assert found["second"]["kernel"].tolist() == [[True], [False]]
    assert found["first"]["bias"].tolist() == [True, True]
    assert found["second"]["bias"].tolist() == [True]


@settings(max_examples=20, deadline=None)
@given(arrays.arrays(np.float32, 20, elements=SENSITIVITY), st.floats(0, 1))
def test_keeps_exactly_as_many_as_asked_and_ties_by_position(
    values: np.ndarray, sparsity: float
) -> None:
    sensitivity = tree(values)
    found = masks(sensitivity, sensitivity, sparsity)
    kept = round((1 - sparsity) * 20)
    expected = np.zeros(20, bool)
    expected[np.argsort(-values.astype(np.float64), kind="stable")[:kept]] = True
    assert kernels(found).tolist() == expected.tolist()
    assert found["a"]["bias"].all()
    assert found["b"]["bias"].all()


@pytest.mark.parametrize("sparsity", [0.0, 0.5, 0.7, 0.9, 1.0])
def test_the_realised_sparsity_is_exact(sparsity: float) -> None:
    parameters = jax.jit(trainer("fc_16_8", "sgd", "constant").start)(jnp.uint32(3)).parameters
    prunable = 784 * 16 + 16 * 8 + 8 * 10
    assert prunable_weights(parameters) == prunable
    # All the same sensitivity: nothing but the position tells weights apart.
    same = jax.tree.map(jnp.ones_like, parameters)
    kept = round((1 - sparsity) * prunable)
    assert kept_weights(parameters, sparsity) == kept
    for sensitivity in (parameters, same):
        found = flat(masks(parameters, jax.tree.map(jnp.abs, sensitivity), sparsity))
        assert found.sum() == kept + 16 + 8 + 10


def test_biases_that_start_at_zero_are_pruned_first_by_hand() -> None:
    """As in the sparsity study: 4 + 2 weights and 2 + 1 biases, a third of them removed."""
    parameters = {
        "first": {"kernel": jnp.array([[1.0, -2.0], [0.5, 4.0]]), "bias": jnp.zeros(2)},
        "second": {"kernel": jnp.array([[-3.0], [0.25]]), "bias": jnp.zeros(1)},
    }
    sensitivity = connection_sensitivity(parameters, jax.tree.map(jnp.ones_like, parameters))
    assert prunable_weights(parameters, biases=True) == 9
    assert kept_weights(parameters, 2 / 3, biases=True) == 3
    third = masks(parameters, sensitivity, 1 / 3, biases=True)
    assert all(third[layer]["kernel"].all() for layer in third)
    assert not any(third[layer]["bias"].any() for layer in third)
    most = masks(parameters, sensitivity, 2 / 3, biases=True)
    assert most["first"]["kernel"].tolist() == [[False, True], [False, True]]
    assert most["second"]["kernel"].tolist() == [[True], [False]]


def test_the_sparsity_studys_network_keeps_as_many_as_its_program() -> None:
    """Of 800 + 51,200 + 10,240 weights and 32 + 64 + 10 biases."""
    start = trainer("simple_cnn", "sgd", "constant").start
    parameters = jax.eval_shape(start, jax.ShapeDtypeStruct((), jnp.uint32)).parameters
    assert prunable_weights(parameters, biases=True) == 62_346
    assert kept_weights(parameters, 0.9, biases=True) == 6_235


@settings(max_examples=10, deadline=None)
@given(arrays.arrays(np.float32, 20, elements=st.floats(0.125, 4, width=32)))
def test_scaling_the_loss_changes_nothing(values: np.ndarray) -> None:
    scaled = masks(tree(values), tree(values * np.float32(2.0**-70)), 0.7)
    assert kernels(scaled).tolist() == kernels(masks(tree(values), tree(values), 0.7)).tolist()


def test_trials_together_are_trials_one_by_one() -> None:
    values = jnp.asarray(np.random.default_rng(1).random((3, 20), dtype=np.float32))

    def of_one(values: jax.Array) -> dict[str, dict[str, jax.Array]]:
        return masks(tree(values), tree(values), 0.7)

    together = jax.jit(jax.vmap(of_one))(values)
    for index, one in enumerate(values):
        mine = jax.tree.map(lambda mask, index=index: mask[index], together)
        np.testing.assert_array_equal(flat(mine), flat(of_one(one)))


def test_pruned_weights_stay_zero_and_biases_learn() -> None:
    functions = trainer("fc_8_8", "momentum", "constant")
    state = jax.jit(functions.start)(jnp.uint32(0))
    random = np.random.default_rng(2)
    images = random.integers(0, 256, (16, 28, 28), dtype=np.uint8)
    labels = random.integers(0, 10, 16, dtype=np.uint8)
    metaparameters = {"learning_rate": jnp.float32(0.1), "momentum": jnp.float32(0.9)}
    gradient = jax.jit(functions.gradient)(state, metaparameters, images, labels)
    sensitivity = connection_sensitivity(state.parameters, gradient.gradients)
    fixed = masks(state.parameters, sensitivity, 0.9)
    state = pruned(state, fixed)
    before = state.parameters
    step = jax.jit(functions.step)
    losses = []
    for _ in range(10):
        state, loss = step(state, metaparameters, images, labels)
        losses.append(float(loss))

    weights, kept = flat(state.parameters), flat(fixed)
    assert (weights[~kept] == 0).all()
    assert (~kept).sum() == prunable_weights(before) - kept_weights(before, 0.9)
    # Not every weight moves: pixels that are 0 in all images, units that are off.
    assert (weights[kept] != flat(before)[kept]).mean() > 0.5
    assert losses[-1] < losses[0]


def test_an_impossible_sparsity_is_refused() -> None:
    sensitivity = tree(np.ones(20, np.float32))
    with pytest.raises(ValueError, match="from 0 to 1, got 50"):
        masks(sensitivity, sensitivity, 50)


def test_weight_matrices_are_told_by_axes_and_names() -> None:
    shapes = {
        "attention": {"kernel": (8, 2, 4), "bias": (2, 4)},
        "norm": {"scale": (8,), "bias": (8,)},
        "embed": {"embedding": (10, 8)},
    }
    parameters = {
        layer: {name: jnp.zeros(shape) for name, shape in arrays.items()}
        for layer, arrays in shapes.items()
    }
    expected = {
        "attention": {"kernel": True, "bias": False},
        "norm": {"scale": False, "bias": False},
        "embed": {"embedding": True},
    }
    assert weight_matrices(parameters) == expected
    expected["embed"]["embedding"] = False
    assert weight_matrices(parameters, embeddings=False) == expected
