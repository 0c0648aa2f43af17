"""What an analysis found of a curve: a fitted curve and batch sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class FoundSize:
    """A batch size, with what is known of it.

    Attributes:
        name: what it is, in a word or two.
        is_knee: whether the curve bends there.
        value: None where only a bound is known.
        low: lower end of its interval; 0 where there is none.
        high: upper end; inf where there is none.
    """

    name: str
    is_knee: bool
    value: float | None
    low: float
    high: float


@dataclass(frozen=True)
class Findings:
    """What was found of the one curve of a panel.

    Attributes:
        curve: batch sizes and steps, as fitted; empty where no curve was.
        steps: what it was fitted to: batch sizes, and between which steps the result lies; 0 and
            inf where there is no bound.
        sizes: from the upper row to the lower.
    """

    curve: Sequence[tuple[float, float]]
    steps: Sequence[tuple[float, float, float]]
    sizes: Sequence[FoundSize]

    def columns(self) -> dict[str, float | None]:
        """The batch sizes and their intervals for a table of points; None for what is unknown."""
        found: dict[str, float | None] = {}
        for size in self.sizes:
            stem = size.name.replace(" ", "_")
            low, high = size.low or None, size.high if math.isfinite(size.high) else None
            found |= {stem: size.value, f"{stem}_low": low, f"{stem}_high": high}
        return found
