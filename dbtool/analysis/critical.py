"""The critical batch size: where larger batches stop paying for themselves.

Steps to result fall with the batch size B as S(B) = Smin (1 + Bc / B) (McCandlish et al. 2018,
arXiv 1812.06162, equation 2.11 and appendix D): in inverse proportion while B is far below Bc, not
at all far above it. Two definitions use this hyperbola.

- `tradeoff`: Bc = Emin / Smin itself, at which a run takes twice the fewest steps and twice the
  fewest examples.
- `overhead`: the batch size whose steps exceed linear scaling from a batch size B0 by a share o
  (Zhang et al. 2024, arXiv 2410.21676, section 3.1: 20 % from 256), which is
  (1 + o) B0 + o Bc; with log S = log(a + b / B) this is b / (5 a) + 1.2 B0.

Workloads need not follow the hyperbola: those of the noisy quadratic model bend more sharply. So
intervals are those of the curves S(B) = Smin (1 + (Bc / B)^p)^(1/p), over all bends p that the
measurements allow. These curves have the same two ends, and p = 1 is the hyperbola. The value
itself is the hyperbola's, unless the measurements exclude that.

The fewest measured examples divided by the fewest measured steps do not estimate Bc: the quotient
is far from it wherever the measured batch sizes do not reach far to both sides of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import fdtri

from dbtool.analysis.censored import fit_intervals
from dbtool.analysis.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbtool.analysis.censored import Fits, Floats

Verdict = Literal["identified", "lower_bound", "upper_bound", "not_identified"]
LEAST_SCALE = 0.03
"""The least standard deviation of log steps: a search's assumed variation from seed to seed."""
FEWEST_REACHED = 3
"""A fit needs this many batch sizes that reached the goal."""
_POINTS_A_FACTOR = 16  # of the grid, for each factor of e
# Bends from slow to sharp, evenly spaced in their logarithm; the hyperbola's is one of them.
_BENDS = tuple(2.0 ** (quarter / 4) for quarter in range(-3, 7))
MISSED = (
    1e-6  # log likelihoods that are this near count as equal: fits end a little earlier or later
)
_BEYOND = 1000.0  # how far the grid goes beyond the measured batch sizes


@dataclass(frozen=True)
class StepsAt:
    """What is known of the steps to result at a batch size.

    Attributes:
        batch_size: examples in a step.
        lower: steps that were not enough; equal to `upper` where the number itself is known.
        upper: steps that were enough; inf where no trial reached the goal.
    """

    batch_size: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Estimate(Interval):
    """A quantity whose value is reported where it is identified.

    Attributes:
        verdict: `identified`; `lower_bound` or `upper_bound` where one end alone is known;
            `not_identified` where neither is.
    """

    verdict: Verdict


@dataclass(frozen=True)
class Allowed:
    """The critical batch sizes that the measurements allow for curves of one bend.

    Attributes:
        bend: p.
        low: the least Bc; 0 where it has no lower bound.
        high: the largest; inf where it has no upper bound.
    """

    bend: float
    low: float
    high: float


@dataclass(frozen=True)
class FittedCurve:
    """S(B) = steps (1 + (critical / B)^bend)^(1 / bend), fitted.

    Attributes:
        steps: the fewest that any batch size needs, Smin.
        critical: Bc, the likeliest value over all that are likely.
        bend: p; 1 for the hyperbola.
        allowed: what the measurements allow, for each bend at which they allow anything.
        scale: standard deviation of the logarithm of steps about the curve.
        hyperbola_likelihood: the logarithm of the likelihood of the hyperbola.
        reached: the least and the largest batch size that reached the goal.
    """

    steps: float
    critical: float
    bend: float
    allowed: Sequence[Allowed]
    scale: float
    hyperbola_likelihood: float
    reached: tuple[float, float]

    def at(self, batch_size: float) -> float:
        """Return the steps that a batch size needs."""
        ratio: float = (1 + (self.critical / batch_size) ** self.bend) ** (1 / self.bend)
        return self.steps * ratio

    @property
    def tradeoff(self) -> Estimate:
        """Return Bc."""
        return self._estimate(lambda _, critical: critical)

    def overhead(self, share: float, start: float) -> Estimate:
        """Return the batch size whose steps exceed linear scaling from `start` by a share.

        It is B^p = (1 + o)^p (B0^p + Bc^p) - Bc^p.

        Args:
            share: o, for instance 0.2.
            start: B0.
        """

        def at(bend: float, critical: float) -> float:
            # In units of Bc, since its power may be too large a number.
            power: float = (1 + share) ** bend * ((start / critical) ** bend + 1) - 1
            exceeding: float = critical * power ** (1 / bend)
            return exceeding

        return self._estimate(at)

    def perfect_to(self, share: float) -> Estimate:
        """Return the batch size up to which examples exceed the fewest by at most a share."""
        return self._estimate(lambda bend, critical: critical * _ratio(bend, share))

    def useful_to(self, share: float) -> Estimate:
        """Return the batch size from which steps exceed the fewest by at most a share."""
        return self._estimate(lambda bend, critical: critical / _ratio(bend, share))

    def _estimate(self, quantity: Callable[[float, float], float]) -> Estimate:
        """Return a batch size that rises with Bc, with what is known of it.

        Without measurements on both sides of it, its value depends on the form of the curve alone.

        Args:
            quantity: computes it from the bend and Bc.
        """
        value = quantity(self.bend, self.critical)
        low = min(quantity(each.bend, each.low) if each.low else 0.0 for each in self.allowed)
        high = max(
            quantity(each.bend, each.high) if math.isfinite(each.high) else math.inf
            for each in self.allowed
        )
        least, most = self.reached
        has_low = low > 0 and least < value
        has_high = math.isfinite(high) and value < most
        if has_low and has_high:
            return Estimate(value, low, high, "identified")
        if has_low:
            return Estimate(None, low, math.inf, "lower_bound")
        if has_high:
            return Estimate(None, 0.0, high, "upper_bound")
        return Estimate(None, 0.0, math.inf, "not_identified")


def fit_curve(steps: Sequence[StepsAt], *, level: float) -> FittedCurve | None:
    """Fit a curve by interval likelihood; None where too few batch sizes reached the goal.

    The noise of the logarithm of steps is assumed normal, with one unknown standard deviation that
    also covers the misfit of the curve. Intervals are those of the profile likelihood, with the F
    distribution's correction for few batch sizes (`profile_bound`).

    Args:
        steps: at least one.
        level: of the intervals, for instance 0.95.
    """
    sizes, lower, upper = observations(steps)
    reached = np.isfinite(upper)
    if reached.sum() < FEWEST_REACHED:
        return None

    def fitted(critical: Floats, bend: float) -> Fits:
        offsets = np.logaddexp(0, bend * np.log(critical[:, None] / sizes)) / bend
        return fit_intervals(lower, upper, offsets, np.ones((*offsets.shape, 1)), LEAST_SCALE)

    grid = _grid(sizes)
    profiles = {bend: fitted(grid, bend).log_likelihood for bend in _BENDS}
    bound = profile_bound(int(reached.sum()), 3, level)
    most = max(profile.max() for profile in profiles.values())
    floor = most - bound
    allowed = {bend: profile for bend, profile in profiles.items() if profile.max() >= floor}
    likeliest = (each for each, profile in allowed.items() if profile.max() >= most - MISSED)
    bend = 1.0 if 1.0 in allowed else next(likeliest)
    critical = math.exp(peak(np.log(grid), profiles[bend]))
    best = fitted(np.array([critical]), bend)
    return FittedCurve(
        steps=math.exp(best.coefficients[0, 0]),
        critical=critical,
        bend=bend,
        allowed=[
            Allowed(each, *map(math.exp, closed_interval(np.log(grid), profile, floor)))
            for each, profile in allowed.items()
        ],
        scale=float(best.scale[0]),
        hyperbola_likelihood=float(profiles[1.0].max()),
        reached=(float(sizes[reached].min()), float(sizes[reached].max())),
    )


def _ratio(bend: float, share: float) -> float:
    """Return B / Bc at which B S(B) exceeds the fewest examples by a share."""
    ratio: float = ((1 + share) ** bend - 1) ** (1 / bend)
    return ratio


def observations(steps: Sequence[StepsAt]) -> tuple[Floats, Floats, Floats]:
    """Return batch sizes and the logarithms of the bounds of their steps, each [observations].

    Batch sizes are dropped where neither bound is known, or where the untrained network is enough:
    they tell nothing.
    """
    known = [each for each in steps if each.lower > 0 or 0 < each.upper < math.inf]
    sizes = np.array([each.batch_size for each in known], float)
    with np.errstate(divide="ignore"):
        lower = np.log(np.array([each.lower for each in known], float))
        upper = np.log(np.array([each.upper for each in known], float))
    return sizes, lower, upper


def profile_bound(reached: int, curve: int, level: float) -> float:
    """Return how far the log likelihood may lie below its maximum within an interval.

    This is n / 2 log(1 + F / (n - p)), F being the quantile of the F distribution with 1 and n - p
    degrees of freedom. For normal noise of unknown scale the interval is then exact; half a
    quantile of chi-squared would be too short for few observations.

    Args:
        reached: n, the observations that are not censored.
        curve: p, the number of the curve's parameters.
        level: of the interval.

    Returns:
        The difference; inf where there are not more observations than parameters.
    """
    freedom = reached - curve
    if freedom < 1:
        return math.inf
    return reached / 2 * math.log1p(fdtri(1, freedom, level) / freedom)


def closed_interval(grid: Floats, log_likelihood: Floats, floor: float) -> tuple[float, float]:
    """Return where a profile lies above a floor; infinite on a side where it never falls below.

    Args:
        grid: [points], ascending.
        log_likelihood: [points], at least one of them above the floor.
        floor: the maximum, less `profile_bound`.
    """
    above = log_likelihood - floor
    inside = np.flatnonzero(above >= 0)
    first, last = int(inside[0]), int(inside[-1])

    def crossing(out: int, within: int) -> float:
        share = above[within] / (above[within] - above[out])
        return float(grid[within] + share * (grid[out] - grid[within]))

    low = crossing(first - 1, first) if first > 0 else -math.inf
    high = crossing(last + 1, last) if last < len(grid) - 1 else math.inf
    return low, high


def peak(grid: Floats, values: Floats) -> float:
    """Return where values are highest: the middle of a flat top.

    For any other top, it is the maximum of the parabola through the highest point and its
    neighbours.

    Args:
        grid: [points], evenly spaced.
        values: [points].
    """
    first, last = top(values)
    if first < last or not 0 < first < len(grid) - 1:
        return float(grid[first] + grid[last]) / 2
    left, middle, right = values[first - 1 : first + 2]
    bend = left - 2 * middle + right
    shift = (left - right) / (2 * bend) if bend < 0 else 0.0
    return float(grid[first] + shift * (grid[1] - grid[0]))


def top(values: Floats) -> tuple[int, int]:
    """Return the first and the last of the highest points, within the tolerance of fits."""
    highest = np.flatnonzero(values >= values.max() - MISSED)
    return int(highest[0]), int(highest[-1])


def _grid(sizes: Floats) -> Floats:
    """Return the batch sizes at which to compute the likelihood, evenly spaced on a log scale."""
    least, most = sizes.min() / _BEYOND, sizes.max() * _BEYOND
    points = round(_POINTS_A_FACTOR * math.log(most / least))
    return np.geomspace(least, most, points)
