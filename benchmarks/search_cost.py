"""What a search in lockstep would have found and cost on rows that were measured to their end.

Draws searches from the trials of fixed ones: the paper's, which takes `--wide` of all trials to
their end, and a search in a window, which takes `--narrow` of those near the optimum of the study
at the next smaller batch size, itself of a drawn search, and stops at the first past the goal.

    python -m benchmarks.search_cost --db measured.duckdb 'mnist/fc_128_128_128/sgd'

Prints a line a study: how often the window came to the same steps to result, how its steps compare
where it did not (median and 90th percentile of the ratio), how many trial-steps a fixed search
takes for each of its own, and how often dropping would have lost the best trial.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from producers.lockstep import EFFECTIVE_RATE, Optimum, Windows
from producers.search import Range
from producers.training.optimizers import optimizer_definition
from producers.training.stopping import FirstToGoal, Goal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.database import Database


@dataclass(frozen=True)
class MeasuredTrial:
    """A trial that trained to its end: its metaparameters and validation curve."""

    metaparameters: dict[str, float]
    steps: int
    feasible: bool
    evaluated_at: np.ndarray
    errors: np.ndarray

    def steps_to(self, goal: Goal) -> float:
        """The first evaluation past the goal; infinite where there is none."""
        past = self.feasible & goal.reached(self.errors)
        return float(self.evaluated_at[past.argmax()]) if past.any() else np.inf


@dataclass(frozen=True)
class MeasuredStudy:
    """A study whose trials trained to their end."""

    batch_size: int
    trials: tuple[MeasuredTrial, ...]


def studies_of(
    db: Database, workload: str, release: str | None
) -> tuple[Goal, list[MeasuredStudy]]:
    """The goal of a workload, and its studies by batch size."""
    (about,) = db.sql(
        "SELECT metric, goal, maximize, goal_inclusive FROM workloads "
        "WHERE workload = $workload AND ($release IS NULL OR release = $release)",
        workload=workload,
        release=release,
    ).rows()
    goal = Goal(*about)
    rows = db.sql(
        f"SELECT batch_size, trial_id, any_value(steps), any_value(status) <> 'INFEASIBLE', "  # noqa: S608 (the metric is a column's name)
        f"any_value(metaparameters), list(step ORDER BY step), list({goal.metric} ORDER BY step) "
        "FROM measurements JOIN trials USING (release, workload, batch_size, trial_id, status) "
        f"WHERE workload = $workload AND {goal.metric} IS NOT NULL "
        "AND ($release IS NULL OR release = $release) GROUP BY ALL ORDER BY ALL",
        workload=workload,
        release=release,
    ).rows()
    studies = []
    for batch_size, group in itertools.groupby(rows, key=lambda row: row[0]):
        trials = tuple(
            MeasuredTrial(dict(point), steps, feasible, np.array(at), np.array(errors))
            for _, _, steps, feasible, point, at, errors in group
        )
        studies.append(MeasuredStudy(batch_size, trials))
    return goal, studies


def inside(trial: MeasuredTrial, window: dict[str, Any]) -> bool:
    """Whether a trial's metaparameters lie in a window."""
    point = dict(trial.metaparameters)
    if EFFECTIVE_RATE in window:
        point[EFFECTIVE_RATE] = point["learning_rate"] / (1 - point["momentum"])
    return all(
        range_.minimum <= point[name] <= range_.maximum
        for name, range_ in window.items()
        if isinstance(range_, Range)
    )


def lockstep(
    trials: Sequence[MeasuredTrial], goal: Goal, dropping: float | None
) -> tuple[float, float, bool]:
    """Steps to result, trial-steps, and whether the best trial was dropped before."""
    first = min(trial.steps_to(goal) for trial in trials)
    rule = FirstToGoal(goal, len(trials), everyone=[], dropping=dropping)
    ends = np.array([min(trial.steps, first) for trial in trials], float)
    alive = np.ones(len(trials), bool)
    for step in sorted({int(step) for trial in trials for step in trial.evaluated_at}):
        if step > first or rule.ended:
            break
        now = [
            (number, trial.errors[np.searchsorted(trial.evaluated_at, step)])
            for number, trial in enumerate(trials)
            if alive[number] and step in trial.evaluated_at
        ]
        if not now:
            continue
        numbers, errors = (np.array(each) for each in zip(*now, strict=True))
        dropped = rule.observe(step, numbers, errors)
        alive[dropped] = False
        ends[dropped] = np.minimum(ends[dropped], step)
    found = min((t.steps_to(goal) for t, lives in zip(trials, alive, strict=True) if lives))
    return found, float(ends.sum()), bool(np.isfinite(first) and found > first)


def main() -> None:
    """Draws the searches and prints what they found."""
    import dbtool

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload")
    parser.add_argument("--db", type=Path)
    parser.add_argument("--release")
    parser.add_argument("--wide", type=int, default=100)
    parser.add_argument("--narrow", type=int, default=24)
    parser.add_argument("--dropping", type=float, default=4.0)
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    with dbtool.open(options.db) as db:
        goal, studies = studies_of(db, options.workload, options.release)
    definition = optimizer_definition(options.workload.split("/")[-1])
    windows = Windows(dict(definition.search_space), definition.sums_up)
    print("batch size; equal; ratio of steps (median, 90 %); cost fixed / window; best dropped")
    for before, study in itertools.pairwise(studies):
        ratios, costs, lost = [], [], 0
        for _ in range(options.draws):
            wide = _some(random, study.trials, options.wide)
            origin = min(
                _some(random, before.trials, options.narrow), key=lambda t: t.steps_to(goal)
            )
            optimum = Optimum(before.batch_size, 0, origin.metaparameters)
            window = windows.around(optimum, study.batch_size)
            near = [trial for trial in study.trials if inside(trial, window)]
            if not near or origin.steps_to(goal) == np.inf:
                continue
            found, cost, dropped = lockstep(
                _some(random, near, options.narrow), goal, options.dropping
            )
            lost += dropped
            fewest = min(trial.steps_to(goal) for trial in wide)
            # Where neither reached the goal both are infinite.
            ratios.append(1.0 if found == fewest else found / fewest)
            costs.append(sum(trial.steps for trial in wide) / cost)
        if ratios:
            median, high = np.quantile(ratios, [0.5, 0.9], method="higher")
            print(
                f"{study.batch_size}; {np.mean(np.equal(ratios, 1)):.0%}; {median:.2f}, "
                f"{high:.2f}; {np.median(costs):.1f}; {lost / len(ratios):.0%}"
            )


def _some(
    random: np.random.Generator, trials: Sequence[MeasuredTrial], count: int
) -> list[MeasuredTrial]:
    """So many trials, drawn with replacement."""
    return [trials[index] for index in random.integers(len(trials), size=count)]


if __name__ == "__main__":
    main()
