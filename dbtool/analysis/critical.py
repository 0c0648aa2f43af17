"""The critical batch size: where larger batches stop paying for themselves.

Steps to result fall with the batch size B as

    S(B) = Smin (1 + (Bc / B)^p)^(1 / p)

in inverse proportion while B is far below Bc, not at all far above it. The bend p says how sharply
the one turns into the other: 1 is the hyperbola of McCandlish et al. 2018 (arXiv 1812.06162,
equation 2.11 and appendix D), the noisy quadratic model bends more sharply, and a noise scale that
grows with the batch size more slowly. One fit of this family gives the critical batch sizes and the
regimes of Shallue et al. 2018 (arXiv 1811.03600, section 4.1), so that they cannot disagree:

- `tradeoff`: Bc itself, the quotient of the fewest examples to the fewest steps, at which a run
  takes 2^(1/p) times the fewest of both.
- `overhead`: the batch size whose steps exceed linear scaling from a batch size B0 by a share o
  (Zhang et al. 2024, arXiv 2410.21676, section 3.1: 20 % from 256).
- `speedup`: the batch size whose speed-up is 1 / (1 + o) of that of perfect scaling, wherever the
  measurements start; examples exceed the fewest by o there.
- `perfect_to` and `useful_to`, the ends of perfect scaling and of any gain: where examples and
  where steps exceed the fewest by o.

A few batch sizes do not tell the bend, so that it has a prior: the logarithm of p is normal about
0 with a standard deviation of 0.6. The values are those of the highest penalised likelihood, and
the intervals those of its profile.

The fewest measured examples divided by the fewest measured steps do not estimate Bc: the quotient
is far from it wherever the measured batch sizes do not reach far to both sides of it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

import numpy as np

from dbtool.analysis.censored import (
    Fits,
    Floats,
    closed_interval,
    fit_intervals,
    peak,
    profile_bound,
    top,
)
from dbtool.analysis.interval import Interval
from dbtool.analysis.kinds import Form

FORMS: tuple[Form, ...] = get_args(Form)
LEAST_SCALE = 0.03
"""The least standard deviation of log steps: a search's assumed variation from seed to seed."""
_PARAMETERS: dict[Form, int] = {"bent": 3, "hyperbola": 2}
_BENDS: dict[Form, Floats] = {"bent": np.geomspace(0.3, 8, 15), "hyperbola": np.ones(1)}
_LOG_BEND_DEVIATION = 0.6
# The grid of log Bc: finely over the measured batch sizes and a factor of e^2 to both sides,
# coarsely a factor of e^5 further, where the likelihood hardly changes.
_POINTS_A_FACTOR, _NEAR, _FAR, _FAR_POINTS = 6, 2.0, 5.0, 9
# At Bc divided by this no curve is told from perfect scaling.
_MUCH_LARGER = 1e12
# The maximum is found by this many ever smaller grids about the best point.
_ZOOMS = 6
# Grids on which fewer points lie within the intervals are too coarse for the ends of these: others
# of so many points follow, of which most lie within.
_RESOLVED, _FINE = 12, 25


@dataclass(frozen=True)
class StepsAt:
    """What is known of the steps to result at a batch size.

    Attributes:
        batch_size: examples in a step.
        lower: steps that were not enough; equal to `upper` where the number itself is known.
        upper: steps that were enough; inf where no trial reached the goal.
        error: standard error of the steps' logarithm, from replicates; 0 where there are none.
    """

    batch_size: float
    lower: float
    upper: float
    error: float = 0.0


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
        critical: Bc.
        bend: p, with its interval; 1 for the hyperbola.
        allowed: what the measurements allow, for each bend at which they allow anything.
        plausible: [points, 4] curves within the intervals: the logarithms of their bend, of Bc and
            of the fewest steps, and how far the last may be off.
        scale: standard deviation of the logarithm of steps about the curve.
        form: the curves it was chosen from.
        reached: the least and the largest batch size that reached the goal.
    """

    steps: float
    critical: float
    bend: Interval
    allowed: Sequence[Allowed]
    plausible: Floats = field(compare=False, repr=False)
    scale: float
    form: Form
    reached: tuple[float, float]

    @property
    def at_tradeoff(self) -> float:
        """Return how many times the fewest steps, and the fewest examples, a run at Bc takes."""
        return math.exp(math.log(2) / self._bend)

    @property
    def _bend(self) -> float:
        return cast("float", self.bend.value)

    def at(self, batch_size: float) -> float:
        """Return the steps that a batch size needs."""
        more: float = log_excess(self._bend, math.log(self.critical / batch_size))
        return self.steps * math.exp(more)

    def between(self, batch_size: float) -> Interval:
        """Return the steps that a batch size needs, with the interval that curves allow."""
        value = self.at(batch_size)
        low, high = self._span(batch_size)
        # Curves whose Bc is beyond those fitted come as near to either limit as they may.
        if math.isinf(self.tradeoff.high):
            low = min(low, self.fewest_examples.low / batch_size)
        if not self.tradeoff.low:
            low = min(low, self._span(self.critical * _MUCH_LARGER)[0])
        return Interval(value, min(low, value), max(high, value))

    def _span(self, batch_size: float) -> tuple[float, float]:
        """Return the least and the most steps by the fitted curves within the intervals."""
        bends, criticals, steps, slack = self.plausible.T
        logs = steps + log_excess(np.exp(bends), criticals - math.log(batch_size))
        return math.exp((logs - slack).min()), math.exp((logs + slack).max())

    @property
    def fewest_steps(self) -> float | None:
        """Return Smin; None without an upper end of Bc, as all may scale perfectly."""
        return self.steps if math.isfinite(self.tradeoff.high) else None

    @property
    def fewest_examples(self) -> Interval:
        """Return Smin Bc, the examples that perfect scaling takes at any batch size.

        Without a lower end of Bc there is none of it, as all batch sizes may lie beyond Bc.
        """
        size = self.critical / _MUCH_LARGER
        low, high = self._span(size)
        value = size * self.at(size)
        low = size * low if self.tradeoff.low else 0.0
        return Interval(value, min(low, value), max(size * high, value))

    @property
    def tradeoff(self) -> Interval:
        """Return Bc."""
        return self.estimate(lambda _, critical: critical)

    def overhead(self, share: float, start: float) -> Interval | None:
        """Return the batch size whose steps exceed linear scaling from `start` by a share.

        It is B^p = (1 + o)^p (B0^p + Bc^p) - Bc^p.

        Args:
            share: o, for instance 0.2.
            start: B0.

        Returns:
            The estimate; None where a batch size of `start` already gains nothing.
        """

        def at(bend: float, critical: float) -> float:
            log_examples = log_excess(bend, math.log(start / critical))
            return critical * _size_at(bend, math.log1p(share) + log_examples)

        gained_to = self.critical * _ends(self._bend, share)[1]
        return None if start > gained_to else self.estimate(at)

    def speedup(self, share: float) -> Interval:
        """Return the batch size whose speed-up is 1 / (1 + share) of that of perfect scaling."""
        return self.estimate(lambda bend, critical: critical * _size_at(bend, math.log1p(share)))

    def perfect_to(self, share: float) -> Interval:
        """Return the batch size up to which examples exceed the fewest by at most a share.

        It is Bc at most: a curve with a sharp bend has both regimes within the share there.
        """
        return self.estimate(lambda bend, critical: critical * _ends(bend, share)[0])

    def useful_to(self, share: float) -> Interval:
        """Return the batch size, Bc or larger, from which steps exceed the fewest by a share."""
        return self.estimate(lambda bend, critical: critical * _ends(bend, share)[1])

    def estimate(self, quantity: Callable[[float, float], float]) -> Interval:
        """Return a batch size that rises with Bc, with what is known of it.

        Without measurements on both sides of it, its value depends on the form of the curve alone,
        and is not reported.

        Args:
            quantity: computes it from the bend and Bc.
        """
        value = quantity(self._bend, self.critical)
        low = min(quantity(each.bend, each.low) if each.low else 0.0 for each in self.allowed)
        high = max(
            quantity(each.bend, each.high) if math.isfinite(each.high) else math.inf
            for each in self.allowed
        )
        # Bends lie on a grid and the value between its points.
        low, high = min(low, value), max(high, value)
        least, most = self.reached
        low = low if least < value else 0.0
        high = high if value < most else math.inf
        return Interval(value if low > 0 and math.isfinite(high) else None, low, high)


def fewest_reached(form: Form) -> int:
    """Return how many batch sizes have to reach the goal: one more than a curve's parameters."""
    return _PARAMETERS[form] + 1


def fit_curve(steps: Sequence[StepsAt], *, level: float, form: Form = "bent") -> FittedCurve | None:
    """Fit a curve by interval likelihood; None where too few batch sizes reached the goal.

    The noise of the logarithm of steps is assumed normal, with one unknown standard deviation that
    also covers the misfit of the curve. Where replicates tell the standard errors of steps, it is
    in proportion to these, and at least as large. Intervals are those of the profile likelihood,
    with the F distribution's correction for few batch sizes (`profile_bound`).

    Args:
        steps: at least one.
        level: of the intervals, for instance 0.95.
        form: the curves to choose from.
    """
    likelihood = _Likelihood(steps)
    reached = likelihood.reached
    if reached.size < fewest_reached(form):
        return None
    coarse = likelihood.over(np.log(_BENDS[form]), likelihood.grid)
    bend, critical = likelihood.highest(coarse)
    best = likelihood.over(np.array([bend]), np.array([critical]))
    most = max(best.values.max(), coarse.values.max())
    floor = float(most - profile_bound(reached.size, _PARAMETERS[form], level))
    found = likelihood.resolved(coarse, (bend, critical), floor)
    bends, grid, values = found.bends, found.grid, found.values
    # About its maximum the likelihood is that of a normal mean.
    within = np.maximum(values.ravel() - floor, 0)
    slack = found.fits.scale * np.sqrt(2 * within / likelihood.precision)
    every = [*map(np.ravel, np.meshgrid(bends, grid, indexing="ij"))]
    every += [found.fits.coefficients[:, 0], slack]
    ends = closed_interval(bends, values.max(axis=1), floor)
    return FittedCurve(
        steps=math.exp(best.fits.coefficients[0, 0]),
        critical=math.exp(critical),
        bend=Interval(math.exp(bend), *map(math.exp, ends)),
        allowed=[
            Allowed(math.exp(each), *map(math.exp, closed_interval(grid, profile, floor)))
            for each, profile in zip(bends, values, strict=True)
            if profile.max() >= floor
        ],
        plausible=np.stack(every, axis=1)[values.ravel() >= floor],
        scale=float(best.fits.scale[0]),
        form=form,
        reached=(float(reached.min()), float(reached.max())),
    )


@dataclass(frozen=True)
class _Surface:
    """The penalised likelihood over a grid.

    Attributes:
        bends: logarithms of p, ascending.
        grid: logarithms of Bc, ascending.
        values: [bends, grid] the penalised log likelihood.
        fits: those of all combinations, the bend's index first.
    """

    bends: Floats
    grid: Floats
    values: Floats
    fits: Fits


class _Likelihood:
    """The penalised likelihood of steps to result, by the logarithms of p and of Bc."""

    def __init__(self, steps: Sequence[StepsAt]) -> None:
        # Where neither bound is known, or the untrained network is enough, steps tell nothing.
        known = [each for each in steps if each.lower > 0 or 0 < each.upper < math.inf]
        sizes = np.array([each.batch_size for each in known], float)
        with np.errstate(divide="ignore"):
            self._lower = np.log(np.array([each.lower for each in known], float))
            self._upper = np.log(np.array([each.upper for each in known], float))
        # Standard deviations of these in units of the least one.
        errors = np.array([each.error for each in known], float)
        self._spread = np.maximum(errors / LEAST_SCALE, 1)
        self._log_sizes = np.log(sizes)
        is_reached = np.isfinite(self._upper)
        self.reached = sizes[is_reached]
        self.precision = float((1 / self._spread[is_reached] ** 2).sum())

    @property
    def grid(self) -> Floats:
        """Return the logarithms of Bc at which to compute profiles."""
        least, most = self._log_sizes.min() - _NEAR, self._log_sizes.max() + _NEAR
        fine = np.linspace(least, most, math.ceil((most - least) * _POINTS_A_FACTOR) + 1)
        far = np.linspace(0, _FAR, _FAR_POINTS)[1:]
        return np.concatenate([(least - far)[::-1], fine, most + far])

    def fits(self, log_bends: Floats, log_criticals: Floats) -> Fits:
        """Return the fits at pairs of both, [pairs] each."""
        log_ratios = log_criticals[:, None] - self._log_sizes
        offsets = log_excess(np.exp(log_bends[:, None]), log_ratios)
        lower, upper, offsets = (
            each / self._spread for each in (self._lower, self._upper, offsets)
        )
        terms = np.broadcast_to(1 / self._spread, offsets.shape)[..., None]
        return fit_intervals(lower, upper, offsets, terms, LEAST_SCALE)

    def over(self, bends: Floats, grid: Floats) -> _Surface:
        """Return the penalised likelihood at all combinations of the logarithms of p and Bc."""
        log_bends, log_criticals = np.meshgrid(bends, grid, indexing="ij")
        fits = self.fits(log_bends.ravel(), log_criticals.ravel())
        found = fits.log_likelihood.reshape(log_bends.shape)
        return _Surface(bends, grid, found - (log_bends / _LOG_BEND_DEVIATION) ** 2 / 2, fits)

    def resolved(self, surface: _Surface, best: tuple[float, float], floor: float) -> _Surface:
        """Return a surface whose grid is fine enough for the ends of intervals.

        Where few points reach the floor, those of the grid are evenly spaced over these and the
        best one, and a little further to both sides.
        """
        outer = surface
        for _ in range(_ZOOMS):
            above = surface.values - floor
            bends = _finer(outer.bends, surface.bends, above.max(axis=1), best[0])
            grid = _finer(outer.grid, surface.grid, above.max(axis=0), best[1])
            if bends is surface.bends and grid is surface.grid:
                break
            surface = self.over(bends, grid)
        return surface

    def highest(self, surface: _Surface) -> tuple[float, float]:
        """Return the logarithms of p and Bc where the penalised likelihood is highest.

        Grids of half the spacing follow one another about the best point, so that the result moves
        continuously with the measurements.
        """
        bends, grid, values = surface.bends, surface.grid, surface.values
        row = int(values.max(axis=1).argmax())
        first, last = top(values[row])
        bend, critical = float(bends[row]), float(grid[first] + grid[last]) / 2
        if first < last or not 0 < first < len(grid) - 1:
            return bend, critical
        spacing = 1 / _POINTS_A_FACTOR
        width = float(bends[1] - bends[0]) if len(bends) > 1 else 0.0
        around = np.arange(-2.0, 3.0)
        for _ in range(_ZOOMS):
            spacing, width = spacing / 2, width / 2
            near = np.unique(bend + width * around)
            near = near[(near >= bends[0]) & (near <= bends[-1])]
            beside = critical + spacing * around
            values = self.over(near, beside).values
            row, column = divmod(int(values.argmax()), values.shape[1])
            bend, critical = float(near[row]), float(beside[column])
        if len(near) == len(around):
            bend = peak(near, values[:, column])
        return bend, peak(beside, values[row])


def _finer(outer: Floats, points: Floats, above: Floats, best: float) -> Floats:
    """Return points of which many are not below a floor, and none is where they end within `outer`.

    Args:
        outer: the first points, beyond whose ends no other lies.
        points: ascending; returned themselves where they are fine enough.
        above: [points] how far the profile is above the floor.
        best: where the profile is highest.
    """
    inside = points[above >= 0]
    least, most = min([*inside, best]), max([*inside, best])
    below, beyond = points[points < least], points[points > most]
    is_cut = (not below.size and points[0] > outer[0]) or (
        not beyond.size and points[-1] < outer[-1]
    )
    if len(points) == 1 or (inside.size >= _RESOLVED and not is_cut):
        return points
    step = float(points[1] - points[0])
    first = max(below[-1] if below.size else points[0] - 4 * step, outer[0])
    last = min(beyond[0] if beyond.size else points[-1] + 4 * step, outer[-1])
    return np.asarray(np.linspace(first, last, _FINE), float)


def log_excess(bend: Any, log_ratio: Any) -> Any:
    """Return log(S(B) / Smin) from p and log(Bc / B); by log(B / Bc) it is that of examples."""
    return np.logaddexp(0, bend * log_ratio) / bend


def _size_at(bend: float, log_excess: float) -> float:
    """Return B / Bc where examples are exp(`log_excess`) times the fewest."""
    power = bend * log_excess
    return math.exp((power + math.log(-math.expm1(-power))) / bend)


def _ends(bend: float, share: float) -> tuple[float, float]:
    """Return where perfect scaling and where gains end, in units of Bc."""
    end = min(_size_at(bend, math.log1p(share)), 1.0)
    return end, 1 / end
