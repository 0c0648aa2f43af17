"""Each update rule against its formula in NumPy, over a few steps of made-up gradients."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from producers.training.optimizers import OPTIMIZERS
from tests.support.programs import run_python

Values = dict[str, float]

STEPS = 3
RANDOM = np.random.default_rng(3)
SHAPES = {"kernel": (4, 3), "bias": (3,)}
START = {name: RANDOM.normal(size=shape) for name, shape in SHAPES.items()}
GRADIENTS = [
    {name: RANDOM.normal(size=shape) for name, shape in SHAPES.items()} for _ in range(STEPS)
]
# learning_rate stands for the constant schedule.
METAPARAMETERS = {
    "learning_rate": 0.1,
    "momentum": 0.5,
    "beta1": 0.8,
    "beta2": 0.9,
    "beta3": 0.5,
    "alpha": 5.0,
    "rho": 0.7,
    "epsilon": 0.1,
    "weight_decay": 0.5,
}

# A rule by hand takes all values and gradients of a parameter up to now and the metaparameters; it
# returns the direction.
History = list[np.ndarray]


def average(decay: float, values: History, start: float = 0.0) -> Any:
    result = np.full_like(values[0], start)
    for value in values:
        result = decay * result + (1 - decay) * value
    return result


def unbiased(decay: float, values: History) -> Any:
    return average(decay, values) / (1 - decay ** len(values))


def summed(decay: float, values: History) -> Any:
    velocity = np.zeros_like(values[0])
    for value in values:
        velocity = decay * velocity + value
    return velocity


def divisor(gradients: History, values: Values) -> Any:
    """What Adam divides by."""
    return np.sqrt(unbiased(values["beta2"], [g**2 for g in gradients])) + values["epsilon"]


def sgd(_: History, gradients: History, __: Values) -> Any:
    return gradients[-1]


def momentum(_: History, gradients: History, values: Values) -> Any:
    return summed(values["momentum"], gradients)


def nesterov_momentum(_: History, gradients: History, values: Values) -> Any:
    return gradients[-1] + values["momentum"] * summed(values["momentum"], gradients)


def adam(_: History, gradients: History, values: Values) -> Any:
    return unbiased(values["beta1"], gradients) / divisor(gradients, values)


def adamw(weights: History, gradients: History, values: Values) -> Any:
    return adam(weights, gradients, values) + values["weight_decay"] * weights[-1]


def lamb(weights: History, gradients: History, values: Values) -> Any:
    direction = adamw(weights, gradients, values)
    is_matrix = direction.ndim > 1
    ratio = np.linalg.norm(weights[-1]) / np.linalg.norm(direction) if is_matrix else 1
    return ratio * direction


def lars(weights: History, gradients: History, values: Values) -> Any:
    scaled = []
    for weight, gradient in zip(weights, gradients, strict=True):
        decayed = gradient + values["weight_decay"] * weight
        ratio = 0.001 * np.linalg.norm(weight) / np.linalg.norm(decayed)
        scaled.append(ratio * decayed if weight.ndim > 1 else gradient)
    return summed(values["momentum"], scaled)


def rmsprop(_: History, gradients: History, values: Values) -> Any:
    scaled = []
    for count, gradient in enumerate(gradients, 1):
        squares = average(values["rho"], [g**2 for g in gradients[:count]], start=1.0)
        scaled.append(gradient / np.sqrt(squares + values["epsilon"]))
    return summed(values["momentum"], scaled)


def lion(weights: History, gradients: History, values: Values) -> Any:
    before = average(values["beta2"], [np.zeros_like(weights[0]), *gradients[:-1]])
    mixed = values["beta1"] * before + (1 - values["beta1"]) * gradients[-1]
    return np.sign(mixed) + values["weight_decay"] * weights[-1]


def ademamix(weights: History, gradients: History, values: Values) -> Any:
    slow = average(values["beta3"], gradients)
    moments = unbiased(values["beta1"], gradients) + values["alpha"] * slow
    return moments / divisor(gradients, values) + values["weight_decay"] * weights[-1]


RULES = (sgd, momentum, nesterov_momentum, adam, adamw, lion, ademamix, rmsprop, lamb, lars)
APART = {"schedule_free_adamw", "muon", "muon_hidden", "soap"}
"""Those that have tests of their own."""


def test_every_optimizer_is_worked_out_by_hand():
    assert {rule.__name__ for rule in RULES} | APART == set(OPTIMIZERS)


def values_of(name: str) -> Values:
    names = ("learning_rate", *OPTIMIZERS[name].metaparameters)
    return {each: METAPARAMETERS[each] for each in names}


def trained(name: str, values: dict[str, jax.Array], start: Any, gradients: list[Any]) -> Any:
    """The parameters after some steps, as the training step makes them."""
    return trained_and_evaluated(name, values, start, gradients)[0]


def trained_and_evaluated(
    name: str, values: dict[str, jax.Array], start: Any, gradients: list[Any]
) -> tuple[Any, Any]:
    """The parameters after some steps, and those that an evaluation takes then."""
    ones = dict.fromkeys(values, jnp.ones(()))
    parameters = jax.tree.map(lambda array: jnp.asarray(array, jnp.float32), start)
    state = OPTIMIZERS[name].direction(ones).init(parameters)
    update = jax.jit(OPTIMIZERS[name].direction(values).update)
    for gradient in gradients:
        made = jax.tree.map(lambda array: jnp.asarray(array, jnp.float32), gradient)
        direction, state = update(made, state, parameters)
        parameters = jax.tree.map(
            lambda weight, move: weight - values["learning_rate"] * move, parameters, direction
        )
    return parameters, OPTIMIZERS[name].evaluated(state, parameters)


def float32(values: Values) -> dict[str, jax.Array]:
    return {name: jnp.float32(value) for name, value in values.items()}


@pytest.mark.parametrize("rule", RULES)
def test_steps_follow_the_formula(rule):
    name = rule.__name__
    values = values_of(name)
    found, evaluated = trained_and_evaluated(name, float32(values), START, GRADIENTS)
    assert evaluated is found
    for leaf, start in START.items():
        weights, gradients = [start], [gradient[leaf] for gradient in GRADIENTS]
        # Biases do not decay.
        decaying = values if leaf == "kernel" else values | {"weight_decay": 0.0}
        for count in range(1, STEPS + 1):
            direction = rule(weights, gradients[:count], decaying)
            weights.append(weights[-1] - values["learning_rate"] * direction)
        np.testing.assert_allclose(found[leaf], weights[-1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("steps", [0, STEPS])
def test_schedule_free_weights_are_averages(steps):
    values = values_of("schedule_free_adamw")
    rate, beta1, beta2 = values["learning_rate"], values["beta1"], values["beta2"]
    found = trained_and_evaluated("schedule_free_adamw", float32(values), START, GRADIENTS[:steps])
    for leaf, start in START.items():
        decay = values["weight_decay"] if leaf == "kernel" else 0
        trained_at, moved, mean, square = start, start, start, np.zeros_like(start)
        for count, gradients in enumerate(GRADIENTS[:steps], 1):
            square = beta2 * square + (1 - beta2) * gradients[leaf] ** 2
            size = np.sqrt(square / (1 - beta2**count)) + values["epsilon"]
            moved = moved - rate * (gradients[leaf] / size + decay * trained_at)
            mean = mean + (moved - mean) / count
            trained_at = (1 - beta1) * moved + beta1 * mean
        np.testing.assert_allclose(found[0][leaf], trained_at, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[1][leaf], mean, rtol=1e-4, atol=1e-5)


def test_soap_steps_as_the_authors_program_does():
    # Made by tests/support/soap_reference.py, with gradients that follow from the weights.
    reference = json.loads((Path(__file__).parent / "soap_reference.json").read_text())
    values = float32(reference["metaparameters"])
    rule = OPTIMIZERS["soap"].direction(values)
    weights = {name: jnp.asarray(array, jnp.float32) for name, array in reference["start"].items()}
    state, update = rule.init(weights), jax.jit(rule.update)
    for expected in reference["steps"]:
        gradients = {
            name: jnp.sin(3 * array) + 0.1 * jnp.flip(array, 0) for name, array in weights.items()
        }
        direction, state = update(gradients, state, weights)
        weights = {
            name: array - values["learning_rate"] * direction[name]
            for name, array in weights.items()
        }
        for name, array in weights.items():
            np.testing.assert_allclose(array, expected[name], rtol=1e-4, atol=1e-5)


WITHOUT_DECAY = float32({"learning_rate": 1.0, "momentum": 0.95, "weight_decay": 0.0})


def muon_update(shape: tuple[int, ...], layer: str = "layer", name: str = "kernel") -> np.ndarray:
    """The first direction of a parameter with random weights and gradient, without decay."""
    random = np.random.default_rng(0)
    weights, gradient = ({layer: {name: random.normal(size=shape)}} for _ in range(2))
    after = trained("muon", WITHOUT_DECAY, weights, [gradient])
    return np.asarray(weights[layer][name] - after[layer][name], np.float64)


@pytest.mark.parametrize(
    ("shape", "rows", "layer"),
    [
        ((4, 9), 4, "layer"),
        ((3, 3, 2, 6), 18, "layer"),
        ((8, 2, 3), 8, "query"),
        ((2, 3, 8), 6, "out"),
    ],
)
def test_muon_makes_orthogonal_matrices_of_the_size_of_adams(shape, rows, layer):
    update = muon_update(shape, layer).reshape(rows, -1)
    values = np.linalg.svd(update, compute_uv=False) / (0.2 * max(update.shape) ** 0.5)
    # Five iterations of Newton and Schulz, as Jordan tuned them, leave them about 1.
    assert values.min() > 0.65
    assert values.max() < 1.25


@pytest.mark.parametrize(
    ("shape", "name"), [((6,), "bias"), ((2, 3), "bias"), ((9, 4), "embedding")]
)
def test_muon_leaves_all_but_kernels_to_adam(shape, name):
    # Adam's first step has the size of the learning rate; with Nesterov's momentum a little over:
    # 0.9 * 0.1 / (1 - 0.9^2) + 0.1 / (1 - 0.9).
    update = muon_update(shape, name=name)
    np.testing.assert_allclose(np.abs(update), 0.09 / 0.19 + 1, rtol=1e-3)


# Told by its name, or as the last of all.
@pytest.mark.parametrize("output", ["logits", "layers"])
def test_muon_hidden_leaves_the_output_layer_to_adam(output):
    shapes = {"dense": (3, 4), "logits": (4, 5)}
    start: Any = {layer: {"kernel": np.ones(shape)} for layer, shape in shapes.items()}
    if output == "layers":
        start = {"layers": dict(enumerate(start.values()))}
    random = np.random.default_rng(1)
    gradient = jax.tree.map(lambda array: random.normal(size=array.shape), start)
    after = trained("muon_hidden", WITHOUT_DECAY, start, [gradient])
    moved = jax.tree.leaves(jax.tree.map(lambda a, b: np.abs(a - b), start, after))
    adams = [np.allclose(each, 0.09 / 0.19 + 1, rtol=1e-3) for each in moved]
    assert adams == [False, True]


def test_muon_decays_kernels_alone():
    values = float32({"learning_rate": 0.5, "momentum": 0.9})
    with_and_without = [
        trained("muon", values | {"weight_decay": jnp.float32(decay)}, START, GRADIENTS[:1])
        for decay in (0.25, 0.0)
    ]
    decayed = jax.tree.map(lambda a, b: np.asarray(b - a), *with_and_without)
    np.testing.assert_allclose(decayed["kernel"], 0.125 * START["kernel"], rtol=1e-4, atol=1e-6)
    assert (decayed["bias"] == 0).all()


def test_search_spaces_and_data_sets_are_read_without_what_uses_them():
    program = (
        "import sys, producers.datasets.registry, producers.training.optimizers; "
        "print({'httpx', 'jax', 'optax', 'PIL'} & {*sys.modules})"
    )
    assert run_python("-c", program).stdout.strip() == "set()"
