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
    from collections.abc import Callable, Iterator
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


def steps_to_result(
    study: StudyFrames,
    metric: str,
    goal: str,
    *,
    maximize: bool = False,
    first: int = 100,
    taken: Callable[[dict[str, float]], bool] = lambda _: True,
    most_steps: int | None = None,
) -> tuple[int, int] | None:
    """Smallest step strictly past the goal and its trial; None where no trial got there."""
    rows = _values(study, metric, _complete(study, first, taken))
    limit = Decimal(goal)
    past = [value > limit if maximize else value < limit for value in rows["value"]]
    rows = rows[pd.Series(past, index=rows.index, dtype=bool)]
    if most_steps is not None:
        rows = rows[rows["step"] <= most_steps]
    if rows.empty:
        return None
    earliest = rows.sort_values(["step", "trial_id"]).iloc[0]
    return int(earliest["step"]), int(earliest["trial_id"])


def best_measurement(study: StudyFrames, metric: str, **asked: Any) -> Decimal | None:
    """The best value within the budgets, asked for as of `best_row`; None where there is none."""
    found = best_row(study, metric, **asked)
    return None if found is None else found[0]


def best_row(
    study: StudyFrames,
    metric: str,
    *,
    maximize: bool = False,
    first: int = 100,
    taken: Callable[[dict[str, float]], bool] = lambda _: True,
    most_steps: int | None = None,
    most_examples: float | None = None,
) -> tuple[Decimal, int, int] | None:
    """The best value within the budgets, its first step, and the first trial that had it there."""
    rows = _values(study, metric, _complete(study, first, taken))
    if most_steps is not None:
        rows = rows[rows["step"] <= most_steps]
    if most_examples is not None:
        rows = rows[rows["step"] * study.study["batch_size"] <= most_examples]
    if rows.empty:
        return None
    best: Decimal = max(rows["value"]) if maximize else min(rows["value"])
    earliest = rows[rows["value"] == best].sort_values(["step", "trial_id"]).iloc[0]
    return best, int(earliest["step"]), int(earliest["trial_id"])


def counts_towards(
    study: StudyFrames, *, most_steps: int | None = None, most_examples: float | None = None
) -> bool:
    """Whether the study trains long enough to count toward a budget's curve."""
    steps = study.study["train_steps"]
    long_enough = most_steps is None or steps >= most_steps
    if most_examples is not None:
        long_enough = long_enough and steps >= most_examples / study.study["batch_size"]
    return long_enough


def outcomes(
    study: StudyFrames, metric: str, goal: str, *, maximize: bool = False, most_steps: int
) -> dict[int, str]:
    """The scatter plots' class of every COMPLETE and INFEASIBLE trial."""
    found = {}
    for trial_id, status in zip(study.trials["trial_id"], study.trials["status"], strict=True):
        if status == "INFEASIBLE":
            found[int(trial_id)] = "infeasible"
        elif status == "COMPLETE":
            rows = _values(study, metric, {trial_id})
            values = rows[rows["step"] <= most_steps]["value"]
            limit = Decimal(goal)
            achieved = any(value > limit if maximize else value < limit for value in values)
            found[int(trial_id)] = "goal achieved" if achieved else "goal not achieved"
    return found


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


def _complete(
    study: StudyFrames, first: int, taken: Callable[[dict[str, float]], bool]
) -> set[int]:
    """The first COMPLETE trials, and of those the ones whose metaparameters are asked for."""
    complete = study.trials[study.trials["status"] == "COMPLETE"].head(first)
    pairs = zip(complete["trial_id"], complete["parameters"], strict=True)
    return {int(trial_id) for trial_id, parameters in pairs if taken(parameters)}


def _values(study: StudyFrames, metric: str, trial_ids: set[int]) -> pd.DataFrame:
    """trial_id, step and value of the measurements that are numbers."""
    if metric not in study.measurements.columns:
        return pd.DataFrame({"trial_id": [], "step": [], "value": []})
    rows = study.measurements[study.measurements["trial_id"].isin(list(trial_ids))]
    found = [
        {"trial_id": trial_id, "step": step, "value": value}
        for trial_id, step, text in zip(rows["trial_id"], rows["step"], rows[metric], strict=True)
        for value in _numbers(text)
    ]
    return pd.DataFrame(found, columns=["trial_id", "step", "value"])


def _numbers(text: str | float) -> Iterator[Decimal]:
    """The number that a field holds, if it is one and finite."""
    if isinstance(text, str) and text:
        value = Decimal(text)
        if value.is_finite():
            yield value
