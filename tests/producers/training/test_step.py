"""The training step against the update rules written out in NumPy."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from dbtool.core.errors import UsageError
from producers.datasets.forms import CIFAR_10, ArrayForm, ImageForm
from producers.models.residual import GhostBatchNorm
from producers.training.measures import MEASURES
from producers.training.objectives import objective_for
from producers.training.optimizers import optimizer_definition
from producers.training.schedules import schedule_definition
from producers.training.step import Trainer, trainer

LEARNING_RATE = 0.3
MOMENTUM = 0.9
STEPS = 6
BATCH = 5


class Shown(nnx.Module):
    """Returns what a model is shown."""

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        del train
        return images.reshape(len(images), -1)


def shown(form: ImageForm, images: np.ndarray) -> np.ndarray:
    """What models see of images, flattened."""
    objective, rule = objective_for(form), optimizer_definition("sgd")
    functions = Trainer(lambda _: Shown(), form, objective, rule, schedule_definition("constant"))
    state = functions.start(jnp.uint32(0))
    return np.asarray(functions.logits(state.parameters, state.statistics, jnp.asarray(images)))


def test_pixels_are_standardised_by_the_data_set() -> None:
    images = np.array([[[0, 255], [51, 102]]], np.uint8)
    form = ImageForm(2, 2, 1, 10, mean=(0.4,), deviation=(0.2,))
    np.testing.assert_allclose(shown(form, images), [[-2.0, 3.0, -1.0, 0.0]], atol=1e-6)
    colours = np.array([[[[0, 51, 102]]]], np.uint8)
    form = ImageForm(1, 1, 3, 10, mean=(0.2, 0.4, 0.2), deviation=(0.1, 0.2, 0.4))
    np.testing.assert_allclose(shown(form, colours), [[-2.0, -1.0, 0.5]], atol=1e-6)


def test_pixels_are_standardised_by_the_image() -> None:
    images = np.random.default_rng(1).integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)
    images[1] //= 16
    # All pixels alike, and all but one: their deviations are below the least that is divided by.
    images[2] = 7
    images[3] = 0
    images[3, 0, 0, 0] = 1
    found = shown(CIFAR_10, images)
    flat = images.reshape(5, -1).astype(np.float64)
    assert flat[3].std() < 1 / np.sqrt(3_072) < flat[1].std()
    deviation = np.maximum(flat.std(1), 1 / np.sqrt(3_072))
    expected = (flat - flat.mean(1)[:, None]) / deviation[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert not found[2].any()


def batches() -> list[tuple[np.ndarray, np.ndarray]]:
    """Made-up images and labels."""
    random = np.random.default_rng(5)
    return [
        (
            random.integers(0, 256, (BATCH, 28, 28), dtype=np.uint8),
            random.integers(0, 10, BATCH, dtype=np.uint8),
        )
        for _ in range(STEPS)
    ]


def loss_and_gradients(
    weights: list[np.ndarray], biases: list[np.ndarray], images: np.ndarray, labels: np.ndarray
) -> tuple[float, list[np.ndarray], list[np.ndarray]]:
    """Backpropagation by hand through ReLU layers and a softmax, in float64."""
    activations = [images.reshape(len(images), -1) / 255.0]
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        activations.append(np.maximum(activations[-1] @ weight + bias, 0))
    logits = activations[-1] @ weights[-1] + biases[-1]
    shifted = logits - logits.max(1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    rows = np.arange(len(labels))
    loss = -log_probabilities[rows, labels].mean()
    error = np.exp(log_probabilities)
    error[rows, labels] -= 1
    error /= len(labels)
    weight_gradients: list[np.ndarray] = []
    bias_gradients: list[np.ndarray] = []
    for layer in reversed(range(len(weights))):
        weight_gradients.insert(0, activations[layer].T @ error)
        bias_gradients.insert(0, error.sum(0))
        error = (error @ weights[layer].T) * (activations[layer] > 0)
    return loss, weight_gradients, bias_gradients


def trained_by_hand(values: list[np.ndarray], layers: int) -> tuple[list[float], list[np.ndarray]]:
    """Losses and final weights by Nesterov's momentum."""
    velocities = [np.zeros_like(value) for value in values]
    losses = []
    for images, labels in batches():
        loss, by_weight, by_bias = loss_and_gradients(
            values[:layers], values[layers:], images, labels
        )
        losses.append(loss)
        for index, gradient in enumerate([*by_weight, *by_bias]):
            velocities[index] = MOMENTUM * velocities[index] + gradient
            direction = gradient + MOMENTUM * velocities[index]
            values[index] = values[index] - LEARNING_RATE * direction
    return losses, values


def test_steps_follow_the_update_rule() -> None:
    functions = trainer("fc_16_8", "nesterov_momentum", "constant")
    state = functions.start(jnp.uint32(7))
    layers = state.parameters["layers"]
    names = [(index, kind) for kind in ("kernel", "bias") for index in range(3)]

    def arrays(parameters: dict[str, dict[int, dict[str, jax.Array]]]) -> list[np.ndarray]:
        return [np.asarray(parameters["layers"][i][kind][...], np.float64) for i, kind in names]

    assert len(layers) == 3
    by_hand, final = trained_by_hand(arrays(state.parameters), 3)
    metaparameters = {
        "learning_rate": jnp.float32(LEARNING_RATE),
        "momentum": jnp.float32(MOMENTUM),
    }
    step = jax.jit(functions.step)
    losses = []
    for images, labels in batches():
        state, loss = step(state, metaparameters, images, labels)
        losses.append(float(loss))
    np.testing.assert_allclose(losses, by_hand, rtol=2e-5)
    for found, expected in zip(arrays(state.parameters), final, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-5)
    assert int(state.step) == STEPS


class Dropped(nnx.Module):
    """A layer with dropout and one with running statistics, in both of its forms."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.norm = GhostBatchNorm(4, ghost_batch=2, dtype=jnp.float32)
        self.logits = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, inputs: jax.Array, *, train: bool) -> jax.Array:
        dropped = self.dropout(inputs, deterministic=not train)
        logits: jax.Array = self.logits(
            self.norm(dropped[:, None, None], train=train).reshape(-1, 4)
        )
        return logits


def test_random_state_goes_on_where_gradients_are_accumulated_and_measured() -> None:
    form = ArrayForm((4,), classes=2)
    rule, constant = optimizer_definition("sgd"), schedule_definition("constant")
    functions = Trainer(Dropped, form, objective_for(form), rule, constant)
    random = np.random.default_rng(0)
    inputs = random.normal(size=(3, 2, 4)).astype(np.float32)
    targets = random.integers(0, 2, (3, 2))
    values = {"learning_rate": jnp.float32(0.1)}
    state = functions.start(jnp.uint32(3))
    found = jax.jit(functions.accumulated_gradient)(state, values, inputs, targets)
    # Each micro-batch draws anew, from where the one before has left the generator.
    one_by_one, losses, of_one = state, [], jax.jit(functions.gradient)
    for batch in zip(inputs, targets, strict=True):
        gradient = of_one(one_by_one, values, *batch)
        one_by_one = one_by_one._replace(statistics=gradient.statistics)
        losses.append(gradient.loss)
    np.testing.assert_allclose(found.loss, np.mean(losses), rtol=1e-5)
    assert int(found.statistics["dropout"]["rngs"]["count"][...]) == 3
    after = jax.eval_shape(functions.update, state, values, found)
    assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, state)
    measure = partial(MEASURES["gradient_lipschitz_constant"].function, functions)
    jax.eval_shape(measure, state, values, (inputs, targets))


def test_initial_weights_follow_from_the_seed_alone() -> None:
    functions = trainer("fc_8", "sgd", "constant")
    first, again, other = (functions.start(jnp.uint32(seed)).parameters for seed in (1, 1, 2))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), first, again))
    kernel = first["layers"][0]["kernel"][...]
    assert not bool((kernel == other["layers"][0]["kernel"][...]).any())
    # LeCun normal: variance 1 / fan-in.
    assert float(kernel.std()) == pytest.approx(784**-0.5, rel=0.05)


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [("constant", 10**6, 0.8)]
    + [("linear_decay", *each) for each in ((0, 0.8), (50, 0.44), (100, 0.08), (500, 0.08))],
)
def test_schedules_by_hand(schedule: str, step: int, expected: float) -> None:
    metaparameters = {
        "learning_rate": jnp.float32(0.8),
        "end_learning_rate_factor": jnp.float32(0.1),
        "learning_rate_decay_steps": jnp.float32(100),
    }
    value = schedule_definition(schedule).rate(metaparameters, jnp.int32(step))
    assert float(value) == pytest.approx(expected, rel=1e-6)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown optimizer 'sdg'; closest: sgd"):
        optimizer_definition("sdg")
    with pytest.raises(UsageError, match="unknown learning-rate schedule 'constnt'"):
        schedule_definition("constnt")
    with pytest.raises(UsageError, match="unknown model 'fc_'"):
        trainer("fc_", "sgd", "constant")
