"""Steps to result from SQL against answers by hand and by plain Python, on studies with traps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbtool.core.contract import metric_columns
from dbtool.database import open_database
from tests.support.made_up import write_shard

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = "digits/fc_8/sgd"
VAL = "val_classification_error"
PRECISION = "val_average_precision"
LOSS = "batch_cross_entropy_error"
Curve = list[tuple[int, float | None]]


def add(folder: Path, batch_size: int, trials: list[tuple[int, str, Curve]]) -> None:
    """Adds a study whose test errors are half its validation errors."""
    write_shard(
        folder,
        workload=WORKLOAD,
        batch_size=batch_size,
        train_steps=0,
        trials=[
            (
                number,
                status,
                {"learning_rate": 0.1 + number},
                [
                    {"step": step, VAL: value, "test_classification_error": (value or 0) / 2}
                    for step, value in points
                ],
            )
            for number, status, points in trials
        ],
    )


def steps(
    folder: Path, metric: str | None = None, goal: float | None = None, trials: int = 100
) -> list[tuple[Any, ...]]:
    """(batch_size, steps, trial_id, value, trials) of each study."""
    with open_database(folder) as db:
        found = db.steps_to_result(WORKLOAD, metric=metric, goal=goal, trials=trials)
    return found.select("batch_size", "steps", "trial_id", "value", "trials").rows()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    studies: dict[int, list[tuple[int, str, Curve]]] = {
        # A value equal to the goal has not passed it; 0.1 is written as a decimal.
        1: [(0, "COMPLETE", [(10, 0.1), (20, 0.09999)])],
        # Two trials pass at the same step; as text 10 would come before 9.
        2: [(9, "COMPLETE", [(10, 0.05)]), (10, "COMPLETE", [(10, 0.01)])],
        # Trials that did not complete reach the goal first and do not count.
        4: [
            (0, "INCOMPLETE", [(1, 0.0)]),
            (1, "INFEASIBLE", [(2, 0.0)]),
            (2, "COMPLETE", [(5, float("nan")), (6, None), (30, 0.05)]),
        ],
        # The goal is never reached.
        8: [(0, "COMPLETE", [(10, 0.2), (20, 0.1)])],
        # The third trial is best, but a figure may ask for two.
        16: [
            (1, "COMPLETE", [(50, 0.05)]),
            (2, "INFEASIBLE", [(1, 0.0)]),
            (3, "COMPLETE", [(40, 0.05)]),
            (4, "COMPLETE", [(10, 0.05)]),
        ],
    }
    for batch_size, trials in studies.items():
        add(tmp_path / "release", batch_size, trials)
    return tmp_path / "release"


def test_traps(folder: Path) -> None:
    assert steps(folder) == [
        (1, 20, 0, 0.09999, 1),
        (2, 10, 9, 0.05, 2),
        (4, 30, 2, 0.05, 1),
        (8, None, None, None, 1),
        (16, 10, 4, 0.05, 3),
    ]


def test_the_first_trials_alone(folder: Path) -> None:
    assert steps(folder, trials=2)[-1] == (16, 40, 3, 0.05, 2)
    assert steps(folder, trials=1)[-1] == (16, 50, 1, 0.05, 1)


def test_another_goal_or_metric(folder: Path) -> None:
    assert steps(folder, goal=0.2)[3] == (8, 20, 0, 0.1, 1)
    # At batch size 1 the test error is half the validation error: 0.05 at step 10.
    assert steps(folder, "test_classification_error", 0.06)[0] == (1, 10, 0, 0.05, 1)


@pytest.mark.parametrize("own", [True, False])
def test_maximised_metrics_pass_upwards(tmp_path: Path, own: bool) -> None:
    values = [0.5, 0.6, 0.4, 0.7]
    rows = [{"step": step, PRECISION: value} for step, value in enumerate(values, 1)]
    goal: dict[str, Any] = {"metric": PRECISION, "goal": 0.6} if own else {}
    write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)], **goal)
    assert steps(tmp_path, PRECISION, 0.6) == [(64, 4, 0, 0.7, 1)]
    assert steps(tmp_path, PRECISION, 0.55) == [(64, 2, 0, 0.6, 1)]
    if own:
        assert steps(tmp_path) == [(64, 4, 0, 0.7, 1)]


@pytest.mark.parametrize("goal", [0.1, 0.7, 0.02])
@pytest.mark.parametrize("metric", metric_columns())
def test_an_inclusive_goal_is_reached_by_its_equal(
    tmp_path: Path, metric: str, goal: float
) -> None:
    # The batch loss is a 32-bit number, and stands for the decimal that it was written as.
    kind = np.float32 if metric == "batch_cross_entropy_error" else np.float64
    worse = np.nextafter(kind(goal), kind(0 if metric.endswith("precision") else 1))
    rows = [{"step": 1, metric: float(worse)}, {"step": 2, metric: float(kind(goal))}]
    rows.append({"step": 3, metric: 1.0 - float(worse < goal) * goal})
    names = {True: "digits/fc_8/sgd", False: "digits/fc_8/momentum"}
    for inclusive, name in names.items():
        write_shard(
            tmp_path, workload=name, trials=[(0, "COMPLETE", {}, rows)], metric=metric, goal=goal,
            goal_inclusive=inclusive,
        )  # fmt: skip
    with open_database(tmp_path) as db:
        for inclusive, name in names.items():
            [(reached, told)] = db.steps_to_result(name).select("steps", "goal").rows()
            assert (reached == 2, told) == (inclusive, goal)
            # The rule is the workload's, whatever the goal.
            [reached] = db.steps_to_result(name, goal=float(str(worse)))["steps"]
            assert (reached == 1) == inclusive


def test_what_is_no_number_does_not_pass_upwards(tmp_path: Path) -> None:
    names = [f"{split}_average_precision" for split in ("train", "val", "test")]
    rows = [
        {"step": step, **dict.fromkeys(names, value)}
        for step, value in enumerate((float("nan"), float("inf"), 0.6, 0.7), 1)
    ]
    write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)])
    for name in names:
        assert steps(tmp_path, name, 0.6) == [(64, 4, 0, 0.7, 1)]


@pytest.mark.parametrize("goal", [0.7, 0.3, 1.1])
def test_a_batch_loss_equal_to_the_goal_has_not_passed_it(tmp_path: Path, goal: float) -> None:
    # 0.7 and 1.1 lie above their nearest 32-bit numbers, 0.3 below.
    rows = [{"step": 1, LOSS: goal}, {"step": 2, VAL: 1.0}, {"step": 3, LOSS: goal - 1e-6}]
    write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)])
    [(_, step, trial_id, value, trials)] = steps(tmp_path, LOSS, goal)
    assert (step, trial_id, trials) == (3, 0, 1)
    assert value == pytest.approx(goal - 1e-6, abs=1e-7)


def test_each_metric_is_its_own_column(tmp_path: Path) -> None:
    names = metric_columns()
    # Metric number n passes 0.5 at step n + 1 and no other does.
    better = {name: 0.9 if name.endswith("precision") else 0.1 for name in names}
    rows = [
        {
            "step": step,
            **{name: abs(float(step <= at) - better[name]) for at, name in enumerate(names)},
        }
        for step in range(len(names) + 1)
    ]
    write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)])
    for at, name in enumerate(names):
        assert steps(tmp_path, name, 0.5)[0][1] == at + 1


STATUSES = st.sampled_from(["COMPLETE", "COMPLETE", "INCOMPLETE", "INFEASIBLE"])
CURVES = st.dictionaries(
    st.integers(0, 30), st.none() | st.sampled_from([0.1, 0.05, 0.2, 0.3, float("nan")]), max_size=5
)
STUDIES = st.dictionaries(st.integers(0, 40), st.tuples(STATUSES, CURVES), min_size=1, max_size=6)


@settings(max_examples=8)
@given(
    st.dictionaries(st.sampled_from([1, 2, 8]), STUDIES, min_size=1),
    st.sampled_from([0.1, 0.15, 0.25]),
    st.integers(1, 4),
)
def test_any_studies_against_plain_python(
    tmp_path_factory: pytest.TempPathFactory,
    studies: dict[int, dict[int, tuple[str, dict[int, float | None]]]],
    goal: float,
    count: int,
) -> None:
    folder = tmp_path_factory.mktemp("release")
    steps_expected, best_expected = [], []
    for batch_size, study in sorted(studies.items()):
        trials = [(n, status, sorted(curve.items())) for n, (status, curve) in study.items()]
        add(folder, batch_size, sorted(trials))
        counted = [n for n in sorted(study) if study[n][0] == "COMPLETE"][:count]
        values = [
            (step, n, value)
            for n in counted
            for step, value in study[n][1].items()
            if value is not None and not math.isnan(value)
        ]
        first = min((each for each in values if each[2] < goal), default=(None, None, None))
        steps_expected.append((batch_size, *first, len(counted)))
        lowest = min(((value, step, n) for step, n, value in values), default=(None, None, None))
        best_expected.append((batch_size, *lowest))
    assert steps(folder, goal=goal, trials=count) == steps_expected
    with open_database(folder) as db:
        best = db.best(WORKLOAD, trials=count).select("batch_size", "value", "step", "trial_id")
    assert best.rows() == best_expected


def test_nan_beside_values_that_are_all_past_the_goal(tmp_path: Path) -> None:
    """A file's statistics leave NaN out, so that a comparison may seem to hold throughout."""
    for metric, goal, value in (
        ("val_classification_error", 0.15, 0.1),
        ("val_average_precision", 0.1, 0.15),
    ):
        rows = [{"step": 0, metric: math.nan}, {"step": 1, metric: value}]
        trials = [(0, "COMPLETE", {"learning_rate": 0.1}, rows)]
        write_shard(tmp_path / metric, metric=metric, goal=goal, trials=trials)
        with open_database(tmp_path / metric) as db:
            found = db.steps_to_result("*").select("steps", "value").rows()
        assert found == [(1, value)]
