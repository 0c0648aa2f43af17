"""The regression of intervals against a general optimizer on the same likelihood."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from dbtool.analysis.censored import fit_intervals

SIZE = 9


def observed(
    seed: int, width: float, *, unreached: int, unknown: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values about a line as intervals: lower and upper ends [SIZE], and the terms [SIZE, 2]."""
    rng = np.random.default_rng(seed)
    at = rng.normal(size=SIZE)
    values = 1 + 0.5 * at + 0.3 * rng.normal(size=SIZE)
    lower, upper = values - width * rng.random(SIZE), values + width * rng.random(SIZE)
    upper[:unreached] = math.inf
    lower[SIZE - unknown :] = -math.inf
    return lower, upper, np.stack([np.ones(SIZE), at], axis=1)


def log_likelihood(
    parameters: np.ndarray, lower: np.ndarray, upper: np.ndarray, terms: np.ndarray
) -> float:
    """Of the logarithm of the scale and the coefficients, as the textbook writes it."""
    scale, centre = math.exp(parameters[0]), terms @ parameters[1:]
    between = norm.cdf(upper, centre, scale) - norm.cdf(lower, centre, scale)
    return float(
        np.where(
            lower == upper, norm.logpdf(lower, centre, scale), np.log(np.maximum(between, 1e-300))
        ).sum()
    )


@pytest.mark.parametrize(
    ("width", "unreached", "unknown"),
    [(0, 0, 0), (0, 3, 0), (0.2, 0, 0), (0.4, 2, 0), (0.3, 2, 1), (0, 1, 2)],
)
def test_the_fit_is_the_likeliest(width, unreached, unknown):
    lower, upper, terms = observed(3, width, unreached=unreached, unknown=unknown)
    found = fit_intervals(lower, upper, np.zeros((1, SIZE)), terms[None], 1e-4)
    searched = [
        minimize(
            lambda at: -log_likelihood(at, lower, upper, terms),
            start,
            method="Nelder-Mead",
            options={"maxiter": 5000, "xatol": 1e-9, "fatol": 1e-12},
        )
        for start in ([-2, 1, 0.5], [-1, 1, 0.5], [0, 1, 0.5])
    ]
    best = min(searched, key=lambda result: result.fun)
    assert found.log_likelihood[0] == pytest.approx(-best.fun, abs=1e-6)
    assert found.coefficients[0] == pytest.approx(best.x[1:], abs=1e-3)
    assert found.scale[0] == pytest.approx(math.exp(best.x[0]), rel=1e-2)


# Points, or as far apart as logarithms of whole numbers of steps.
@given(st.integers(0, 10_000), st.just(0.0) | st.floats(1e-6, 2), st.integers(0, 6))
def test_many_fits_at_once_are_those_one_by_one(seed, width, unreached):
    lower, upper, terms = observed(seed, width, unreached=unreached, unknown=0)
    offsets = np.random.default_rng(seed).normal(size=(3, SIZE))
    together = fit_intervals(lower, upper, offsets, np.stack([terms] * 3), 0.01)
    for row, offset in enumerate(offsets):
        alone = fit_intervals(lower, upper, offset[None], terms[None], 0.01)
        assert together.log_likelihood[row] == pytest.approx(alone.log_likelihood[0], abs=1e-6)
        at = np.concatenate([np.log(alone.scale), alone.coefficients[0]])
        assert alone.log_likelihood[0] == pytest.approx(
            log_likelihood(at, lower - offset, upper - offset, terms), abs=1e-5
        )


def test_the_fit_is_the_likeliest_where_its_scale_is_the_least():
    # On its way to the least scale Newton's method would step beyond it.
    sizes = np.array([2, 256, 512, 1024, 2048, 4096])
    lower = np.array([math.log(6000), *[-math.inf] * 5])
    upper = np.log([7000, *[1000] * 5])
    offset = np.log1p(11 / sizes)
    terms = np.ones((6, 1))
    found = fit_intervals(lower, upper, offset[None], terms[None], 0.03)
    searched = max(
        log_likelihood(np.array([math.log(0.03), at]), lower - offset, upper - offset, terms)
        for at in np.linspace(6, 8, 2001)
    )
    assert found.scale[0] == pytest.approx(0.03)
    assert found.log_likelihood[0] == pytest.approx(searched, abs=1e-3)
