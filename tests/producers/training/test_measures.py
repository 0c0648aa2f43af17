"""Measures of quadratics and gradients that are known, and of real networks against NumPy."""

import itertools
import tomllib
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

from dbtool.core.errors import UsageError
from dbtool.core.resources import schema_folder
from producers.datasets.forms import CIFAR_10, GREY_28, Form, ImageForm, TextForm
from producers.models.registry import model_definition
from producers.models.residual import BottleneckResNet
from producers.training.measures import (
    MEASURES,
    Measure,
    gradient_lipschitz_constant,
    gradient_moments,
    hessian_times,
    largest_eigenvalue,
)
from producers.training.optimizers import optimizer_definition
from producers.training.pruning import masks
from producers.training.step import TrialState, trainer
from tests.support.slow import quick_few

FORM = ImageForm(height=4, width=4, channels=1, classes=3)
METAPARAMETERS = {"learning_rate": jnp.float32(0.5), "momentum": jnp.float32(0.9)}
SLICES, EXAMPLES = 4, 5
NOISE = MEASURES["gradient_noise_scale"]
RANDOM = np.random.default_rng(5)
INPUTS = RANDOM.integers(0, 256, (SLICES, EXAMPLES, 4, 4), dtype=np.uint8)
TARGETS = RANDOM.integers(0, 3, (SLICES, EXAMPLES), dtype=np.uint8)
TOGETHER = INPUTS.reshape(-1, 4, 4), TARGETS.ravel()

FUNCTIONS = trainer("fc_6", "momentum", "constant", FORM)
step, gradient = (jax.jit(function) for function in (FUNCTIONS.step, FUNCTIONS.gradient))


@pytest.fixture(scope="module")
def state() -> TrialState:
    """Of a network without half of its weights, after a step, so that momentum takes part."""
    dense = jax.jit(FUNCTIONS.start)(jnp.uint32(1))
    sensitivity = jax.tree.map(jnp.abs, dense.parameters)
    pruned = FUNCTIONS.pruned(dense, masks(dense.parameters, sensitivity, 0.5))
    after: TrialState = step(pruned, METAPARAMETERS, INPUTS[0], TARGETS[0])[0]
    return after


def flat_gradient(state: TrialState, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    found = gradient(state, METAPARAMETERS, (inputs, targets)).gradients
    flat = np.array(ravel_pytree(found)[0], np.float64)
    flat[~np.asarray(ravel_pytree(state.masks)[0])] = 0
    return flat


def measured(name: str, state: TrialState) -> dict[str, Any]:
    function = jax.jit(partial(MEASURES[name].function, FUNCTIONS))
    found = function(state, METAPARAMETERS, (INPUTS, TARGETS))
    described = tomllib.loads((schema_folder() / "shard.toml").read_text(encoding="utf-8"))
    assert set(found) <= set(described["other_metrics"])
    assert all(value.shape == () and value.dtype == jnp.float32 for value in found.values())
    return {metric: float(value) for metric, value in found.items()}


def test_noise_scale(state):
    slices = zip(INPUTS, TARGETS, strict=True)
    small = np.mean([np.sum(flat_gradient(state, *one) ** 2) for one in slices])
    large = np.sum(flat_gradient(state, *TOGETHER) ** 2)
    found = measured("gradient_noise_scale", state)
    assert found["gradient_squared_norm"] == pytest.approx((20 * large - 5 * small) / 15, rel=1e-4)
    assert found["gradient_covariance_trace"] == pytest.approx(
        (small - large) / (1 / 5 - 1 / 20), rel=1e-4
    )


def test_lipschitz_constant_along_the_next_step(state):
    after, _ = step(state, METAPARAMETERS, *TOGETHER)
    update = jax.tree.map(jnp.subtract, after.parameters, state.parameters)
    length = np.linalg.norm(ravel_pytree(update)[0])
    here = flat_gradient(state, *TOGETHER)
    ratios = []
    for fraction in np.arange(1, 10) / 10:
        parameters = jax.tree.map(lambda w, u, f=fraction: w + f * u, state.parameters, update)
        there = flat_gradient(state._replace(parameters=parameters), *TOGETHER)
        ratios.append(np.linalg.norm(there - here) / (fraction * length))
    found = measured("gradient_lipschitz_constant", state)
    assert found["gradient_lipschitz_constant"] == pytest.approx(max(ratios), rel=1e-3)
    # A step that goes nowhere has none.
    nowhere = np.zeros(4, np.float32)
    assert np.isnan(gradient_lipschitz_constant(jax.grad(quadratic), WEIGHTS, nowhere))


@pytest.mark.slow
def test_largest_eigenvalue_of_the_hessian(state):
    values, form = ravel_pytree(state.parameters)

    def loss(values: jax.Array) -> jax.Array:
        moved = state._replace(parameters=form(values))
        inputs, targets = map(jnp.asarray, TOGETHER)
        return FUNCTIONS.gradient(moved, METAPARAMETERS, (inputs, targets)).loss

    hessian = np.asarray(jax.jit(jax.hessian(loss))(values), np.float64)
    kept = np.asarray(ravel_pytree(state.masks)[0])
    eigenvalues = np.linalg.eigvalsh(hessian[np.ix_(kept, kept)])
    found = measured("largest_hessian_eigenvalue", state)
    assert found["largest_hessian_eigenvalue"] == pytest.approx(max(eigenvalues, key=abs), rel=1e-2)


# The Hessian of w^T A w / 2, with eigenvalues 9, -4, 2 and 1 in a basis of its own.
EIGENVALUES = np.array([9.0, -4.0, 2.0, 1.0])
BASIS = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
HESSIAN = jnp.asarray(BASIS @ np.diag(EIGENVALUES) @ BASIS.T, jnp.float32)

WEIGHTS = np.array([1.0, -2.0, 0.5, 3.0], np.float32)


def quadratic(weights: jax.Array) -> jax.Array:
    return weights @ HESSIAN @ weights / 2


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_eigenvalue_has_its_sign(sign):
    def times(direction: jax.Array) -> Any:
        return hessian_times(jax.grad(lambda at: sign * quadratic(at)), WEIGHTS, direction)

    start = jnp.ones(4)
    assert float(largest_eigenvalue(times, start)) == pytest.approx(9 * sign, rel=1e-4)
    # One product gives the Rayleigh quotient of the start.
    assert float(largest_eigenvalue(times, start, 1)) == pytest.approx(
        float(sign * HESSIAN.sum() / 4), rel=1e-4
    )


def mean_gradient(examples: jax.Array) -> dict[str, jax.Array]:
    """Each example is its own gradient."""
    mean = examples.mean(0)
    return {"kernel": mean[:2], "bias": mean[2:]}


def test_two_slices_worked_by_hand():
    # Slices of 2 with means (3, 1, 0) and (1, 1, 2): |G_b|^2 = (10 + 6) / 2 = 8.
    # All 4: mean (2, 1, 1): |G_B|^2 = 6. |G|^2 = (4 * 6 - 2 * 8) / 2, trace = (8 - 6) / (1/2 - 1/4)
    slices = jnp.array([[[2.0, 2, 0], [4, 0, 0]], [[1, 0, 4], [1, 2, 0]]])
    moments = {"gradient_squared_norm": 4, "gradient_covariance_trace": 8}
    assert gradient_moments(mean_gradient, slices, 2) == pytest.approx(moments)
    # In another metric the third weight counts four times: |G_b|^2 = (10 + 18) / 2 = 14,
    # |G_B|^2 = 4 + 1 + 4 = 9.
    scale = {"kernel": jnp.ones(2), "bias": 2 * jnp.ones(1)}
    found = gradient_moments(
        mean_gradient, slices, 2, lambda each: jax.tree.map(jnp.multiply, each, scale)
    )
    scaled = {"squared_norm": (4 * 9 - 2 * 14) / 2, "covariance_trace": (14 - 9) * 4}
    scaled = {f"preconditioned_{name}": value for name, value in scaled.items()}
    assert found == pytest.approx(moments | scaled)


@pytest.mark.parametrize("optimizer", ["schedule_free_adamw", "soap"])
def test_the_optimizers_own_metric_is_what_it_divides_by(optimizer):
    functions = trainer("fc_6", optimizer, "constant", FORM)
    names = [name for name, _ in optimizer_definition(optimizer).search_space]
    values = dict.fromkeys(names, jnp.float32(0.5))

    @jax.jit
    def measured_after_steps() -> tuple[dict[str, jax.Array], list[Any], TrialState]:
        inputs, targets = jnp.asarray(INPUTS), jnp.asarray(TARGETS)
        state = functions.start(jnp.uint32(0))
        for batch in (0, 1):  # SOAP's first gradient is in no average
            state, _ = functions.step(state, values, inputs[batch], targets[batch])
        found = MEASURES["gradient_noise_scale"].function(
            functions, state, values, (inputs, targets)
        )
        gradients = [
            functions.gradient(state, values, each).gradients
            for each in zip(inputs, targets, strict=True)
        ]
        return found, gradients, state

    found, gradients, state = jax.device_get(measured_after_steps())
    if optimizer == "soap":
        leaves = optax.tree.get(state.optimizer, "leaves")
        squared = [leaf.second for leaf in leaves]
        turns = [
            [np.eye(size) if q is None else q for q, size in zip(leaf.bases, shape, strict=True)]
            for leaf, shape in ((leaf, leaf.second.shape) for leaf in leaves)
        ]
        assert np.abs(turns[-1][0] - np.eye(len(turns[-1][0]))).max() > 0.01
    else:
        squared = jax.tree.leaves(optax.tree.get(state.optimizer, "nu"))
        turns = [[np.eye(size) for size in leaf.shape] for leaf in squared]

    def norm(gradient: Any) -> float:
        total = 0.0
        for g, nu, bases in zip(jax.tree.leaves(gradient), squared, turns, strict=True):
            turned = bases[0].T @ g if g.ndim == 1 else bases[0].T @ g @ bases[1]
            total += (turned**2 / (nu**0.5 + 0.5)).sum()
        return float(total)

    small = sum(map(norm, gradients)) / SLICES
    large = norm(jax.tree.map(lambda *each: sum(each) / SLICES, *gradients))
    expected = (small - large) / (1 / 5 - 1 / 20)
    assert float(found["preconditioned_covariance_trace"]) == pytest.approx(expected, rel=1e-4)
    expected = (20 * large - 5 * small) / 15
    assert float(found["preconditioned_squared_norm"]) == pytest.approx(expected, rel=1e-3)


def test_one_slice_is_not_enough():
    with pytest.raises(UsageError, match="two slices of 4 training examples; leave out"):
        gradient_moments(mean_gradient, jnp.ones((1, 4, 3)), 4)


def test_when_the_noise_is_measured_by_hand():
    # 3,000 examples are 5 steps of 700, and a 64th of a doubling is a factor of 1.010889: from
    # 510 steps on, that is 6 more (5.55 rounded), and from 600 on 7 (6.53).
    found = NOISE.steps({0: True, 620: True}, 700)
    assert found == [*range(0, 511, 5), *range(516, 601, 6), 607, 614, 620]
    # The last step is one of them, wherever it lies.
    assert NOISE.steps({0: True, 3: False, 8: True}, 700) == [0, 5, 8]
    # Others are measured at the evaluations of every split.
    evaluations = {0: True, 1: False, 2: False, 5: True, 9: True}
    for name in MEASURES.keys() - {"gradient_noise_scale"}:
        assert MEASURES[name].steps(evaluations, 64) == [0, 5, 9]


def test_what_is_drawn_follows_from_the_step_and_is_of_the_whole_split():
    count = 300
    split = jnp.arange(count), -jnp.arange(count)
    measure = Measure(NOISE.function, drawn=1_000)
    steps = range(0, 100, 5)
    slices = jax.jit(measure.slices, static_argnums=1)
    drawn = []
    for step in steps:
        inputs, targets = slices(split, 500, jnp.int32(step))
        # Ten slices at least, and targets stay with their inputs.
        assert inputs.shape == (10, 100)
        np.testing.assert_array_equal(inputs, -targets)
        drawn.append(np.asarray(inputs).ravel())
    np.testing.assert_array_equal(slices(split, 500, jnp.int32(0))[0].ravel(), drawn[0])
    assert not np.array_equal(drawn[0], drawn[1])
    times = np.bincount(np.concatenate(drawn), minlength=count)
    # Each 67 times on average, give or take 8: no sorted part of the split is preferred.
    assert times.sum() == 1_000 * len(steps)
    assert abs(times - 67).max() < 6 * 8
    # Slices are no larger than evaluations are, since that is what memory holds.
    assert measure.slices(split, 64, jnp.int32(0))[0].shape == (15, 64)
    assert Measure(NOISE.function).slices(split, 64, jnp.int32(0))[0].shape == (4, 64)


COLOURS, TEXTS = replace(CIFAR_10, height=64, width=64), TextForm(vocabulary=300, length=16)
# A network of each kind; those that normalise are measured otherwise than the others.
FORMS: dict[str, Form] = {
    "fc_64": GREY_28,
    "simple_cnn_base": GREY_28,
    "resnet_50": COLOURS,
    "transformer_tiny": TEXTS,
    "lstm": TEXTS,
}
# Of few examples and of many.
MEASURED = list(itertools.product(FORMS, (50, 1_000)))


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(
    ("model", "count"), quick_few(MEASURED, {("fc_64", 50), ("resnet_50", 1_000)})
)
def test_every_kind_of_network_can_be_measured(model, name, count):
    """By shapes alone."""
    definition, measure, form = model_definition(model), MEASURES[name], FORMS[model]
    functions = trainer(model, "sgd", "constant", form)
    if model == "resnet_50":
        # Of its kind, with fewer blocks.
        build = partial(BottleneckResNet, COLOURS, 4, (1,), dtype=jnp.float32)
        functions = replace(functions, new_model=lambda rngs: build(rngs=rngs))

    def measured(inputs: jax.Array, targets: jax.Array) -> dict[str, jax.Array]:
        size, step = definition.evaluation_batch, jnp.int32(0)
        slices = measure.slices((inputs, targets), size, step, definition.divisor)
        state = functions.start(jnp.uint32(0))
        return measure.function(functions, state, {"learning_rate": jnp.float32(1)}, slices)

    shapes = [(form.input_shape, form.input_dtype), (form.target_shape, form.target_dtype)]
    arrays = [jax.ShapeDtypeStruct((count, *shape), dtype) for shape, dtype in shapes]
    assert {each.shape for each in jax.eval_shape(measured, *arrays).values()} == {()}
