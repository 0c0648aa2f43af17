"""Answers in SQL from imported archives against the authors' rules, in pandas and by hand.

The replica plants the traps: values equal to the goal, ties in step, INCOMPLETE trials that reach
the goal first, ids that sort differently as text, runs longer than train_steps, train_steps 0,
missing metrics, a maximised metric, the same data set, model and optimizer in two collections.
Other studies have values that tie, repeat or are not finite.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dbtool
from dbtool.database import Database
from tests.replica import plan_study
from tests.support import rules
from tests.support.archives import WORKLOAD, Replica, imported, study_json, trial, write_folder
from tests.support.rules import StudyFrames

CNN = "mnist/simple_cnn_base/nesterov_momentum"
RESNET = "imagenet/resnet_50/nesterov_momentum"
IMAGES = "open_images_v4/resnet_50/nesterov_momentum"
LSTM = "lm1b/lstm/nesterov_momentum"
PLANS = (
    plan_study(CNN, 1, odd=True),
    plan_study(CNN, 64, complete=30, incomplete=10),
    plan_study("solution_quality/" + CNN, 64),
    plan_study(RESNET, 256, complete=24),
    plan_study(RESNET, 512, odd=True),
    plan_study(IMAGES, 1_024, odd=True),
    plan_study(LSTM, 16, complete=20),
    plan_study("mnist/fc_64_64_64/sgd", 2),
    plan_study("mnist/fc_1024/sgd", 8, complete=0),
)
ERROR, ENTROPY = "val/classification_error", "val/cross_entropy_error"
METRICS = {
    CNN: (ERROR, "test/classification_error", "train/cross_entropy_error"),
    IMAGES: ("val/average_precision", ENTROPY),
    LSTM: (ENTROPY, ERROR),
}


def test_planted_steps_to_result(replica: Replica) -> None:
    found = replica.db.steps_to_result("*").select("workload", "batch_size", "steps").rows()
    expected = [
        (each.plan.workload, each.plan.batch_size, each.steps_to_result)
        for each in replica.truth.studies
    ]
    assert sorted(found) == sorted(expected)


def questions(studies: list[StudyFrames]) -> Iterator[tuple[StudyFrames, str, dict[str, Any]]]:
    """Studies, their metrics as the archive names them, and what every question says of both."""
    for study in studies:
        for metric in METRICS.get(study.workload, (ERROR, ENTROPY)):
            size = study.study["batch_size"]
            words = {"workload": study.workload, "batch_size": size}
            yield study, metric, words | {"metric": metric.replace("/", "_")}


def goals_of(study: StudyFrames, metric: str) -> list[str]:
    """Goals among the values that were measured, so that some are equal to one; and others."""
    values = sorted(set(rules.values(study, metric, study.trials["trial_id"])["value"]))
    return [*map(str, values[:: len(values) // 5 + 1]), "0", "9"]


@pytest.mark.slow
@pytest.mark.parametrize("first", [3, 100])
def test_steps_to_result(first: int, replica: Replica) -> None:
    reached = 0
    for study, metric, words in questions(replica.studies):
        for goal in goals_of(study, metric):
            expected = rules.steps_to_result(study, metric, goal, first=first)
            found = replica.db.steps_to_result(**words, goal=float(goal), trials=first)
            reached += expected is not None
            assert found.select("steps", "trial_id").rows() == [expected or (None, None)], (
                words,
                goal,
            )
    assert reached > 20


@pytest.mark.slow
def test_best_measurement_within_budgets(replica: Replica) -> None:
    for study, metric, words in questions(replica.studies):
        longest, batch_size = int(study.measurements["step"].max()), study.study["batch_size"]
        budgets: list[dict[str, Any]] = [{}]
        for part in (1, 2, 3, 10, 1_000):
            budgets.append({"most_steps": longest // part})
            budgets.append({"most_examples": longest * batch_size // part})
        for budget in budgets:
            best = rules.best_row(study, metric, first=20, **budget)
            counts = rules.counts_towards(study, **budget)
            found = replica.db.best(**words, trials=20, **budget)["value"].to_list()
            expected = [None if best is None else float(best[0])] if counts else []
            assert found == expected, (words, budget)


STATUSES = ("COMPLETE", "COMPLETE", "INCOMPLETE", "INFEASIBLE")
# Few values and steps, so that values tie, steps repeat and files are unsorted.
VALUES = st.sampled_from([None, math.nan, math.inf, -math.inf, 0.0, 0.1, 0.2, 0.3, 0.30000001])
CURVES = st.lists(st.tuples(st.integers(0, 6), VALUES), max_size=8)
TRIALS = st.lists(st.tuples(st.sampled_from(STATUSES), CURVES), min_size=1, max_size=4)
# Many at once, as one query answers for all.
STUDIES = st.lists(TRIALS, min_size=10, max_size=20)
GOALS = (0.0, 0.1, 0.25, 0.4, 1e300, -1e300)
BUDGETS = (None, 0, 3)

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


def answers(db: Database, metric: str) -> Iterator[object]:
    """What a database says of all studies, for every goal and then for every budget."""
    for goal in GOALS:
        found = db.steps_to_result("*", metric=metric, goal=goal).sort("batch_size")
        yield found.select("steps", "trial_id").rows()
    for budget in BUDGETS:
        found = db.best("*", metric=metric, most_steps=budget).sort("batch_size")
        yield found.select("step", "trial_id", "value").rows()


@pytest.mark.parametrize(
    "metric",
    [pytest.param("classification_error", marks=pytest.mark.slow), "average_precision"],
)
@settings(max_examples=5, deadline=None)
@given(studies=STUDIES)
def test_answers_about_odd_values(
    tmp_path_factory: pytest.TempPathFactory, metric: str, studies: list[Trials]
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    imported(write_studies(folder, metric, studies), folder / "db")
    maximize, rows = metric == "average_precision", [rows_of(trials) for trials in studies]
    expected = [[first_past(each, goal, maximize=maximize) for each in rows] for goal in GOALS]
    expected += [[best(each, budget, maximize=maximize) for each in rows] for budget in BUDGETS]
    with dbtool.open(folder / "db") as db:
        assert list(answers(db, f"test_{metric}")) == expected
