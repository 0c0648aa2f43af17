"""Regimes of curves that are known, without noise and with it."""

import math

import numpy as np
import pytest

from dbtool.analysis.critical import StepsAt, fit_curve
from dbtool.analysis.regimes import Regimes, find_regimes

SIZES = 2.0 ** np.arange(14)


def regimes(log_steps: np.ndarray, noise: float = 0.03) -> Regimes:
    noisy = np.exp(log_steps + noise * np.random.default_rng(0).normal(size=len(log_steps)))
    steps = [StepsAt(size, each, each) for size, each in zip(SIZES, noisy, strict=False)]
    found = find_regimes(steps, fit_curve(steps, level=0.95), level=0.95)
    assert found is not None
    return found


def test_steps_that_halve_are_perfect_scaling() -> None:
    found = regimes(12 - np.log(SIZES))
    assert found.curve == "perfect"
    assert found.weights["perfect"] > 0.7
    assert (found.perfect_to.value, found.perfect_to.low) == (None, SIZES[-1])
    assert found.slope is None


def test_a_hyperbola_is_perfect_and_useful_to_within_a_fifth() -> None:
    found = regimes(np.log(500 * (1 + 100 / SIZES)))
    assert found.curve == "hyperbola"
    assert found.perfect_to.value == pytest.approx(20, rel=0.15)
    assert found.perfect_to.low < 20 < found.perfect_to.high
    assert found.useful_to.low < 500 < found.useful_to.high


def test_pieces_are_found_with_their_knees() -> None:
    knees = math.log(16), math.log(1024)
    between = np.clip(np.log(SIZES), *knees) - knees[0]
    found = regimes(10 - np.minimum(np.log(SIZES), knees[0]) - 0.5 * between)
    assert found.curve == "pieces"
    assert found.slope == pytest.approx(-0.5, abs=0.05)
    assert found.perfect_to.low < 16 < found.perfect_to.high
    assert found.useful_to.low < 1024 < found.useful_to.high
    assert found.perfect_to.high < found.useful_to.low


def test_weights_are_those_of_the_corrected_criterion() -> None:
    found = regimes(np.log(500 * (1 + 100 / SIZES)))
    assert sum(found.weights.values()) == pytest.approx(1)
    # With six observations the five parameters of the pieces cannot be corrected for.
    few = regimes(np.log(500 * (1 + 10 / SIZES[:6])))
    assert few.weights["pieces"] == 0


def test_four_batch_sizes_are_too_few() -> None:
    steps = [StepsAt(size, 1000 / size, 1000 / size) for size in SIZES[:4]]
    steps += [StepsAt(size, 100, math.inf) for size in SIZES[4:]]
    assert find_regimes(steps, fit_curve(steps, level=0.95), level=0.95) is None


def test_pieces_are_the_curve_that_was_planted() -> None:
    knees = math.log(16), math.log(1024)
    between = np.clip(np.log(SIZES), *knees) - knees[0]
    planted = 10 - np.minimum(np.log(SIZES), knees[0]) - 0.5 * between
    found = regimes(planted, noise=1e-3)
    assert found.pieces is not None
    assert [found.pieces.at(size) for size in SIZES] == pytest.approx(np.exp(planted), rel=0.05)
    assert found.pieces.knees == (found.perfect_to.value, found.useful_to.value)
    assert regimes(np.log(500 * (1 + 100 / SIZES))).pieces is None
