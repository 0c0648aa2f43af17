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
LANGUAGE = frozenset({"lm1b", "common_crawl"})
_WORST = {"classification_error": 0.9, "cross_entropy_error": 9.9, "average_precision": 0.0}
_LONGER = 10  # one in so many evaluations more than planned, for trials that run on
# Errors are shares of the evaluated examples: a validation split of 5,000 gives steps of 0.0002.
_SHARE = {"train": 100, "val": 200, "test": 100}
_OTHER_SPLIT = {"train": 0.9, "val": 1.0, "test": 1.03}


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


def evaluation_steps(plan: StudyPlan) -> tuple[Ints, int]:
    """The steps of evaluations, dense early and spaced later, and how many lead up to the last one.

    The steps go past the plan's last one, for trials that run on.
    """
    count = plan.evaluations
    k = np.arange(count + count // _LONGER + 1)
    spare = plan.last_step - count
    steps: Ints = k + np.round(spare * (k / count) ** 1.7).astype(np.int64)
    if plan.steps_to_goal is not None:
        steps[np.abs(steps - plan.steps_to_goal).argmin()] = plan.steps_to_goal
    return steps, count + 1


def metric_columns(plan: StudyPlan) -> tuple[str, ...]:
    """The columns of measurements.csv after the step, as their header names them."""
    dataset = plan.names[0]
    if dataset in LANGUAGE:
        metrics: tuple[str, ...] = ("cross_entropy_error",)
    elif plan.metric.endswith("average_precision"):
        metrics = ("cross_entropy_error", "average_precision")
    else:
        metrics = ("cross_entropy_error", "classification_error")
    return tuple(f"{split}/{metric}" for split in SPLITS for metric in metrics)


def draw(
    plan: StudyPlan, steps: Ints, course: Course, rng: np.random.Generator
) -> NDArray[np.int32]:
    """The cells of every trial: (trials, evaluations, columns) in millionths."""
    goal = _goal_values(plan, steps, course, rng)
    trials, rows = goal.shape
    noise = rng.standard_normal((trials, rows + len(SPLITS) + 1), np.float32)
    names = metric_columns(plan)
    cells = np.empty((trials, rows, len(names)), np.int32)
    for column, name in enumerate(names):
        split, metric = name.split("/")
        if name == plan.metric.replace("_", "/", 1):
            cells[..., column] = goal
            continue
        # The same noise, shifted by a row a split, is drawn once: it is only there to differ.
        shift = SPLITS.index(split)
        factor = _OTHER_SPLIT[split] * (1 + 0.02 * noise[:, shift : shift + rows])
        values = goal.astype(np.float32) * factor
        if metric != plan.metric.split("_", 1)[1]:
            values = _cross_entropy(values, plan)
        ceiling = _WORST.get(metric, 0) or 1.0
        unit = _unit(plan, split, metric)
        # float32 holds whole numbers up to 16 millions exactly.
        cells[..., column] = np.clip(values, 0, ceiling * ONE).astype(np.int32) // unit * unit
    return cells


def _goal_values(
    plan: StudyPlan, steps: Ints, course: Course, rng: np.random.Generator
) -> NDArray[np.int32]:
    """The goal's metric: (trials, evaluations) in millionths, power laws of the step with noise."""
    metric = plan.metric.split("_", 1)[1]
    unit = _unit(plan, plan.metric.split("_", 1)[0], metric)
    goal = round(plan.goal * ONE)
    span = np.float32({"average_precision": 0.1, "cross_entropy_error": 1.0}.get(metric, plan.goal))
    never = course.crossing >= len(steps)
    log_steps = np.log1p(steps).astype(np.float32)
    log_crossing = log_steps[np.where(never, 0, course.crossing)]
    # Those that never get there would, 1.3 times later or more.
    late = log_steps[-1] + np.float32(0.3) + course.quality
    log_ratio = log_steps - np.where(never, late, log_crossing)[:, None]
    slope = rng.uniform(0.3, 0.6, (len(course.crossing), 1)).astype(np.float32)
    log_power = -slope * log_ratio
    log_power += np.float32(0.03) * rng.standard_normal(log_power.shape, np.float32)
    power = np.exp(np.minimum(log_power, 12))
    # How much worse than the goal, in units; the fall after the goal is half as deep.
    worse = np.where(power >= 1, power - 1, (power - 1) / 2) * (span * ONE / unit)
    most = abs(round(_WORST[metric] * ONE) - goal) // unit
    distance = np.minimum(worse, most).astype(np.int32)
    index = np.arange(len(steps))
    before = index < course.crossing[:, None]
    distance = np.where(before, np.maximum(distance, 0), distance)
    at_goal = index == course.crossing[:, None]
    distance = np.where(at_goal, np.minimum(distance, -1), distance)
    distance[index == course.equal[:, None]] = 0
    sign = -1 if plan.maximize else 1
    values: NDArray[np.int32] = (goal + sign * distance * unit).astype(np.int32)
    return np.clip(values, 0, 9 * ONE + ONE - 1)


def _cross_entropy(values: Floats, plan: StudyPlan) -> Floats:
    """A loss that goes with the values of a study's other metric, in millionths."""
    if plan.maximize:
        return (ONE - np.minimum(values, ONE)) * np.float32(0.05)
    return np.float32(3.3) * values + np.float32(0.002 * ONE)


def _unit(plan: StudyPlan, split: str, metric: str) -> int:
    """The smallest difference between two values of a metric, in millionths."""
    if metric != "classification_error":
        return 1
    return 20 if "imagenet" in plan.names[0] else _SHARE[split]
