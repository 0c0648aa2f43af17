"""The authors' reading rules in pandas, on an extracted archive: what the SQL is compared with.

Written from the rules alone, and shares nothing with the project's code. Values are compared as the
decimals that the CSV files hold, not as floating-point numbers.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

Points: TypeAlias = "list[tuple[int, Decimal]]"
Row: TypeAlias = "tuple[Any, ...]"
OUTCOMES = ("goal achieved", "goal not achieved", "infeasible")


@dataclass(frozen=True)
class StudyFrames:
    """A study as its files tell it.

    Attributes:
        workload: the path of the workload below the archive's folder.
        study: study.json.
        trials: trial_id, status, steps, parameters; sorted by trial id as a number.
        measurements: trial_id, step and the metrics as Decimal or None, in file order.
    """

    workload: str
    study: dict[str, Any]
    trials: pd.DataFrame
    measurements: pd.DataFrame


def read_archive(folder: Path) -> list[StudyFrames]:
    """Every study below an extracted archive's folder `batch_science`."""
    return [_read_study(path.parent, folder) for path in sorted(folder.rglob("study.json"))]


def maximize(metric: str) -> bool:
    """Whether higher values of a metric are better."""
    return metric.endswith("average_precision")


def steps_to_result(
    study: StudyFrames,
    metric: str,
    goal: str,
    *,
    first: int = 100,
    taken: Callable[[dict[str, float]], bool] = lambda _: True,
) -> tuple[int, int] | None:
    """Smallest step strictly past the goal and its trial; None where no trial got there."""
    return _earliest(past(study, metric, goal, counted(study, first, taken)))


def past(study: StudyFrames, metric: str, goal: str, trial_ids: Collection[int]) -> pd.DataFrame:
    """trial_id, step and value of the measurements that are strictly past the goal."""
    rows, limit = values(study, metric, trial_ids), Decimal(goal)
    found = [value > limit if maximize(metric) else value < limit for value in rows["value"]]
    return rows[pd.Series(found, index=rows.index, dtype=bool)]


def best_row(
    study: StudyFrames,
    metric: str,
    *,
    first: int = 100,
    taken: Callable[[dict[str, float]], bool] = lambda _: True,
    most_steps: int | None = None,
    most_examples: float | None = None,
) -> tuple[Decimal, int, int] | None:
    """The best value within the budgets, its first step, and the first trial that had it there."""
    rows = values(study, metric, counted(study, first, taken))
    if most_steps is not None:
        rows = rows[rows["step"] <= most_steps]
    if most_examples is not None:
        rows = rows[rows["step"] * study.study["batch_size"] <= most_examples]
    best: Decimal | None = (max if maximize(metric) else min)(rows["value"], default=None)
    earliest = _earliest(rows[rows["value"] == best])
    return None if best is None or earliest is None else (best, *earliest)


def counted(
    study: StudyFrames, first: int, taken: Callable[[dict[str, float]], bool] = lambda _: True
) -> list[int]:
    """The first COMPLETE trials, and of those the ones whose metaparameters are asked for."""
    complete = study.trials[study.trials["status"] == "COMPLETE"].head(first)
    pairs = zip(complete["trial_id"], complete["parameters"], strict=True)
    return [int(trial_id) for trial_id, parameters in pairs if taken(parameters)]


def values(study: StudyFrames, metric: str, trial_ids: Collection[int]) -> pd.DataFrame:
    """trial_id, step and value of the measurements that are finite numbers."""
    columns = ["trial_id", "step", "value"]
    if metric not in study.measurements.columns:
        return pd.DataFrame([], columns=columns)
    rows = study.measurements[study.measurements["trial_id"].isin(list(trial_ids))]
    fields = zip(rows["trial_id"], rows["step"], rows[metric], strict=True)
    found = [
        (trial_id, step, value)
        for trial_id, step, text in fields
        if isinstance(text, str) and text and (value := Decimal(text)).is_finite()
    ]
    return pd.DataFrame(found, columns=columns)


def points_of(study: StudyFrames, trial_id: int, metric: str) -> Points:
    """Step and value of a trial's measurements that are finite numbers, by step, each step once."""
    rows = values(study, metric, [trial_id])
    return sorted(dict(zip(rows["step"].map(int), rows["value"], strict=True)).items())


def classed(
    study: StudyFrames, metric: str, goal: str, *, most_steps: float = math.inf
) -> list[tuple[int, str, int | None, bool]]:
    """Trial id, outcome, steps to the goal and star of every COMPLETE and INFEASIBLE trial."""
    rows = past(study, metric, goal, counted(study, len(study.trials)))
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


def reading(study: StudyFrames, metric: str, goal: str, *, first: int) -> list[Row]:
    """(trial id, step, value, whether the trial is the best, whether the point is read off)."""
    best = steps_to_result(study, metric, goal, first=first)
    rows: list[Row] = []
    for trial_id in counted(study, first):
        read = best[0] if best is not None and best[1] == trial_id else None
        rows += [
            (trial_id, step, float(value), read is not None, step == read)
            for step, value in thinned(points_of(study, trial_id, metric), read, 200)
        ]
    return rows


def learning_curve(
    study: StudyFrames, split: str, metric: str, goal: str
) -> tuple[int | None, list[Row]]:
    """The trial that stands for a study, and (step, value, whether it is read off) of a split."""
    best = steps_to_result(study, metric, goal)
    nearest = best_row(study, metric)
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


def _earliest(rows: pd.DataFrame) -> tuple[int, int] | None:
    """The first step of some measurements, and the first trial that has one there."""
    return min(zip(rows["step"].map(int), rows["trial_id"].map(int), strict=True), default=None)


def _read_study(folder: Path, root: Path) -> StudyFrames:
    trials, measurements = [], []
    for path in folder.glob("*/metadata.json"):
        trial = json.loads(path.read_text())
        trials.append({name: trial[name] for name in ("trial_id", "status", "steps", "parameters")})
        measurements.append(_read_measurements(path.with_name("measurements.csv"), trial))
    columns = ["trial_id", "status", "steps", "parameters"]
    return StudyFrames(
        folder.parent.relative_to(root).as_posix(),
        json.loads((folder / "study.json").read_text()),
        pd.DataFrame(trials, columns=columns).sort_values("trial_id", ignore_index=True),
        pd.concat(measurements, ignore_index=True) if measurements else pd.DataFrame(),
    )


def _read_measurements(path: Path, trial: dict[str, Any]) -> pd.DataFrame:
    if not path.stat().st_size:
        return pd.DataFrame()
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame.assign(step=frame["step"].astype(int), trial_id=trial["trial_id"])
