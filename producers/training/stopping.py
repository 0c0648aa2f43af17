"""Goals, and the rule that stops trials that advance together once some are past theirs."""

import bisect
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from producers.workloads.definition import Workload


@dataclass(frozen=True)
class Goal:
    """The value of a metric that a study is searched for.

    Attributes:
        metric: a column of the validation split, such as val_classification_error.
        value: the goal.
        maximize: whether higher values are better.
        inclusive: whether a value equal to the goal has reached it.
    """

    metric: str
    value: float
    maximize: bool = False
    inclusive: bool = False

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Return the goal of a workload; nothing is past one that it does not have."""
        value = math.nan if workload.goal is None else workload.goal
        return cls(workload.metric, value, workload.maximize, workload.goal_inclusive)

    def reached(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool]:
        """Return whether each value is past the goal."""
        if self.inclusive:
            return values >= self.value if self.maximize else values <= self.value
        return values > self.value if self.maximize else values < self.value

    def near(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool]:
        """Return whether each value is close enough to the goal to be watched closely.

        An error under twice the goal, an average precision over half of it. Cross entropies start
        within a few times their goals: there a quarter more than the goal is close.
        """
        if self.maximize:
            return values > self.value / 2
        return values < self.value * (1.25 if "cross_entropy" in self.metric else 2.0)

    def cost(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return costs, lower for better values; a NaN has infinite cost."""
        signed = -values if self.maximize else values
        return np.where(np.isnan(signed), np.inf, signed)


def falling(points: Iterable[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Return the steps and costs whose cost is lower than that of every step before, in order."""
    found: list[tuple[int, float]] = []
    for step, cost in sorted(points):
        if cost < (found[-1][1] if found else np.inf):
            found.append((step, cost))
    return tuple(found)


class FirstToGoal:
    """Stops trials that advance together once the first, or the first few, are past the goal.

    A trial that others have left behind is dropped before: one whose best value after x steps is
    worse than a leader's after x / dropping steps. Leaders are the trials that have come near the
    goal and are still trained, and those of earlier rounds that had come near it: others may lead
    for some steps with a rate at which they then diverge.

    Args:
        goal: of the study.
        trials: how many there are.
        everyone: the evaluations, by their steps, that every trial takes part in; at others those
            near the goal alone do.
        reaching: how many trials have to be past the goal.
        dropping: how many times as fast a leader was; None to drop nobody.
        leader: the steps and best costs of the leaders of earlier rounds, both in order.
    """

    def __init__(
        self,
        goal: Goal,
        trials: int,
        *,
        everyone: Collection[int],
        reaching: int = 1,
        dropping: float | None = None,
        leader: Sequence[tuple[int, float]] = (),
    ) -> None:
        self._goal = goal
        self.metric = goal.metric
        self._everyone = frozenset(everyone)
        self._reaching = min(reaching, trials)
        self._dropping = dropping
        self._earlier = tuple(leader)
        self._best = np.full(trials, np.inf)
        self._near = np.zeros(trials, bool)
        self._past = np.zeros(trials, bool)
        # The steps that were observed but for the first, and the best costs of all trials by then.
        self._steps: list[int] = []
        self._history: list[npt.NDArray[np.float64]] = []

    @property
    def ended(self) -> bool:
        """Return whether all trials stop now."""
        return int(self._past.sum()) >= self._reaching

    def due(self, step: int) -> npt.NDArray[np.bool]:
        """Return which trials are evaluated after a step, bool [trials]."""
        return np.ones_like(self._near) if step in self._everyone else self._near.copy()

    def observe(
        self, step: int, trials: npt.NDArray[np.int64], values: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.int64]:
        """Record the metric of the trials evaluated after a step, int and float64 [n].

        They are all that are due and still trained. Steps never decrease from call to call. Returns
        the trials that are dropped.
        """
        costs = self._goal.cost(values)
        self._best[trials] = np.minimum(self._best[trials], costs)
        near = np.zeros_like(self._near)
        near[trials] = self._near[trials] | self._goal.near(values)
        self._near = near
        self._past[trials] |= self._goal.reached(values)
        if self._dropping is None:
            return np.empty(0, np.int64)
        if step > 0:
            self._steps.append(step)
            self._history.append(self._best.copy())
        return trials[self._best[trials] > self._leaders_best(step / self._dropping)]

    def _leaders_best(self, step: float) -> float:
        """Return the leaders' best cost up to a step; infinite if only step 0 was evaluated."""
        best = min((cost for at, cost in self._earlier if 0 < at <= step), default=np.inf)
        before = bisect.bisect_right(self._steps, step)
        if before:
            best = min(best, self._history[before - 1][self._near].min(initial=np.inf))
        return best
