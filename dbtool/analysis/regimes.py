"""The scaling regimes of steps to result: perfect, diminishing returns, none.

Three curves of the logarithm of steps over that of the batch size are compared: a line of slope -1
(perfect scaling alone), the hyperbola of `dbtool.analysis.critical`, and continuous pieces of
slopes -1, s and 0, which are the three regimes of Shallue et al. 2018 (arXiv 1811.03600, section
4.1). Their weights are Akaike's with the correction for few observations (Burnham and Anderson
2002, sections 2.4 and 2.9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from dbtool.analysis.censored import fit_intervals
from dbtool.analysis.critical import (
    LEAST_SCALE,
    Estimate,
    closed_interval,
    observations,
    profile_bound,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbtool.analysis.censored import Floats
    from dbtool.analysis.critical import FittedCurve, StepsAt

CurveName = Literal["perfect", "hyperbola", "pieces"]
FEWEST_BATCH_SIZES = 5
"""Regimes are compared only where this many batch sizes reached the goal."""
# The curve's parameters and the scale.
_PARAMETERS: dict[CurveName, int] = {"perfect": 2, "hyperbola": 3, "pieces": 5}
_KNEES = 48  # of the grid, over the measured batch sizes
WITHIN = 0.2
"""A hyperbola has no knees: it counts as perfect, or flat, where it is so within this share."""


@dataclass(frozen=True)
class Pieces:
    """Continuous pieces of slopes -1, s and 0.

    Attributes:
        steps: the fewest, those of the last piece.
        knees: the batch sizes between the pieces.
        slope: s.
    """

    steps: float
    knees: tuple[float, float]
    slope: float

    def at(self, batch_size: float) -> float:
        """Return the steps that a batch size needs."""
        first, second = self.knees
        between: float = (min(max(batch_size, first), second) / second) ** self.slope
        return self.steps * between * max(first / batch_size, 1.0)


@dataclass(frozen=True)
class Regimes:
    """The regimes of a workload.

    Attributes:
        weights: of the curves, adding up to 1; 0 for one with more parameters than can be fitted.
        curve: the curve with the largest weight.
        perfect_to: the batch size up to which steps fall in inverse proportion to it.
        useful_to: the batch size from which steps no longer fall.
        slope: between the two, of the pieces; None where another curve has more weight.
        pieces: the pieces themselves; None likewise.
    """

    weights: Mapping[CurveName, float]
    curve: CurveName
    perfect_to: Estimate
    useful_to: Estimate
    slope: float | None
    pieces: Pieces | None = None


def find_regimes(
    steps: Sequence[StepsAt], smooth: FittedCurve | None, *, level: float
) -> Regimes | None:
    """Compare the curves; None where too few batch sizes reached the goal.

    Args:
        steps: at least one.
        smooth: fitted to them by `dbtool.analysis.critical.fit_curve`.
        level: of the knees' intervals, for instance 0.95.
    """
    sizes, lower, upper = observations(steps)
    reached = int(np.isfinite(upper).sum())
    if reached < FEWEST_BATCH_SIZES or smooth is None:
        return None
    line = fit_intervals(
        lower, upper, -np.log(sizes)[None], np.ones((1, len(sizes), 1)), LEAST_SCALE
    )
    pieces = _Pieces(np.log(sizes), lower, upper)
    weights = _weights(
        {
            "perfect": float(line.log_likelihood[0]),
            "hyperbola": smooth.hyperbola_likelihood,
            "pieces": pieces.log_likelihood,
        },
        reached,
    )
    curve = max(weights, key=lambda name: weights[name])
    if curve == "perfect":
        beyond = Estimate(None, smooth.reached[1], math.inf, "lower_bound")
        return Regimes(weights, curve, beyond, beyond, None)
    if curve == "hyperbola":
        return Regimes(weights, curve, smooth.perfect_to(WITHIN), smooth.useful_to(WITHIN), None)
    perfect, useful = pieces.knees(profile_bound(reached, _PARAMETERS["pieces"] - 1, level))
    return Regimes(weights, curve, perfect, useful, pieces.slope, pieces.best)


class _Pieces:
    """Pieces of slopes -1, s and 0, at all pairs of knees of a grid."""

    def __init__(self, log_sizes: Floats, lower: Floats, upper: Floats) -> None:
        reached = log_sizes[np.isfinite(upper)]
        self._grid = np.linspace(reached.min(), reached.max(), _KNEES)
        first, second = np.triu_indices(_KNEES, 1)
        start, end = self._grid[first, None], self._grid[second, None]
        # Steps fall with slope -1 up to the first knee, and with slope s between the knees.
        falling = -np.minimum(log_sizes, start)
        between = np.clip(log_sizes, start, end) - start
        terms = np.stack([np.ones_like(between), between], axis=2)
        fits = fit_intervals(lower, upper, falling, terms, LEAST_SCALE)
        # Only slopes between those of the other pieces distinguish three regimes.
        slope = fits.coefficients[:, 1]
        possible = (slope > -1) & (slope < 0)
        self._likelihood = np.full((_KNEES, _KNEES), -np.inf)
        self._likelihood[first, second] = np.where(possible, fits.log_likelihood, -np.inf)
        best = int(np.where(possible, fits.log_likelihood, -np.inf).argmax())
        self.log_likelihood = float(self._likelihood.max())
        self.slope = float(slope[best])
        level = fits.coefficients[best, 0] - start[best, 0]
        self.best = Pieces(
            steps=math.exp(level + slope[best] * (end - start)[best, 0]),
            knees=(math.exp(start[best, 0]), math.exp(end[best, 0])),
            slope=self.slope,
        )

    def knees(self, bound: float) -> tuple[Estimate, Estimate]:
        """Return the knees with their intervals."""
        first = self._likelihood.max(axis=1)[:-1]
        second = self._likelihood.max(axis=0)[1:]
        floor = self.log_likelihood - bound
        return _knee(first, self._grid[:-1], floor), _knee(second, self._grid[1:], floor)


def _knee(profile: Floats, grid: Floats, floor: float) -> Estimate:
    low, high = map(math.exp, closed_interval(grid, profile, floor))
    value = math.exp(grid[profile.argmax()])
    if low > 0 and math.isfinite(high):
        return Estimate(value, low, high, "identified")
    if low > 0:
        return Estimate(value, low, high, "lower_bound")
    return Estimate(value, low, high, "upper_bound" if math.isfinite(high) else "not_identified")


def _weights(
    log_likelihood: Mapping[CurveName, float], observations: int
) -> dict[CurveName, float]:
    """Return Akaike's weights by the corrected criterion, AIC + 2 p (p + 1) / (n - p - 1)."""
    criteria = {}
    for curve, value in log_likelihood.items():
        parameters = _PARAMETERS[curve]
        freedom = observations - parameters - 1
        correction = 2 * parameters * (parameters + 1) / freedom if freedom > 0 else math.inf
        criteria[curve] = 2 * parameters - 2 * value + correction
    least = min(criteria.values())
    raw = {curve: math.exp((least - value) / 2) for curve, value in criteria.items()}
    return {curve: value / sum(raw.values()) for curve, value in raw.items()}
