"""Losses and metrics against the same written out in NumPy."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from producers.training.objectives import (
    Classification,
    MultiLabel,
    NextToken,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from producers.training.objectives import Objective

LOGITS = np.array([[2.0, 0.0, -1.0], [0.5, 0.5, 0.5]], np.float32)


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


def test_classification() -> None:
    targets = np.array([1, 0], np.uint8)
    expected = -(log_softmax(LOGITS)[0, 1] + log_softmax(LOGITS)[1, 0])
    total, count = Classification().loss(jnp.asarray(LOGITS), jnp.asarray(targets), {})
    assert float(total) == pytest.approx(expected, rel=1e-6)
    assert float(count) == 2.0
    found = metrics_of(Classification(), (LOGITS[:1], targets[:1]), (LOGITS[1:], targets[1:]))
    assert found["cross_entropy_error"] == pytest.approx(expected / 2, rel=1e-6)
    # The first of equal logits is the class: the second image is right.
    assert found["classification_error"] == 0.5


def test_label_smoothing_spreads_probability_over_the_other_classes() -> None:
    targets = np.array([0, 2], np.uint8)
    smoothing = 0.3
    wanted = np.array([[0.7, 0.15, 0.15], [0.15, 0.15, 0.7]])
    expected = -(wanted * log_softmax(LOGITS)).sum()
    total, _ = Classification().loss(
        jnp.asarray(LOGITS), jnp.asarray(targets), {"label_smoothing": jnp.float32(smoothing)}
    )
    assert float(total) == pytest.approx(expected, rel=1e-6)
    # Evaluations are of the true classes.
    without = metrics_of(Classification(), (LOGITS, targets))["cross_entropy_error"]
    assert without == pytest.approx(-log_softmax(LOGITS)[np.arange(2), targets].mean(), rel=1e-6)


def test_next_tokens_count_and_padding_does_not() -> None:
    random = np.random.default_rng(3)
    logits = random.normal(size=(3, 4, 6)).astype(np.float32)
    targets = np.array([[3, 4, 2, 0], [5, 2, 0, 0], [0, 0, 0, 0]], np.int32)
    losses = [
        -log_softmax(logits)[text, position, targets[text, position]]
        for text, position in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    ]
    total, tokens = NextToken().loss(jnp.asarray(logits), jnp.asarray(targets), {})
    assert float(total) == pytest.approx(sum(losses), rel=1e-6)
    assert float(tokens) == 5.0
    # The mean is over tokens, not over the means of the batches.
    parts = [(logits[:1], targets[:1]), (logits[1:], targets[1:])]
    found = metrics_of(NextToken(), *parts)["cross_entropy_error"]
    assert found == pytest.approx(sum(losses) / 5, rel=1e-6)
    other = np.where(targets[..., None] == 0, 99.0, logits).astype(np.float32)
    assert float(NextToken().loss(jnp.asarray(other), jnp.asarray(targets), {})[0]) == float(total)


def test_a_batch_of_empty_texts_has_no_loss_and_no_gradient() -> None:
    targets = jnp.zeros((2, 3), jnp.int32)

    def mean(logits: jax.Array) -> jax.Array:
        total, tokens = NextToken().loss(logits, targets, {})
        return total / tokens

    loss, gradient = jax.value_and_grad(mean)(jnp.ones((2, 3, 5)))
    assert float(loss) == 0.0
    assert not np.asarray(gradient).any()


SEVERAL_LOGITS = np.array([[0.0, 3.0, -2.0], [1.0, -1.0, 0.5]], np.float32)
SEVERAL = np.array([[1, 0, 0], [0, 0, 1]], np.uint8)


def test_several_labels() -> None:
    probability = 1 / (1 + np.exp(-SEVERAL_LOGITS.astype(np.float64)))
    expected = -np.log(np.where(SEVERAL == 1, probability, 1 - probability)).sum()
    total, images = MultiLabel().loss(jnp.asarray(SEVERAL_LOGITS), jnp.asarray(SEVERAL), {})
    assert float(total) == pytest.approx(expected, rel=1e-6)
    assert float(images) == 2.0
    found = metrics_of(MultiLabel(), (SEVERAL_LOGITS, SEVERAL))
    assert found["cross_entropy_error"] == pytest.approx(expected / 2, rel=1e-6)
    # From the highest score: absent, absent, present, present, absent, absent.
    assert found["average_precision"] == pytest.approx((1 / 3 + 2 / 4) / 2)


def test_label_smoothing_of_several_labels_by_hand() -> None:
    """With 0.1, classes that are there are wanted with 0.95 and all others with 0.05."""

    def mean(logits: jax.Array) -> jax.Array:
        smoothing = {"label_smoothing": jnp.float32(0.1)}
        total, images = MultiLabel().loss(logits, jnp.asarray(SEVERAL), smoothing)
        return total / images

    loss, gradient = jax.value_and_grad(mean)(jnp.asarray(SEVERAL_LOGITS))
    probability = 1 / (1 + np.exp(-SEVERAL_LOGITS.astype(np.float64)))
    wanted = np.array([[0.95, 0.05, 0.05], [0.05, 0.05, 0.95]])
    losses = -wanted * np.log(probability) - (1 - wanted) * np.log(1 - probability)
    assert float(loss) == pytest.approx(losses.sum() / 2, rel=1e-6)
    np.testing.assert_allclose(gradient, (probability - wanted) / 2, rtol=1e-5)
    # Evaluations are of the true classes.
    true = -np.log(np.where(SEVERAL == 1, probability, 1 - probability)).sum() / 2
    found = metrics_of(MultiLabel(), (SEVERAL_LOGITS, SEVERAL))["cross_entropy_error"]
    assert found == pytest.approx(true, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_average_precision_is_exact_with_ties(seed: int) -> None:
    random = np.random.default_rng(seed)
    # Few scores, far apart: many ties, none made by the bins.
    levels = np.linspace(-4, 4, 9)
    logits = random.choice(levels, (50, 7)).astype(np.float32)
    targets = random.choice([0, 0, 1], (50, 7)).astype(np.uint8)
    expected = exact_average_precision(logits.ravel(), targets.ravel() == 1)
    parts = [(logits[:20], targets[:20]), (logits[20:], targets[20:])]
    found = metrics_of(MultiLabel(), *parts)["average_precision"]
    assert found == pytest.approx(expected, rel=1e-9)


def test_average_precision_without_a_positive_label() -> None:
    found = metrics_of(MultiLabel(), (LOGITS, np.zeros((2, 3), np.uint8)))
    assert np.isnan(found["average_precision"])
    assert np.isfinite(found["cross_entropy_error"])
