"""How the trials of a study stand, those in training and those that a folder holds."""

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from dbtool.core.contract import study_path
from dbtool.core.errors import counted, joined
from dbtool.core.shards import read_footer
from dbtool.core.walk import files_matching
from producers.plan import StudyPlan
from producers.search import ranges
from producers.sweep.outcome import best_of, values_of
from producers.training.block_record import BlockRecord
from producers.training.stopping import Goal, falling
from producers.workloads.definition import Workload

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
        goal = Goal.of(workload)
        trials, steps, values = record.values(goal.metric)
        reached = goal.reached(values)
        counts = Counter(trials=record.trials, past=len(np.unique(trials[reached])))
        counts.update(map(record.status, range(record.trials)))
        soonest = min(steps[reached].tolist(), default=math.inf)
        best = falling(zip(steps.tolist(), goal.cost(values).tolist(), strict=True))
        return cls(counts, soonest, int(steps.max(initial=0)), best)

    def __add__(self, other: "Standing") -> "Standing":
        """How the trials of both stand."""
        return Standing(
            self.counts + other.counts,
            min(self.steps, other.steps),
            max(self.evaluated, other.evaluated),
            falling([*self.best, *other.best]),
        )

    def words(self, study: StudyPlan) -> str:
        """Return how a block of a study stands, in a sentence."""
        sign = -1 if study.workload.maximize else 1
        best = f", best {study.workload.metric} {sign * self.best[-1][1]:.3g}" if self.best else ""
        return (
            f"{counted(self.counts['trials'], 'trial')} at step {self.evaluated:,} of "
            f"{study.train_steps:,}, {self.counts['INFEASIBLE']:,} diverged{best}"
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


def study_line(study: StudyPlan, out: Path) -> str:
    """Return a line on the trials of a study that a folder holds.

    It says how many diverged and what the best one came to, whether that lies at the edge of a
    range that was searched, and whether its first evaluation was past the goal already.
    """
    paths = sorted(files_matching(out / study_path(*study.key), "*.parquet"))
    footers = [read_footer(path) for path in paths]
    trials = {trial.trial_id: trial for footer in footers for trial in footer.trials}
    diverged = sum(trial.status == "INFEASIBLE" for trial in trials.values())
    line = f"{study.name}: {counted(len(trials), 'trial')}, {diverged:,} diverged"
    goal = Goal.of(study.workload)
    values = values_of(paths, goal.metric)
    if not len(values[0]):
        return line
    row = best_of(values, goal)
    trial, step, value = (column[row] for column in values)
    is_past = bool(goal.reached(value))
    if is_past:
        line += f"; {study.workload.stated_goal} after {counted(int(step), 'step')}"
    else:
        line += f"; best {goal.metric} {value:.3g}"
    searched = ranges(footers[-1].study.search_space)
    best = trials[int(trial)].metaparameters
    edges = [name for name, each in searched.items() if each.is_at_edge(float(best[name]))]
    if edges:
        line += f"; the best trial lies at the edge of {joined(edges)}: better may lie beyond"
    first = values[1][values[1] > 0].min(initial=study.train_steps)
    if is_past and 0 < step <= first:
        line += "; its first evaluation decided that: evaluate more often, or set a harder goal"
    return line
