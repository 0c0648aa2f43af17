"""A power law of critical batch sizes across workloads, such as one in the number of parameters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from dbtool.analysis.interval import Interval

FEWEST_POINTS = 3


@dataclass(frozen=True)
class PowerLaw:
    """Batch sizes are factor times x^exponent.

    Attributes:
        exponent: with its interval.
        factor: at x = 1.
        points: how many it was fitted to.
    """

    exponent: Interval
    factor: float
    points: int


def power_law(points: Sequence[tuple[float, Interval]], *, level: float) -> PowerLaw | None:
    """Fit a line to logarithms by least squares; None for fewer than three points.

    The interval of the exponent is the wider of two: the one that the points' own intervals give,
    and Student's, from the scatter about the line, of which few points tell little.

    Args:
        points: x above 0, two different ones at least, and a batch size with its interval, closed.
        level: of all intervals.
    """
    if len(points) < FEWEST_POINTS or len({x for x, _ in points}) < 2:
        return None
    x = np.log([each for each, _ in points])
    known = [found for _, found in points]
    y = np.log([found.value or math.nan for found in known])
    normal = float(ndtri((1 + level) / 2))
    own = np.array([math.log(found.high / found.low) / (2 * normal) for found in known]) ** 2
    slope, intercept = np.polyfit(x, y, 1)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    freedom = len(points) - 2
    residual = float(((y - slope * x - intercept) ** 2).sum()) / freedom
    student = float(stdtrit(freedom, (1 + level) / 2))
    of_points = normal**2 * (weights**2 * own).sum()
    half = math.sqrt(max(of_points, student**2 * residual * (weights**2).sum()))
    exponent = Interval(float(slope), slope - half, slope + half)
    return PowerLaw(exponent, math.exp(intercept), len(points))
