"""The points of the figures about trials, from an extracted archive, in plain Python.

Written from the rules alone, and shares nothing with the project's code; see `rules`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from . import rules

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from .rules import StudyFrames

Points: TypeAlias = "list[tuple[int, Decimal]]"
Row: TypeAlias = "tuple[Any, ...]"
OUTCOMES = ("goal achieved", "goal not achieved", "infeasible")


def points_of(study: StudyFrames, trial_id: int, metric: str) -> Points:
    """Step and value of a trial's measurements that are finite numbers, by step, each step once."""
    rows = rules.values(study, metric, [trial_id])
    return sorted(dict(zip(rows["step"].map(int), rows["value"], strict=True)).items())


def classed(
    study: StudyFrames, metric: str, goal: str, *, most_steps: float = math.inf
) -> list[tuple[int, str, int | None, bool]]:
    """Trial id, outcome, steps to the goal and star of every COMPLETE and INFEASIBLE trial."""
    rows = rules.past(study, metric, goal, rules.counted(study, len(study.trials)))
    first = rows[rows["step"] <= most_steps].groupby("trial_id")["step"].min()
    steps: dict[int, int] = dict(zip(first.index.tolist(), first.tolist(), strict=True))
    star = min(steps, key=lambda trial_id: (steps[trial_id], trial_id), default=None)
    return [
        (
            trial_id,
            OUTCOMES[2] if status == "INFEASIBLE" else OUTCOMES[trial_id not in steps],
            steps.get(trial_id),
            trial_id == star,
        )
        for trial_id, status in zip(study.trials["trial_id"], study.trials["status"], strict=True)
        if status != "INCOMPLETE"
    ]


def scatter(
    study: StudyFrames, metric: str, goal: str, *, most_steps: float = math.inf
) -> list[Row]:
    """(series, learning rate, 1 - momentum, trial id, star, steps) by series, x, trial id."""
    parameters = dict(zip(study.trials["trial_id"], study.trials["parameters"], strict=True))
    rows = [
        (
            outcome,
            parameters[trial_id]["learning_rate"],
            1 - parameters[trial_id].get("momentum", 0.0),
            trial_id,
            star,
            steps,
        )
        for trial_id, outcome, steps, star in classed(study, metric, goal, most_steps=most_steps)
    ]
    return sorted(rows, key=lambda row: (OUTCOMES.index(row[0]), row[1], row[3]))


def grid(studies: Iterable[StudyFrames], name: str, metric: str, goal: str) -> list[Row]:
    """(series, batch size, value, low, high, trial id, star) by series, batch size, trial id."""
    rows = []
    for study in studies:
        space = study.study["parameter_configs"][name]
        among = space.get("feasible_points") or [space["min_value"], space["max_value"]]
        parameters = dict(zip(study.trials["trial_id"], study.trials["parameters"], strict=True))
        rows += [
            (
                outcome,
                study.study["batch_size"],
                parameters[trial_id][name],
                min(among),
                max(among),
                trial_id,
                star,
            )
            for trial_id, outcome, _, star in classed(study, metric, goal)
        ]
    return sorted(rows, key=lambda row: (OUTCOMES.index(row[0]), row[1], row[5]))


def reading(
    study: StudyFrames, metric: str, goal: str, *, first: int, most_points: int = 200
) -> list[Row]:
    """(trial id, step, value, whether the trial is the best, whether the point is read off)."""
    best = rules.steps_to_result(study, metric, goal, first=first)
    rows: list[Row] = []
    for trial_id in rules.counted(study, first):
        read = best[0] if best is not None and best[1] == trial_id else None
        rows += [
            (trial_id, step, float(value), read is not None, step == read)
            for step, value in thinned(points_of(study, trial_id, metric), read, most_points)
        ]
    return rows


def learning_curve(
    study: StudyFrames, split: str, metric: str, goal: str, *, first: int = 100
) -> tuple[int | None, list[Row]]:
    """The trial that stands for a study, and (step, value, whether it is read off) of a split.

    Args:
        study: whose first COMPLETE trials are looked at.
        split: train, val or test.
        metric: that of the goal.
        goal: a decimal.
        first: how many trials count.
    """
    best = rules.steps_to_result(study, metric, goal, first=first)
    nearest = rules.best_row(study, metric, first=first)
    if nearest is None:
        return None, []
    trial_id = nearest[2] if best is None else best[1]
    column = f"{split}/{metric.split('/')[1]}"
    read = best[0] if best is not None and column == metric else None
    points = thinned(points_of(study, trial_id, column), read, 500)
    return trial_id, [(step, float(value), step == read) for step, value in points]


def thinned(points: Points, read_off: int | None, most_points: int) -> Points:
    """Every k-th point after step 0, the last one, and the one that is read off."""
    shown = [point for point in points if point[0] > 0 or point[0] == read_off]
    every = max(1, math.ceil(len(shown) / most_points))
    return [
        point
        for place, point in enumerate(shown)
        if place % every == 0 or place == len(shown) - 1 or point[0] == read_off
    ]
