"""The best learning rate as a function of the batch size.

Three laws are compared, each with a free factor and one other parameter:

- `power`: proportional to B^p. p = 1 is the linear rule, p = 1/2 the square root rule
  (Shallue et al. 2018, section 4.7, which finds that neither holds in general).
- `saturating`: proportional to 1 / (1 + Bn / B), linear and then flat, at half of its limit at the
  noise scale Bn (McCandlish et al. 2018, arXiv 1812.06162, equation 2.10).
- `surge`: proportional to 1 / (sqrt(Bn / B) + sqrt(B / Bn)), rising and then falling (Li et al.
  2024, arXiv 2405.14578, theorem 2, for Adam and other sign-based optimizers).

The best learning rate at a batch size is known as a range: that of the trials that came nearly as
far as the best. The single best trial is mostly luck.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from dbtool.analysis.censored import (
    MISSED,
    Fits,
    Floats,
    closed_interval,
    fit_intervals,
    peak,
    profile_bound,
)
from dbtool.analysis.interval import Interval

if TYPE_CHECKING:
    from dbtool.analysis.searches import Search

Law = Literal["power", "saturating", "surge"]
Rate = Literal["learning_rate", "effective_learning_rate", "damping"]
"""The learning rate, that divided by 1 - momentum, or 1 - momentum."""

NEARLY = 1.25
"""Trials that may have taken up to this many times the fewest steps count among the best."""
FEWEST_RATES = 4
_OUTER = 0.1  # of the searched range, on each side: the best rate may lie beyond it
_LEAST_SCALE = 0.05
_GRID = 181
_FACTORS = 81
LAWS: tuple[Law, ...] = get_args(Law)


@dataclass(frozen=True)
class BestRate:
    """What a search tells of the best learning rate.

    Attributes:
        batch_size: examples in a step.
        low: the least learning rate of the trials that came nearly as far as the best; 0 where it
            lies in the outer tenth of the searched range.
        high: the largest of them; inf likewise.
        best: the learning rate of the trial that took the fewest steps.
        trials: how many came nearly as far.
        is_outer: whether the best itself lies in the outer tenth.
    """

    batch_size: float
    low: float
    high: float
    best: float
    trials: int
    is_outer: bool = False


@dataclass(frozen=True)
class RateLaw:
    """How the best learning rate moves with the batch size.

    Attributes:
        weights: of the laws, adding up to 1, from their likelihoods alone: all laws have the same
            number of parameters.
        law: the law with the largest weight; the first of equal ones.
        parameter: its exponent p or its batch size Bn.
        low: lower end of the parameter's interval; -inf or 0 where it has none.
        high: upper end; inf where it has none.
        factor: the learning rate at batch size B is this times `shape`.
        plausible: computes [laws, 2] parameters and logarithms of factors within the intervals.
    """

    weights: Mapping[Law, float]
    law: Law
    parameter: float
    low: float
    high: float
    factor: float
    plausible: Callable[[], Floats] = field(compare=False, repr=False)

    def at(self, batch_size: float) -> float:
        """Return the learning rate that the law predicts for a batch size."""
        shape = _log_shape(self.law, np.array([self.parameter]), np.array([batch_size]))
        return self.factor * math.exp(shape[0, 0])

    def between(self, batch_size: float) -> Interval:
        """Return that learning rate with its interval."""
        parameters, factors = self.plausible().T
        logs = factors + _log_shape(self.law, parameters, np.array([batch_size]))[:, 0]
        value = self.at(batch_size)
        low, high = math.exp(logs.min()), math.exp(logs.max())
        return Interval(value, min(low, value), max(high, value))

    def near(self, rate: BestRate) -> float:
        """Return the likeliest best learning rate of a search: the law's, or the end next to it."""
        return min(max(self.at(rate.batch_size), rate.low), rate.high)


def best_rate(search: "Search", rate: Rate) -> BestRate | None:
    """Return the range of a search's best learning rates; None where it cannot tell any.

    That is where no trial reached the goal, and where all trials have the same rate: that was
    chosen, not searched.

    Args:
        search: the trials.
        rate: of what.
    """
    fewest = search.steps.min()
    rates = _rates(search, rate)
    known = np.isfinite(rates) & (rates > 0)
    near = known & (search.after <= NEARLY * fewest) & np.isfinite(search.steps)
    if not near.any() or np.ptp(rates[known]) == 0:
        return None
    low, high = float(rates[near].min()), float(rates[near].max())
    searched: Rate = "damping" if rate == "damping" else "learning_rate"
    plain = _rates(search, searched)
    start, end = _searched(search, searched) or (plain[known].min(), plain[known].max())
    outer = (math.log(end / start) if end > start > 0 else 0.0) * _OUTER
    first = np.argmin(np.where(np.isfinite(rates), search.steps, math.inf))
    below = plain <= start * math.exp(outer) if outer else np.zeros_like(near)
    above = plain >= end / math.exp(outer) if outer else np.zeros_like(near)
    return BestRate(
        batch_size=search.batch_size,
        low=0.0 if below[near].any() else low,
        high=math.inf if above[near].any() else high,
        best=float(rates[first]),
        trials=int(near.sum()),
        is_outer=bool(below[first] or above[first]),
    )


def fit_laws(rates: Sequence[BestRate], *, level: float) -> RateLaw | None:
    """Fit the laws by interval likelihood; None where too few batch sizes bound the rate.

    Args:
        rates: one for each batch size.
        level: of the parameter's interval, for instance 0.95.
    """
    bounded = [each for each in rates if each.low > 0 or math.isfinite(each.high)]
    closed = sum(each.low > 0 and math.isfinite(each.high) for each in bounded)
    if closed < FEWEST_RATES:
        return None
    sizes = np.array([each.batch_size for each in bounded])
    with np.errstate(divide="ignore"):
        lower = np.log(np.array([each.low for each in bounded]))
        upper = np.log(np.array([each.high for each in bounded]))

    def fitted(shapes: Floats) -> Fits:
        return fit_intervals(lower, upper, shapes, np.ones((*shapes.shape, 1)), _LEAST_SCALE)

    found: dict[Law, RateLaw] = {}
    heights: dict[Law, float] = {}
    for law in LAWS:
        grid = _grid(law, sizes)
        shapes = _log_shape(law, grid, sizes)
        fits = fitted(shapes)
        likelihood = fits.log_likelihood
        scale, original = (grid, float) if law == "power" else (np.log(grid), math.exp)
        heights[law] = float(likelihood.max())
        floor = heights[law] - profile_bound(closed, 2, level)
        ends = closed_interval(scale, likelihood, floor)
        parameter, low, high = map(original, (peak(scale, likelihood), *ends))
        at = fitted(_log_shape(law, np.array([parameter]), sizes)).coefficients
        inside = np.flatnonzero(likelihood >= floor)
        laws = np.stack([grid, fits.coefficients[:, 0]], axis=1)[inside]
        plausible = partial(_plausible, lower, upper, shapes[inside], laws, floor)
        found[law] = RateLaw({}, law, parameter, low, high, math.exp(at[0, 0]), plausible)
    most = max(heights.values())
    raw = {law: math.exp(height - most) for law, height in heights.items()}
    chosen = next(found[law] for law, height in heights.items() if height >= most - MISSED)
    return replace(chosen, weights={law: value / sum(raw.values()) for law, value in raw.items()})


def _plausible(lower: Floats, upper: Floats, shapes: Floats, laws: Floats, floor: float) -> Floats:
    """Return the parameters and logarithms of factors, [laws, 2], whose likelihood reaches a floor.

    Args:
        lower: [searches] logarithm of the least rate.
        upper: [searches] of the largest.
        shapes: [parameters, searches] of the laws with these parameters.
        laws: [parameters, 2] these parameters, each with its likeliest factor.
        floor: the least log likelihood.
    """
    widths = upper - lower
    spread = (upper[np.isfinite(upper)].max() - lower[np.isfinite(lower)].min()) / 2
    reach = min(2 * widths[np.isfinite(widths)].max() + 10 * _LEAST_SCALE, spread)
    tried = laws[:, 1:] + reach * np.linspace(-1, 1, _FACTORS)
    offsets = (shapes[:, None] + tried[..., None]).reshape(-1, lower.size)
    fits = fit_intervals(lower, upper, offsets, np.zeros((*offsets.shape, 0)), _LEAST_SCALE)
    every = np.stack([np.repeat(laws[:, 0], _FACTORS), tried.ravel()], axis=1)
    return np.concatenate([laws, every[fits.log_likelihood >= floor]])


def _rates(search: "Search", rate: Rate) -> Floats:
    if rate == "learning_rate":
        return search.learning_rate
    if rate == "damping":
        return np.asarray(1 - search.momentum, float)
    with np.errstate(over="ignore"):
        rates: Floats = search.learning_rate / (1 - np.nan_to_num(search.momentum))
    return rates


def _searched(search: "Search", rate: Rate) -> tuple[float, float] | None:
    """Return the ends of the search space; None where the study has none, as of a grid of runs."""
    space = search.search_space.get("momentum" if rate == "damping" else rate, {})
    start, end = space.get("min_value"), space.get("max_value")
    if isinstance(start, int | float) and isinstance(end, int | float):
        return (1.0 - end, 1.0 - start) if rate == "damping" else (float(start), float(end))
    return None


def _grid(law: Law, sizes: Floats) -> Floats:
    if law == "power":
        return np.linspace(-2, 3, _GRID)
    # A turn beyond the measured batch sizes looks like a power: 1, or 1/2 for the surge.
    return np.geomspace(sizes.min(), sizes.max(), _GRID)


def _log_shape(law: Law, parameters: Floats, sizes: Floats) -> Floats:
    """Return the logarithm of a law without its factor: [parameters, sizes]."""
    if law == "power":
        return parameters[:, None] * np.log(sizes)
    ratio = parameters[:, None] / sizes
    if law == "saturating":
        return -np.log1p(ratio)
    shape: Floats = -np.logaddexp(0.5 * np.log(ratio), -0.5 * np.log(ratio))
    return shape
