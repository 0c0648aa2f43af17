"""The table of `dbtool produce --watch`: a row for each study of a run."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from producers.training.stopping import Goal, falling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from producers.plan import StudyPlan
    from producers.training.block_record import BlockRecord
    from producers.workloads.definition import Workload

_HEADING = "batch size  trials  dropped  diverged      best  past goal    steps  over steps"
_MOST_ROWS = 16
_HEIGHTS = "▁▂▃▄▅▆▇█"
_WIDTH = 10


@dataclass(frozen=True)
class Standing:
    """How trials of a study stand.

    Attributes:
        counts: how many `trials` there are, of each status, and `past` the goal at any time.
        steps: the fewest steps that one took to the goal; infinite where none got there.
        evaluated: the step after the last evaluation.
        best: each step after which the best cost of all trials fell, and that cost, in order.
    """

    counts: Counter[str] = field(default_factory=Counter)
    steps: float = math.inf
    evaluated: int = 0
    best: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(cls, record: BlockRecord, workload: Workload) -> Self:
        """How the trials of a block stand."""
        # Nothing is past a goal that is not a number.
        value = math.nan if workload.goal is None else workload.goal
        goal = Goal(workload.metric, value, workload.maximize, workload.goal_inclusive)
        trials, steps, values = record.values(goal.metric)
        reached = goal.reached(values)
        counts = Counter(trials=record.trials, past=len(np.unique(trials[reached])))
        counts.update(map(record.status, range(record.trials)))
        soonest = min(steps[reached].tolist(), default=math.inf)
        best = falling(zip(steps.tolist(), goal.cost(values).tolist(), strict=True))
        return cls(counts, soonest, int(steps.max(initial=0)), best)

    def __add__(self, other: Standing) -> Standing:
        """How the trials of both stand."""
        return Standing(
            self.counts + other.counts,
            min(self.steps, other.steps),
            max(self.evaluated, other.evaluated),
            falling([*self.best, *other.best]),
        )

    def row(self, study: StudyPlan) -> str:
        """Return the row of a study, of at most 79 columns."""
        sign, counts = -1 if study.workload.maximize else 1, self.counts
        best = f"{sign * self.best[-1][1]:.3g}" if self.best else "-"
        steps = f"{self.steps:,.0f}" if counts["past"] else "-"
        return (
            f"{study.batch_size:>10,}  {counts['trials']:>6,}  {counts['INCOMPLETE']:>7,}  "
            f"{counts['INFEASIBLE']:>8,}  {best:>8}  {counts['past']:>9,}  {steps:>7}  "
            f"{self._curve(sign) if self.best else ''}"
        )

    def _curve(self, sign: int) -> str:
        """Return the best value so far over the steps, on a logarithmic scale where it can be."""
        steps, costs = np.array(self.best).T
        at = np.searchsorted(steps, np.linspace(0, self.evaluated, _WIDTH), "right") - 1
        values = sign * costs[np.maximum(at, 0)]
        values = np.log(values) if (values > 0).all() else values
        scaled = (values - values.min()) / (np.ptp(values) or 1) * (len(_HEIGHTS) - 1)
        return "".join(_HEIGHTS[height] for height in scaled.round().astype(int))


class Watch:
    """The rows of the studies that a run trains.

    Args:
        on_line: called with each line once it is final: of a workload, and of a study at its end.
    """

    def __init__(self, on_line: Callable[[str], None] = lambda _: None) -> None:
        self._on_line = on_line
        self._ended: list[str] = []
        self._study: StudyPlan | None = None
        self._before = self._now = Standing()

    def lines(self) -> list[str]:
        """Return a heading, and the last of the rows."""
        rows = [*self._ended, *self._row()][-_MOST_ROWS:]
        return [_HEADING, *rows] if rows else []

    def on_block(self, study: StudyPlan, trial_ids: Sequence[int]) -> None:
        """Begin a block of trials, and the row of its study unless that is the last one."""
        if self._study is None or self._study.key != study.key:
            workload = study.workload
            is_other = self._study is None or self._study.workload.name != workload.name
            self.end()
            if is_other:
                self._add(f"{workload.name}: {workload.stated_goal}")
            self._study, self._before, self._now = study, Standing(), Standing()
        self._before += self._now
        self._now = Standing(Counter(trials=len(trial_ids)))

    def on_record(self, record: BlockRecord) -> None:
        """Show what the block has measured so far."""
        if self._study is not None:
            self._now = Standing.of(record, self._study.workload)

    def end(self) -> None:
        """End the row of the study, which changes no more."""
        for row in self._row():
            self._add(row)
        self._study = None

    def _row(self) -> list[str]:
        # Read once: the bar asks from a thread of its own.
        study = self._study
        return [] if study is None else [(self._before + self._now).row(study)]

    def _add(self, line: str) -> None:
        if not self._ended:
            self._on_line(_HEADING)
        self._ended.append(line)
        self._on_line(line)
