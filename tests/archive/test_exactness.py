"""Answers in SQL from imported archives against plain Python, on values that trap.

Values equal to the goal, ties in step, INCOMPLETE trials that reach the goal first, steps that
repeat, and values that are missing or not finite, of metrics that fall and that rise.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dbtool
from dbtool.database import Database
from tests.support.archives import WORKLOAD, imported, study_json, trial, write_folder

STATUSES = ("COMPLETE", "COMPLETE", "INCOMPLETE", "INFEASIBLE")
# Few values and steps, so that values tie, steps repeat and files are unsorted.
VALUES = st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, 0.1, 0.2, 0.3, 0.30000001])
CURVES = st.lists(st.tuples(st.integers(0, 6), VALUES), max_size=8)
TRIALS = st.lists(st.tuples(st.sampled_from(STATUSES), CURVES), min_size=1, max_size=4)
# Many at once, as one query answers for all.
STUDIES = st.lists(TRIALS, min_size=10, max_size=20)
GOALS = (0.0, 0.1, 0.25, 0.4, 1.0)
BUDGETS = (None, 0, 3)
# How many COMPLETE trials of a study count.
COUNTS = (100, 2)

Trials: TypeAlias = "list[tuple[str, list[tuple[int, float | None]]]]"


class Row(NamedTuple):
    """A measurement of a COMPLETE trial, in the order of its step and then of its file."""

    step: int
    trial_id: int
    value: float


def write_studies(folder: Path, metric: str, studies: list[Trials]) -> Path:
    """A study a batch size from 1 on, with values of a test metric."""
    files = {}
    for batch_size, trials in enumerate(studies, 1):
        study = f"{WORKLOAD}/{batch_size}"
        files[f"{study}/study.json"] = study_json(batch_size, train_steps=6)
        for trial_id, (status, curve) in enumerate(trials, 1):
            texts = [(step, "" if value is None else repr(value)) for step, value in curve]
            lines = [f"step,test/{metric}"]
            lines += [f"{step},{text}" for step, text in texts]
            files |= trial(trial_id, "\n".join(lines) + "\n", study, status=status)
    path: Path = write_folder(folder, files)
    return path


def rows_of(trials: Trials, count: int) -> list[Row]:
    complete = [(n, curve) for n, (status, curve) in enumerate(trials, 1) if status == "COMPLETE"]
    return [
        Row(step, trial_id, value)
        for trial_id, curve in complete[:count]
        for step, value in sorted(curve, key=lambda point: point[0])
        if value is not None and not math.isnan(value)
    ]


def first_past(rows: list[Row], goal: float, *, maximize: bool) -> tuple[float | None, ...]:
    finite = (row for row in rows if math.isfinite(row.value))
    past = [row for row in finite if (goal < row.value if maximize else row.value < goal)]
    return min((row[:2] for row in past), default=(None, None))


def best(rows: list[Row], budget: int | None, *, maximize: bool) -> tuple[float | None, ...]:
    finite = [
        row for row in rows if math.isfinite(row.value) and (budget is None or row.step <= budget)
    ]
    sign = -1 if maximize else 1
    return min(finite, key=lambda row: (sign * row.value, *row[:2]), default=(None, None, None))


def answers(db: Database, metric: str, count: int) -> Iterator[object]:
    """What a database says of all studies, for every goal and then for every budget."""
    for goal in GOALS:
        found = db.steps("*", metric=metric, goal=goal, trials=count).sort("batch_size")
        yield found.select("steps", "trial_id").rows()
    for budget in BUDGETS:
        found = db.best("*", metric=metric, most_steps=budget, trials=count).sort("batch_size")
        yield found.select("step", "trial_id", "value").rows()


@pytest.mark.parametrize(
    "metric", ["average_precision", pytest.param("classification_error", marks=pytest.mark.slow)]
)
@settings(max_examples=2)
@given(studies=STUDIES)
def test_answers_about_odd_values(tmp_path_factory, metric, studies):
    folder = tmp_path_factory.mktemp("odd")
    imported(write_studies(folder, metric, studies), folder / "db")
    maximize = metric == "average_precision"
    with dbtool.open(folder / "db") as db:
        for count in COUNTS:
            rows = [rows_of(trials, count) for trials in studies]
            expected = [[first_past(each, g, maximize=maximize) for each in rows] for g in GOALS]
            expected += [[best(each, b, maximize=maximize) for each in rows] for b in BUDGETS]
            assert list(answers(db, f"test_{metric}", count)) == expected
