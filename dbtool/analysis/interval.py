"""A number with the interval that it lies in, and ratios of two that were estimated apart."""

import math
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["identified", "lower_bound", "upper_bound", "not_identified"]


@dataclass(frozen=True)
class Interval:
    """A quantity, with what is known of it.

    Attributes:
        value: the likeliest value; None where it is not reported.
        low: lower end of the interval; 0 where it has none.
        high: upper end; inf where it has none.
    """

    value: float | None
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """Return whether there is a value or, where there is none, which end alone is known."""
        if self.value is not None:
            return "identified"
        if self.low > 0:
            return "lower_bound"
        return "upper_bound" if math.isfinite(self.high) else "not_identified"

    def columns(self, value: str, low: str, high: str) -> dict[str, float | None]:
        """Return the columns of these names for a row; missing ends are null."""
        return {value: self.value, low: self.low or None, high: finite(self.high)}

    def over(self, other: "Interval") -> "Interval":
        """Return the ratio to another one, with the widest ends that both intervals allow."""
        value = self.value / other.value if self.value and other.value else None
        return Interval(
            value, self.low / other.high, self.high / other.low if other.low else math.inf
        )

    def times(self, factor: float) -> "Interval":
        """Return the quantity times a positive number."""
        value = None if self.value is None else self.value * factor
        return Interval(value, self.low * factor, self.high * factor)

    def taken_from_1(self) -> "Interval":
        """Return 1 less the quantity, not below 0."""
        value = None if self.value is None else max(1 - self.value, 0.0)
        return Interval(value, max(1 - self.high, 0.0), max(1 - self.low, 0.0))


NOTHING_KNOWN = Interval(None, 0.0, math.inf)


def finite(value: float) -> float | None:
    """Return the value, or None where it is not finite."""
    return value if math.isfinite(value) else None


def ratio(one: Interval | None, other: Interval | None) -> Interval:
    """Return how many times the other batch size the one is.

    On a log scale the distances of the ends from the values add up in squares (Zou and Donner
    2008, Statistics in Medicine 27, p. 1693), so that an interval may be longer on one side. Where
    a value is not identified, the interval goes from the least ratio of any two to the largest.

    Args:
        one: the numerator; None where nothing is known of it.
        other: the denominator, likewise.
    """
    one, other = one or NOTHING_KNOWN, other or NOTHING_KNOWN
    if one.value is None or other.value is None:
        return one.over(other)
    value = one.value / other.value
    below = math.hypot(math.log(one.value / one.low), math.log(other.high / other.value))
    above = math.hypot(math.log(one.high / one.value), math.log(other.value / other.low))
    return Interval(value, value * math.exp(-below), value * math.exp(above))
