"""Learning curves in millionths that get past a goal at a chosen evaluation, and not before."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .plan import StudyPlan

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]

ONE = 1_000_000
SPLITS = ("train", "val", "test")
_WORST = {"classification_error": 0.9, "cross_entropy_error": 9.9, "average_precision": 0.0}
_LONGER = 10  # one in so many evaluations more than planned, for trials that run on


@dataclass(frozen=True)
class Course:
    """How the trials of a study go, a position a trial.

    The first evaluation past the goal, at or above the number of evaluations where there is none;
    how many evaluations there are; 0 for the best, whose learning rate is in the middle; and
    the evaluation whose value equals the goal, -1 where there is none.
    """

    crossing: Ints
    length: Ints
    quality: Floats
    equal: Ints


def evaluation_steps(plan: StudyPlan) -> Ints:
    """The steps of evaluations, dense early and spaced later.

    They go past the plan's last one, for trials that run on.
    """
    count = plan.evaluations
    k = np.arange(count + count // _LONGER + 1)
    spare = plan.last_step - count
    steps: Ints = k + np.round(spare * (k / count) ** 1.7).astype(np.int64)
    if plan.steps_to_goal is not None:
        steps[np.abs(steps - plan.steps_to_goal).argmin()] = plan.steps_to_goal
    return steps


def metric_columns(plan: StudyPlan) -> tuple[str, ...]:
    """The columns of measurements.csv after the step, as their header names them."""
    metrics = dict.fromkeys(("cross_entropy_error", plan.metric.partition("_")[2]))
    return tuple(f"{split}/{metric}" for split in SPLITS for metric in metrics)


def draw(
    plan: StudyPlan, steps: Ints, course: Course, rng: np.random.Generator
) -> NDArray[np.int32]:
    """The cells of every trial: (trials, evaluations, columns) in millionths."""
    goal = _goal_values(plan, steps, course, rng)
    names = metric_columns(plan)
    cells = np.empty((*goal.shape, len(names)), np.int32)
    for column, name in enumerate(names):
        if name == plan.metric.replace("_", "/", 1):
            cells[..., column] = goal
        else:
            # Other metrics are only there to differ.
            values = goal * rng.uniform(0.9, 1.1, goal.shape).astype(np.float32)
            cells[..., column] = values.astype(np.int32) // _unit(name) * _unit(name)
    return cells


def _goal_values(
    plan: StudyPlan, steps: Ints, course: Course, rng: np.random.Generator
) -> NDArray[np.int32]:
    """The goal's metric: (trials, evaluations) in millionths, power laws of the step with noise."""
    metric, unit = plan.metric.partition("_")[2], _unit(plan.metric)
    goal = round(plan.goal * ONE)
    span = np.float32({"average_precision": 0.1, "cross_entropy_error": 1.0}.get(metric, plan.goal))
    never = course.crossing >= len(steps)
    log_steps = np.log1p(steps).astype(np.float32)
    # Those that never get there would, 1.3 times later or more.
    late = log_steps[-1] + np.float32(0.3) + course.quality
    crossing = np.where(never, late, log_steps[np.where(never, 0, course.crossing)])
    log_ratio = log_steps - crossing[:, None]
    slope = rng.uniform(0.3, 0.6, (len(course.crossing), 1)).astype(np.float32)
    log_power = -slope * log_ratio
    log_power += np.float32(0.03) * rng.standard_normal(log_power.shape, np.float32)
    power = np.exp(np.minimum(log_power, 12))
    # How much worse than the goal, in units; the fall after the goal is half as deep.
    worse = np.where(power >= 1, power - 1, (power - 1) / 2) * (span * ONE / unit)
    most = abs(round(_WORST[metric] * ONE) - goal) // unit
    distance = np.minimum(worse, most).astype(np.int32)
    index = np.arange(len(steps))
    first = course.crossing[:, None]
    distance = np.where(index < first, np.maximum(distance, 0), distance)
    distance = np.where(index == first, np.minimum(distance, -1), distance)
    distance[index == course.equal[:, None]] = 0
    sign = -1 if plan.maximize else 1
    values: NDArray[np.int32] = (goal + sign * distance * unit).astype(np.int32)
    return np.clip(values, 0, 9 * ONE + ONE - 1)


def _unit(metric: str) -> int:
    """The smallest difference between two values of a metric, in millionths."""
    # Errors are shares of the evaluated examples: those of 5,000 give steps of 0.0002.
    return 200 if metric.endswith("classification_error") else 1
