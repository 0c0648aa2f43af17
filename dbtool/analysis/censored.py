"""Regression of interval-censored values by maximum likelihood, and intervals by its profile."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, log_ndtr

Floats = NDArray[np.float64]

_ITERATIONS = 60
_HALVINGS = 12
_CONVERGED = 1e-9
_LOG_ROOT_2_PI = 0.5 * np.log(2 * np.pi)
_ROUNDING = 1e-12
# Keeps Newton steps finite where the likelihood is flat, as with one observation.
_RIDGE = 1e-9
MISSED = 1e-6
"""Log likelihoods this near to each other count as equal: fits end a little earlier or later."""


@dataclass(frozen=True)
class Fits:
    """Regressions fitted to the same observations.

    Attributes:
        log_likelihood: [fits] the maximum of each.
        coefficients: [fits, terms].
        scale: [fits] the standard deviation about the line.
    """

    log_likelihood: Floats
    coefficients: Floats
    scale: Floats


def fit_intervals(
    lower: Floats, upper: Floats, offsets: Floats, terms: Floats, least_scale: float
) -> Fits:
    """Fit value = offset + terms @ coefficients + scale * normal noise, many fits at a time.

    The likelihood is that of Tobin's regression with an interval for each observation. In the
    parameters 1/scale and coefficients/scale it is concave (Olsen 1978, Econometrica 46), so
    Newton's method finds its one maximum.

    Args:
        lower: [observations] the least that each value may be; -inf where that is not known.
        upper: [observations] the most; equal to `lower` where the value itself is known, inf where
            there is no bound.
        offsets: [fits, observations].
        terms: [fits, observations, terms].
        least_scale: the least standard deviation, above 0: the known variation of the values.
            Without it, a line through all intervals would make them all certain.
    """
    problem = _Problem(lower - offsets, upper - offsets, terms, lower == upper)
    start = problem.start(least_scale)
    return problem.solve(start, 1 / least_scale)


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


def _newton(curvature: Floats, slope: Floats) -> Floats:
    diagonal = np.einsum("fpp->fp", curvature)
    diagonal += _RIDGE * (1 + diagonal)
    return np.asarray(np.linalg.solve(curvature, slope[..., None])[..., 0], float)


class _Problem:
    def __init__(
        self, lower: Floats, upper: Floats, terms: Floats, is_point: NDArray[np.bool_]
    ) -> None:
        self._lower, self._upper, self._terms = lower, upper, terms
        self._is_point = np.broadcast_to(is_point, lower.shape)
        # Infinite bounds have no weight; any number may stand for them.
        self._has_lower, self._has_upper = np.isfinite(lower), np.isfinite(upper)
        self._d_lower = np.concatenate([self._lower[..., None], -terms], axis=2)
        self._d_lower[~self._has_lower] = 0
        self._d_upper = np.concatenate([self._upper[..., None], -terms], axis=2)
        self._d_upper[~self._has_upper] = 0

    def _of(self, fits: NDArray[np.bool_]) -> "_Problem":
        """Return the problem of some of the fits."""
        return _Problem(
            self._lower[fits], self._upper[fits], self._terms[fits], self._is_point[fits]
        )

    def start(self, least_scale: float) -> Floats:
        """Return the least squares fit to the intervals' middles: [fits, 1 + terms] parameters."""
        low = np.where(self._has_lower, self._lower, self._upper)
        high = np.where(self._has_upper, self._upper, self._lower)
        middle = (low + high) / 2
        gram = np.einsum("fop,foq->fpq", self._terms, self._terms)
        gram += _RIDGE * np.eye(self._terms.shape[2])
        right = np.einsum("fop,fo->fp", self._terms, middle)
        coefficients = np.linalg.solve(gram, right[..., None])[..., 0]
        residual = middle - np.einsum("fop,fp->fo", self._terms, coefficients)
        scale = np.maximum(np.sqrt((residual**2).mean(axis=1)), 2 * least_scale)
        return np.concatenate([1 / scale[:, None], coefficients / scale[:, None]], axis=1)

    def solve(self, parameters: Floats, most: float) -> Fits:
        """Run Newton's method with halved steps; 1/scale stays at or below `most`."""
        problem, rest = self, np.arange(len(parameters))
        value, gradient, hessian = self._derivatives(parameters)
        best, highest = parameters.copy(), value.copy()
        for _ in range(_ITERATIONS):
            step = problem._step(parameters, gradient, hessian, most)
            was_below = parameters[:, 0] < most
            before, parameters = value, problem._moved(parameters, value, step, most)
            value, gradient, hessian = problem._derivatives(parameters)
            best[rest], highest[rest] = parameters, value
            # A step that reached the maximum was cut, so a small gain tells nothing.
            active = (value - before > _CONVERGED) | (was_below & (parameters[:, 0] == most))
            if not active.any():
                break
            if not active.all():
                problem = problem._of(active)
                rest, parameters, value = rest[active], parameters[active], value[active]
                gradient, hessian = gradient[active], hessian[active]
        scale = 1 / best[:, 0]
        return Fits(highest, best[:, 1:] * scale[:, None], scale)

    def _moved(self, parameters: Floats, value: Floats, step: Floats, most: float) -> Floats:
        """Return the parameters after each step, halved until the likelihood does not fall."""
        moved: Floats = parameters.copy()
        problem, rest, length = self, np.arange(len(parameters)), 1.0
        for _ in range(_HALVINGS):
            trial = parameters[rest] + length * step[rest]
            trial[trial[:, 0] > most * (1 - _ROUNDING), 0] = most
            better = problem._value(trial) >= value[rest]
            moved[rest[better]] = trial[better]
            if better.all():
                break
            if better.any():
                problem, rest = problem._of(~better), rest[~better]
            length /= 2
        return moved

    def _step(self, parameters: Floats, gradient: Floats, hessian: Floats, most: float) -> Floats:
        """Return Newton's step, along which the likelihood rises; cut to the range of 1/scale.

        Where 1/scale is at its maximum and the step would raise it, only the other parameters move.
        If 1/scale were clipped and the others not, the step might not lead upwards, however short.
        """
        step = _newton(-hessian, gradient)
        held = (parameters[:, 0] == most) & (step[:, 0] > 0)
        curvature, slope = -hessian[held], gradient[held]
        curvature[:, 0, :] = curvature[:, :, 0] = slope[:, 0] = 0
        curvature[:, 0, 0] = 1
        step[held] = _newton(curvature, slope)
        inverse, along = parameters[:, 0], step[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(along > 0, (most - inverse) / along, 0.9 * inverse / -along)
        return np.asarray(step * np.where(along == 0, 1, np.minimum(room, 1))[:, None], float)

    def _scores(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the standardised bounds and the logarithm of the probability between them."""
        low = np.einsum("fop,fp->fo", self._d_lower, parameters)
        high = np.einsum("fop,fp->fo", self._d_upper, parameters)
        # Two bounds far out on the right hold the same mass as their mirror images on the left.
        flip = self._has_lower & (low > 0)
        first = np.where(flip, -low, np.where(self._has_upper, high, np.inf))
        second = np.where(
            flip,
            np.where(self._has_upper, -high, -np.inf),
            np.where(self._has_lower, low, -np.inf),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            most, least = log_ndtr(first), log_ndtr(second)
            between = most + np.log1p(-np.exp(np.minimum(least - most, 0)))
        point = np.log(parameters[:, :1]) - low**2 / 2 - _LOG_ROOT_2_PI
        return low, high, np.where(self._is_point, point, between)

    def _value(self, parameters: Floats) -> Floats:
        total = self._scores(parameters)[2].sum(axis=1)
        return np.where(np.isfinite(total), total, -np.inf)

    def _derivatives(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        low, high, logs = self._scores(parameters)
        inside = ~self._is_point

        def ratio(score: Floats, has_bound: NDArray[np.bool_]) -> Floats:
            exponent = -(score**2) / 2 - _LOG_ROOT_2_PI - np.where(np.isfinite(logs), logs, 0)
            with np.errstate(over="ignore"):
                return np.where(inside & has_bound, np.exp(np.minimum(exponent, 600)), 0)

        g_high, g_low = ratio(high, self._has_upper), -ratio(low, self._has_lower)
        h_high = -high * g_high - g_high**2
        h_low = -low * g_low - g_low**2
        h_both = -g_high * g_low
        # For a point: log(1/scale) - score^2 / 2.
        g_high = np.where(inside, g_high, -low)
        h_high = np.where(inside, h_high, -1.0)
        d_high, d_low = self._d_upper, self._d_lower
        gradient = np.einsum("fo,fop->fp", g_high, d_high) + np.einsum("fo,fop->fp", g_low, d_low)
        # np.einsum takes five times as long for products of three arrays.
        hessian = (h_high[..., None] * d_high).swapaxes(1, 2) @ d_high
        hessian += (h_low[..., None] * d_low).swapaxes(1, 2) @ d_low
        cross = (h_both[..., None] * d_high).swapaxes(1, 2) @ d_low
        hessian += cross + np.swapaxes(cross, 1, 2)
        points = self._is_point.sum(axis=1)
        gradient[:, 0] += points / parameters[:, 0]
        hessian[:, 0, 0] -= points / parameters[:, 0] ** 2
        value = np.where(np.isfinite(logs), logs, -1e300).sum(axis=1)
        return value, gradient, hessian
