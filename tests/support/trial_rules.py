"""The points of the figures about trials, from an extracted archive, in plain Python.

Written from the rules alone, and shares nothing with the project's code; see `rules`.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.support.rules import StudyFrames

Points: TypeAlias = "list[tuple[int, Decimal]]"
Row: TypeAlias = "tuple[Any, ...]"
OUTCOMES = ("goal achieved", "goal not achieved", "infeasible")


def points_of(study: StudyFrames, trial_id: int, metric: str) -> Points:
    """Step and value of a trial's measurements that are finite numbers, by step, each step once.

    Args:
        study: with the trial.
        trial_id: the trial.
        metric: a column's name in the archive, such as val/classification_error.
    """
    if metric not in study.measurements.columns:
        return []
    rows = study.measurements[study.measurements["trial_id"] == trial_id]
    found = {}
    for step, text in zip(rows["step"], rows[metric], strict=True):
        if isinstance(text, str) and text and Decimal(text).is_finite():
            found[int(step)] = Decimal(text)
    return sorted(found.items())


def first_past(study: StudyFrames, trial_id: int, metric: str, goal: str) -> int | None:
    """The first step at which a trial is strictly past the goal."""
    limit = Decimal(goal)
    for step, value in points_of(study, trial_id, metric):
        if value > limit if metric.endswith("average_precision") else value < limit:
            return step
    return None


def classed(
    study: StudyFrames, metric: str, goal: str, *, most_steps: float = math.inf
) -> list[tuple[int, str, int | None, bool]]:
    """Trial id, outcome, steps to the goal and star of every COMPLETE and INFEASIBLE trial."""
    steps: dict[int, int | None] = {}
    status = dict(zip(study.trials["trial_id"], study.trials["status"], strict=True))
    for trial_id, ended in status.items():
        if ended == "COMPLETE":
            step = first_past(study, trial_id, metric, goal)
            steps[trial_id] = step if step is not None and step <= most_steps else None
        elif ended == "INFEASIBLE":
            steps[trial_id] = None
    reached = [(step, trial_id) for trial_id, step in steps.items() if step is not None]
    star = min(reached)[1] if reached else None
    return [
        (
            trial_id,
            OUTCOMES[2] if status[trial_id] == "INFEASIBLE" else OUTCOMES[step is None],
            step,
            trial_id == star,
        )
        for trial_id, step in steps.items()
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
    trials = _counted(study, first)
    best = _best(study, trials, metric, goal)
    rows: list[Row] = []
    for trial_id in trials:
        read = best[1] if best is not None and best[0] == trial_id else None
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
    trials = _counted(study, first)
    best = _best(study, trials, metric, goal)
    trial_id = best[0] if best is not None else _nearest(study, trials, metric)
    if trial_id is None:
        return None, []
    column = f"{split}/{metric.split('/')[1]}"
    read = best[1] if best is not None and column == metric else None
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


def _counted(study: StudyFrames, first: int) -> list[int]:
    complete = study.trials[study.trials["status"] == "COMPLETE"]
    return sorted(complete["trial_id"].tolist())[:first]


def _best(
    study: StudyFrames, trials: Sequence[int], metric: str, goal: str
) -> tuple[int, int] | None:
    """The trial that is first past the goal, and its step."""
    reached = [
        (step, trial_id)
        for trial_id in trials
        for step in [first_past(study, trial_id, metric, goal)]
        if step is not None
    ]
    return min(reached)[::-1] if reached else None


def _nearest(study: StudyFrames, trials: Sequence[int], metric: str) -> int | None:
    """The trial with the best value."""
    sign = -1 if metric.endswith("average_precision") else 1
    values = [
        (sign * value, step, trial_id)
        for trial_id in trials
        for step, value in points_of(study, trial_id, metric)
    ]
    return min(values)[2] if values else None
