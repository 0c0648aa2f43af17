"""Steps at which a trial is observed: close together at first, further apart later."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Spacing:
    """How far apart the steps lie.

    Attributes:
        per_doubling: how many there are while the steps double.
        examples_between: fewest training examples from one to the next.
    """

    per_doubling: int
    examples_between: int = 1

    def after(self, step: int, batch_size: int) -> int:
        """Return the step that follows one of the steps."""
        fewest_steps = max(1, math.ceil(self.examples_between / batch_size))
        return max(step + fewest_steps, round(step * 2 ** (1 / self.per_doubling)))

    def steps(self, last: int, batch_size: int) -> list[int]:
        """Return the steps from 0 to `last`, both included."""
        found = []
        step = 0
        while step < last:
            found.append(step)
            step = self.after(step, batch_size)
        return [*found, last]
