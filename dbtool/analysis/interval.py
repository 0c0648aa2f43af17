"""A number with the interval that it lies in."""

from __future__ import annotations

import math
from dataclasses import dataclass


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

    def columns(self, value: str, low: str, high: str) -> dict[str, float | None]:
        """Return the columns of these names for a row; missing ends are null."""
        return {value: self.value, low: self.low or None, high: finite(self.high)}


NOTHING_KNOWN = Interval(None, 0.0, math.inf)


def finite(value: float) -> float | None:
    """Return the value, or None where it is not finite."""
    return value if math.isfinite(value) else None
