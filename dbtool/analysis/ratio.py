"""The ratio of two batch sizes that were estimated apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dbtool.analysis.interval import NOTHING_KNOWN, Interval

if TYPE_CHECKING:
    from dbtool.analysis.critical import Estimate


def ratio(one: Estimate | None, other: Estimate | None) -> Interval:
    """Return how many times the other batch size the one is.

    On a log scale the distances of the ends from the values add up in squares (Zou and Donner
    2008, Statistics in Medicine 27, p. 1693), so that an interval may be longer on one side. Where
    a value is not identified, the interval goes from the least ratio of any two to the largest.

    Args:
        one: the numerator; None where nothing is known of it.
        other: the denominator, likewise.
    """
    if one is None or other is None:
        return NOTHING_KNOWN
    if one.value is None or other.value is None:
        return Interval(None, one.low / other.high, _divided(one.high, other.low))
    value = one.value / other.value
    below = math.hypot(math.log(one.value / one.low), math.log(other.high / other.value))
    above = math.hypot(math.log(one.high / one.value), math.log(other.value / other.low))
    return Interval(value, value * math.exp(-below), value * math.exp(above))


def _divided(one: float, other: float) -> float:
    return one / other if other else math.inf
