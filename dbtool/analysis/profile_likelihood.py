"""Profile likelihoods: how far below the maximum an interval reaches, where it ends, the peak."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import fdtri

if TYPE_CHECKING:
    from dbtool.analysis.censored import Floats

MISSED = 1e-6
"""Log likelihoods this near to each other count as equal: fits end a little earlier or later."""


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
