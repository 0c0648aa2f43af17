"""What a training step is shown, its losses and metrics against the same in NumPy."""

import functools
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from producers.datasets.forms import CIFAR_10, ArrayForm, ImageForm
from producers.models.residual import GhostBatchNorm
from producers.training.measures import MEASURES
from producers.training.objectives import Classification, MultiLabel, NextToken, Objective
from producers.training.schedules import schedule_definition
from producers.training.step import Gradient, trainer
from tests.support.blocks import PROBLEMS, TEXTS, trainer_of
from tests.support.slow import quick_few


class Shown(nnx.Module):
    """Returns what a model is shown."""

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        del train
        return images.reshape(len(images), -1)


def shown(form: ImageForm, images: np.ndarray) -> np.ndarray:
    """What models see of images, flattened."""
    functions = trainer_of(lambda _: Shown(), form)
    state = functions.start(jnp.uint32(0))
    return np.asarray(functions.logits(state.parameters, state.statistics, jnp.asarray(images)))


def test_pixels_are_standardised_by_the_data_set():
    images = np.array([[[0, 255], [51, 102]]], np.uint8)
    form = ImageForm(2, 2, 1, 10, mean=(0.4,), deviation=(0.2,))
    np.testing.assert_allclose(shown(form, images), [[-2.0, 3.0, -1.0, 0.0]], atol=1e-6)
    colours = np.array([[[[0, 51, 102]]]], np.uint8)
    form = ImageForm(1, 1, 3, 10, mean=(0.2, 0.4, 0.2), deviation=(0.1, 0.2, 0.4))
    np.testing.assert_allclose(shown(form, colours), [[-2.0, -1.0, 0.5]], atol=1e-6)


def test_pixels_are_standardised_by_the_image():
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


@pytest.mark.slow
def test_random_state_goes_on_where_gradients_are_accumulated_and_measured():
    functions = trainer_of(Dropped, ArrayForm((4,), classes=2))
    random = np.random.default_rng(0)
    inputs = random.normal(size=(3, 2, 4)).astype(np.float32)
    targets = random.integers(0, 2, (3, 2))
    values = {"learning_rate": jnp.float32(0.1)}
    state = jax.jit(functions.start)(jnp.uint32(3))
    found = jax.jit(functions.accumulated_gradient)(state, values, (inputs, targets))
    # Each micro-batch draws anew, from where the one before has left the generator.
    one_by_one, losses, of_one = state, [], jax.jit(functions.gradient)
    for batch in zip(inputs, targets, strict=True):
        gradient = of_one(one_by_one, values, batch)
        one_by_one = one_by_one._replace(statistics=gradient.statistics)
        losses.append(gradient.loss)
    np.testing.assert_allclose(found.loss, np.mean(losses), rtol=1e-5)
    assert int(found.statistics["dropout"]["rngs"]["count"][...]) == 3
    after = jax.eval_shape(functions.update, state, values, found)
    assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, state)
    measure = partial(MEASURES["gradient_lipschitz_constant"].function, functions)
    jax.eval_shape(measure, state, values, (inputs, targets))


def test_initial_weights_follow_from_the_seed_alone():
    start = jax.jit(trainer("fc_8", "sgd", "constant").start)
    first, again, other = (start(jnp.uint32(seed)).parameters for seed in (1, 1, 2))
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
def test_schedules_by_hand(schedule, step, expected):
    metaparameters = {
        "learning_rate": jnp.float32(0.8),
        "end_learning_rate_factor": jnp.float32(0.1),
        "learning_rate_decay_steps": jnp.float32(100),
    }
    value = schedule_definition(schedule).rate(metaparameters, jnp.int32(step))
    assert float(value) == pytest.approx(expected, rel=1e-6)


LOGITS = np.array([[2.0, 0.0, -1.0], [0.5, 0.5, 0.5]], np.float32)


def loss_of(
    objective: Objective, logits: np.ndarray, targets: np.ndarray, smoothing: float | None = None
) -> tuple[float, float]:
    """The summed loss of a batch, and its divisor."""
    values = {} if smoothing is None else {"label_smoothing": jnp.float32(smoothing)}
    total, divisor = objective.loss(jnp.asarray(logits), jnp.asarray(targets), values)
    return float(total), float(divisor)


@functools.cache
def summed(kind: type[Objective]) -> Callable[[jax.Array, jax.Array], dict[str, jax.Array]]:
    """Sums over examples, compiled once a shape."""
    return jax.jit(kind().totals)


def metrics_of(objective: Objective, *batches: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
    """The metrics of one trial from batches that are evaluated one after the other."""
    totals = [summed(type(objective))(jnp.asarray(a), jnp.asarray(b)) for a, b in batches]
    sums = {name: np.sum([each[name] for each in totals], axis=0)[None] for name in totals[0]}
    return {name: float(value[0]) for name, value in objective.metrics(sums).items()}


def log_softmax(logits: np.ndarray) -> np.ndarray:
    exact: np.ndarray = logits.astype(np.float64)
    return np.asarray(exact - np.log(np.exp(exact).sum(-1, keepdims=True)))


def exact_average_precision(scores: np.ndarray, present: np.ndarray) -> float:
    """By its definition: at each score, from the highest, all pairs of at least it are taken."""
    positives = int(present.sum())
    found, recall = Fraction(0), Fraction(0)
    for score in sorted(set(scores.tolist()), reverse=True):
        taken = scores >= score
        right = int((present & taken).sum())
        found += (Fraction(right, positives) - recall) * Fraction(right, int(taken.sum()))
        recall = Fraction(right, positives)
    return float(found)


def test_classification():
    targets = np.array([1, 0], np.uint8)
    expected = -(log_softmax(LOGITS)[0, 1] + log_softmax(LOGITS)[1, 0])
    assert loss_of(Classification(), LOGITS, targets) == pytest.approx((expected, 2), rel=1e-6)
    found = metrics_of(Classification(), (LOGITS[:1], targets[:1]), (LOGITS[1:], targets[1:]))
    assert found["cross_entropy_error"] == pytest.approx(expected / 2, rel=1e-6)
    # The first of equal logits is the class: the second image is right.
    assert found["classification_error"] == 0.5
    # Label smoothing spreads probability over the other classes.
    wanted = np.array([[0.15, 0.7, 0.15], [0.7, 0.15, 0.15]])
    smoothed = loss_of(Classification(), LOGITS, targets, smoothing=0.3)
    assert smoothed == pytest.approx((-(wanted * log_softmax(LOGITS)).sum(), 2), rel=1e-6)


def test_next_tokens_count_and_padding_does_not():
    random = np.random.default_rng(3)
    logits = random.normal(size=(3, 4, 6)).astype(np.float32)
    targets = np.array([[3, 4, 2, 0], [5, 2, 0, 0], [0, 0, 0, 0]], np.int32)
    losses = [
        -log_softmax(logits)[text, position, targets[text, position]]
        for text, position in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    ]
    loss = loss_of(NextToken(), logits, targets)
    assert loss == pytest.approx((sum(losses), 5), rel=1e-6)
    # The mean is over tokens, not over the means of the batches.
    parts = [(logits[:1], targets[:1]), (logits[1:], targets[1:])]
    found = metrics_of(NextToken(), *parts)["cross_entropy_error"]
    assert found == pytest.approx(sum(losses) / 5, rel=1e-6)
    other = np.where(targets[..., None] == 0, 99.0, logits).astype(np.float32)
    assert loss_of(NextToken(), other, targets) == loss


@pytest.mark.parametrize("name", quick_few(["pairs", "transformer with remat"], {"pairs"}))
def test_a_batch_of_empty_texts_has_no_loss_and_no_gradient(name):
    functions = PROBLEMS[name].trainer
    state, empty = functions.start(jnp.uint32(0)), jnp.zeros((2, 2, TEXTS.length), jnp.int32)
    found = [
        jax.jit(functions.gradient)(state, {}, (empty[0], empty[0])),
        jax.jit(functions.accumulated_gradient)(state, {}, (empty, empty)),
    ]
    for gradient in found:
        assert float(gradient.loss) == 0.0
        assert not any(np.asarray(leaf).any() for leaf in jax.tree.leaves(gradient.gradients))


SEVERAL_LOGITS = np.array([[0.0, 3.0, -2.0], [1.0, -1.0, 0.5]], np.float32)
SEVERAL = np.array([[1, 0, 0], [0, 0, 1]], np.uint8)


def test_several_labels():
    probability = 1 / (1 + np.exp(-SEVERAL_LOGITS.astype(np.float64)))

    def expected(wanted: np.ndarray) -> float:
        losses = wanted * np.log(probability) + (1 - wanted) * np.log(1 - probability)
        return float(-losses.sum())

    loss = loss_of(MultiLabel(), SEVERAL_LOGITS, SEVERAL)
    assert loss == pytest.approx((expected(SEVERAL), 2), rel=1e-6)
    # With a smoothing of 0.1, classes that are there are wanted with 0.95 and others with 0.05.
    smoothed = loss_of(MultiLabel(), SEVERAL_LOGITS, SEVERAL, smoothing=0.1)
    wanted = np.where(SEVERAL == 1, 0.95, 0.05)
    assert smoothed == pytest.approx((expected(wanted), 2), rel=1e-6)
    found = metrics_of(MultiLabel(), (SEVERAL_LOGITS, SEVERAL))
    assert found["cross_entropy_error"] == pytest.approx(expected(SEVERAL) / 2, rel=1e-6)
    # From the highest score: absent, absent, present, present, absent, absent.
    assert found["average_precision"] == pytest.approx((1 / 3 + 2 / 4) / 2)


@pytest.mark.parametrize("seed", range(2))
def test_average_precision_is_exact_with_ties(seed):
    random = np.random.default_rng(seed)
    # Few scores, far apart: many ties, none made by the bins.
    levels = np.linspace(-4, 4, 9)
    logits = random.choice(levels, (50, 7)).astype(np.float32)
    targets = random.choice([0, 0, 1], (50, 7)).astype(np.uint8)
    expected = exact_average_precision(logits.ravel(), targets.ravel() == 1)
    parts = [(logits[:20], targets[:20]), (logits[20:], targets[20:])]
    found = metrics_of(MultiLabel(), *parts)["average_precision"]
    assert found == pytest.approx(expected, rel=1e-9)


def test_average_precision_without_a_positive_label():
    found = metrics_of(MultiLabel(), (LOGITS, np.zeros((2, 3), np.uint8)))
    assert np.isnan(found["average_precision"])
    assert np.isfinite(found["cross_entropy_error"])


@pytest.mark.parametrize("multi_label", [False, True])
def test_the_recorded_loss_of_a_batch_is_without_label_smoothing(multi_label):
    """So that the trials of a study that differ in it are comparable at every step."""
    form = ImageForm(8, 8, 3, 5, multi_label=multi_label)
    functions = trainer("fc_6", "sgd", "constant", form)
    random = np.random.default_rng(0)
    images = jnp.asarray(random.integers(0, 256, (4, 8, 8, 3), dtype=np.uint8))
    labels = jnp.asarray(random.integers(0, 2, (4, 5)) if multi_label else np.arange(4))
    state = functions.start(jnp.uint32(0))

    def gradient(smoothing: float | None) -> Gradient:
        values = {"learning_rate": jnp.float32(0.1)}
        values |= {} if smoothing is None else {"label_smoothing": jnp.float32(smoothing)}
        whole = functions.gradient(state, values, (images, labels))
        halves = (images.reshape(2, 2, 8, 8, 3), labels.reshape(2, 2, *labels.shape[1:]))
        parts = functions.accumulated_gradient(state, values, halves)
        assert float(parts.loss) == pytest.approx(float(whole.loss), rel=1e-5)
        return whole

    plain, smoothed = gradient(None), gradient(0.3)
    assert float(smoothed.loss) == pytest.approx(float(plain.loss), rel=1e-6)
    # What is trained is not.
    change = optax.tree.sub(smoothed.gradients, plain.gradients)
    assert optax.tree.norm(change) > 0.1 * optax.tree.norm(plain.gradients)
