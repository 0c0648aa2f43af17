"""Measures of real networks against the gradients they are made of."""

from __future__ import annotations

import functools
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from producers.datasets.forms import ImageForm
from producers.models.convolution import conv_general_dilated
from producers.training.lipschitz import hessian_times
from producers.training.measures import MEASURES
from producers.training.pruning import masks
from producers.training.step import TrialState, pruned, trainer

if TYPE_CHECKING:
    from collections.abc import Callable

FORM = ImageForm(height=4, width=4, channels=1, classes=3)
METAPARAMETERS = {"learning_rate": jnp.float32(0.5), "momentum": jnp.float32(0.9)}
SLICES, EXAMPLES = 4, 5


FUNCTIONS = trainer("fc_6", "momentum", "constant", FORM)
start, step, gradient = (
    jax.jit(function) for function in (FUNCTIONS.start, FUNCTIONS.step, FUNCTIONS.gradient)
)


def examples() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    return (
        random.integers(0, 256, (SLICES, EXAMPLES, 4, 4), dtype=np.uint8),
        random.integers(0, 3, (SLICES, EXAMPLES), dtype=np.uint8),
    )


def trained(seed: int = 1, *, sparse: bool = False) -> TrialState:
    """After a step, so that momentum takes part."""
    state = start(jnp.uint32(seed))
    if sparse:
        sensitivity = jax.tree.map(jnp.abs, state.parameters)
        state = pruned(state, masks(state.parameters, sensitivity, 0.5))
    inputs, targets = examples()
    return step(state, METAPARAMETERS, inputs[0], targets[0])[0]


def flat_gradient(state: TrialState, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    found = gradient(state, METAPARAMETERS, inputs, targets).gradients
    flat = np.array(ravel_pytree(found)[0], np.float64)
    if state.masks is not None:
        flat[~np.asarray(ravel_pytree(state.masks)[0])] = 0
    return flat


def together(arrays: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
    return [array.reshape(SLICES * EXAMPLES, *array.shape[2:]) for array in arrays]


@functools.cache
def compiled(name: str) -> Callable[..., dict[str, jax.Array]]:
    return jax.jit(partial(MEASURES[name].function, FUNCTIONS))


def measured(name: str, state: TrialState) -> dict[str, Any]:
    measure = MEASURES[name]
    found = compiled(name)(state, METAPARAMETERS, *examples())
    assert set(found) == set(measure.metrics)
    assert all(value.shape == () and value.dtype == jnp.float32 for value in found.values())
    return {metric: float(value) for metric, value in found.items()}


@pytest.mark.parametrize("sparse", [False, True])
def test_noise_scale(sparse: bool) -> None:
    state = trained(sparse=sparse)
    small = np.mean(
        [np.sum(flat_gradient(state, *one) ** 2) for one in zip(*examples(), strict=True)]
    )
    large = np.sum(flat_gradient(state, *together(examples())) ** 2)
    found = measured("gradient_noise_scale", state)
    assert found["gradient_squared_norm"] == pytest.approx((20 * large - 5 * small) / 15, rel=1e-4)
    assert found["gradient_covariance_trace"] == pytest.approx(
        (small - large) / (1 / 5 - 1 / 20), rel=1e-4
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_lipschitz_constant_along_the_next_step(sparse: bool) -> None:
    state = trained(sparse=sparse)
    after, _ = step(state, METAPARAMETERS, *together(examples()))
    update = jax.tree.map(jnp.subtract, after.parameters, state.parameters)
    length = np.linalg.norm(ravel_pytree(update)[0])
    here = flat_gradient(state, *together(examples()))
    ratios = []
    for fraction in np.arange(1, 10) / 10:
        parameters = jax.tree.map(lambda w, u, f=fraction: w + f * u, state.parameters, update)
        there = flat_gradient(state._replace(parameters=parameters), *together(examples()))
        ratios.append(np.linalg.norm(there - here) / (fraction * length))
    found = measured("gradient_lipschitz_constant", state)
    assert found["gradient_lipschitz_constant"] == pytest.approx(max(ratios), rel=1e-3)


@pytest.mark.parametrize("sparse", [False, True])
def test_largest_eigenvalue_of_the_hessian(sparse: bool) -> None:
    state = trained(sparse=sparse)
    values, form = ravel_pytree(state.parameters)

    def loss(values: jax.Array) -> jax.Array:
        moved = state._replace(parameters=form(values))
        return FUNCTIONS.gradient(moved, METAPARAMETERS, *together(examples())).loss

    hessian = np.asarray(jax.jit(jax.hessian(loss))(values), np.float64)
    if sparse:
        kept = np.asarray(ravel_pytree(state.masks)[0])
        hessian = hessian[np.ix_(kept, kept)]
    eigenvalues = np.linalg.eigvalsh(hessian)
    found = measured("largest_hessian_eigenvalue", state)
    assert found["largest_hessian_eigenvalue"] == pytest.approx(max(eigenvalues, key=abs), rel=1e-2)


@pytest.mark.parametrize("name", MEASURES)
def test_trials_together_are_trials_one_by_one(name: str) -> None:
    states = [trained(seed) for seed in (1, 2)]
    stacked = jax.tree.map(lambda *arrays: jnp.stack(arrays), *states)
    metaparameters = {name: jnp.stack([value] * 2) for name, value in METAPARAMETERS.items()}
    of_each = jax.vmap(partial(MEASURES[name].function, FUNCTIONS), (0, 0, None, None))
    found = jax.jit(of_each)(stacked, metaparameters, *examples())
    for index, state in enumerate(states):
        for metric, value in measured(name, state).items():
            assert float(found[metric][index]) == pytest.approx(value, rel=1e-4)


def test_convolutions_can_be_differentiated_twice() -> None:
    random = np.random.default_rng(0)
    images = jnp.asarray(random.normal(size=(2, 6, 6, 1)), jnp.float32)
    kernel, direction = jnp.asarray(random.normal(size=(2, 3, 3, 1, 2)), jnp.float32)

    def loss(kernel: jax.Array) -> jax.Array:
        numbers = jax.lax.conv_dimension_numbers(
            images.shape, kernel.shape, ("NHWC", "HWIO", "NHWC")
        )
        features = conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=numbers)
        return (features**2).sum()

    # The loss is quadratic, so that its Hessian times a direction is the gradient there.
    found = hessian_times(jax.grad(loss), kernel, direction)
    np.testing.assert_allclose(found, jax.grad(loss)(direction), rtol=1e-4, atol=1e-3)
