"""The answers that drawn values hold, by the authors' rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .curves import ONE
from .truth import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .curves import Ints


@dataclass(frozen=True)
class CountedTrials:
    """The values of the goal's metric in the trials that count.

    Attributes:
        trial_ids: ascending.
        steps: (evaluations,), ascending.
        values: (trials, evaluations) in millionths.
        there: (trials, evaluations), whether the trial lasted so long.
        goal: in millionths.
        maximize: whether higher values are better.
    """

    trial_ids: list[int]
    steps: Ints
    values: NDArray[np.int32]
    there: NDArray[np.bool_]
    goal: int
    maximize: bool

    def steps_to_result(self) -> Result | None:
        """The first value strictly past the goal, in the first such trial; None: there is none."""
        past = self.values > self.goal if self.maximize else self.values < self.goal
        return self._first(past & self.there)

    def best(self) -> Result | None:
        """The best value, at the first step and in the first trial that has it."""
        if not self.trial_ids:
            return None
        sign = -1 if self.maximize else 1
        ranked = np.where(self.there, sign * self.values, 10 * ONE)
        return self._first(ranked == ranked.min())

    def _first(self, chosen: NDArray[np.bool_]) -> Result | None:
        """The chosen value of the smallest step, in the trial of the smallest id."""
        by_step = np.argwhere(chosen.T)
        if not len(by_step):
            return None
        step, trial = by_step[0].tolist()
        value = int(self.values[trial, step]) / ONE
        return Result(int(self.steps[step]), self.trial_ids[trial], value)
