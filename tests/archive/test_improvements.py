"""Questions answered from the improvements alone, against every measurement read by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.archives import WORKLOAD, imported, query, study_json, trial, write_folder

from dbtool.store.database import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

STATUSES = ("COMPLETE", "COMPLETE", "INCOMPLETE", "INFEASIBLE")
# Few values and steps, so that values tie, steps repeat and files are unsorted.
VALUES = st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, 0.1, 0.2, 0.3, 0.30000001])
CURVES = st.lists(st.tuples(st.integers(0, 6), VALUES), max_size=8)
TRIALS = st.lists(st.tuples(st.sampled_from(STATUSES), CURVES), min_size=1, max_size=4)
# Many at once, as one query answers for all.
STUDIES = st.lists(TRIALS, min_size=10, max_size=20)
GOALS = (0.0, 0.1, 0.25, 0.4, math.inf, -math.inf)
BUDGETS = (None, 0, 3)

Curve: TypeAlias = "list[tuple[int, float | None]]"
Trials: TypeAlias = "list[tuple[str, Curve]]"


class Row(NamedTuple):
    """A measurement of a COMPLETE trial, in the order of its step and then of its file."""

    step: int
    trial_id: int
    value: float


def text(value: float | None) -> str:
    return "" if value is None else repr(value)


def write_studies(folder: Path, metric: str, studies: list[Trials]) -> Path:
    """A study a batch size from 1 on, whose validation and test metric have the same values."""
    files = {}
    for batch_size, trials in enumerate(studies, 1):
        study = f"{WORKLOAD}/{batch_size}"
        files[f"{study}/study.json"] = study_json(batch_size, train_steps=6)
        for trial_id, (status, curve) in enumerate(trials, 1):
            lines = [f"step,val/{metric},test/{metric}"]
            lines += [f"{step},{text(value)},{text(value)}" for step, value in curve]
            files |= trial(trial_id, "\n".join(lines) + "\n", study, status=status)
    path: Path = write_folder(folder, files)
    return path


def rows_of(trials: Trials) -> list[Row]:
    return [
        Row(step, trial_id, value)
        for trial_id, (status, curve) in enumerate(trials, 1)
        if status == "COMPLETE"
        for step, value in sorted(curve, key=lambda point: point[0])
        if value is not None and not math.isnan(value)
    ]


def first_past(rows: list[Row], goal: float, *, maximize: bool) -> tuple[float | None, ...]:
    past = [row for row in rows if (goal < row.value < math.inf if maximize else row.value < goal)]
    return min((row[:2] for row in past), default=(None, None))


def best(rows: list[Row], budget: int | None, *, maximize: bool) -> tuple[float | None, ...]:
    finite = [
        row for row in rows if math.isfinite(row.value) and (budget is None or row.step <= budget)
    ]
    sign = -1 if maximize else 1
    return min(finite, key=lambda row: (sign * row.value, *row[:2]), default=(None, None, None))


def answers(connection: duckdb.DuckDBPyConnection, metric: str | None) -> Iterator[object]:
    """What SQL says of all studies, for every goal and then for every budget."""
    for goal in GOALS:
        yield connection.execute(
            "SELECT steps, trial_id FROM steps_to_result(NULL, NULL, ?, ?, 100)", [metric, goal]
        ).fetchall()
    for budget in BUDGETS:
        yield connection.execute(
            "SELECT step, trial_id, value FROM best_measurements(NULL, NULL, ?, ?, NULL, 100)",
            [metric, budget],
        ).fetchall()


@pytest.mark.parametrize("metric", ["classification_error", "average_precision"])
@settings(max_examples=5, deadline=None)
@given(studies=STUDIES)
def test_answers_follow_from_improvements(
    tmp_path_factory: pytest.TempPathFactory, metric: str, studies: list[Trials]
) -> None:
    folder = tmp_path_factory.mktemp("improvements")
    imported(write_studies(folder, metric, studies), folder / "db")
    maximize, rows = metric == "average_precision", [rows_of(trials) for trials in studies]
    expected = [[first_past(each, goal, maximize=maximize) for each in rows] for goal in GOALS]
    expected += [[best(each, budget, maximize=maximize) for each in rows] for budget in BUDGETS]
    with open_for_reading(folder / "db") as connection:
        for asked in (None, f"test_{metric}"):
            assert list(answers(connection, asked)) == expected


def test_improvements_are_the_better_rows_of_complete_trials(tmp_path: Path) -> None:
    first: Curve = [
        (20, 0.3),
        (0, 0.9),
        (10, math.nan),
        (10, 0.5),
        (10, 0.4),
        (30, 0.3),
        (40, -math.inf),
    ]
    second: Curve = [(0, math.inf), (5, None), (7, 0.7), (9, 0.8)]
    trials: Trials = [
        ("COMPLETE", first),
        ("INFEASIBLE", second),
        ("COMPLETE", second),
        ("COMPLETE", []),
    ]
    imported(write_studies(tmp_path, "classification_error", [trials]), tmp_path / "db")
    assert query(tmp_path / "db", "SELECT trial_id, step, value FROM stored.improvement") == [
        (1, 0, 0.9),
        (1, 10, 0.5),
        (1, 10, 0.4),
        (1, 20, 0.3),
        (1, 40, -math.inf),
        (3, 7, 0.7),
    ]
