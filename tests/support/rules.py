"""The authors' reading rules in pandas, on an extracted archive: what the SQL is compared with.

Written from the rules alone, and shares nothing with the project's code. Values are compared as the
decimals that the CSV files hold, not as floating-point numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path


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


def counts_towards(
    study: StudyFrames, *, most_steps: int | None = None, most_examples: float | None = None
) -> bool:
    """Whether the study trains long enough to count toward a budget's curve."""
    steps = study.study["train_steps"]
    long_enough = most_steps is None or steps >= most_steps
    if most_examples is not None:
        long_enough = long_enough and steps >= most_examples / study.study["batch_size"]
    return long_enough


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
