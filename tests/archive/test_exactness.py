"""Answers in SQL from an imported replica against the authors' rules in pandas.

The replica plants the traps: values equal to the goal, ties in step, INCOMPLETE trials that reach
the goal first, ids that sort differently as text, runs longer than train_steps, train_steps 0,
missing metrics, a maximised metric, the same data set, model and optimizer in two collections.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import dbtool
from tests.replica import plan_study
from tests.support import rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbtool.store.database import Database
    from tests.support.archives import Replica

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
METRICS = {
    CNN: ("val/classification_error", "test/classification_error", "train/cross_entropy_error"),
    IMAGES: ("val/average_precision", "val/cross_entropy_error"),
    LSTM: ("val/cross_entropy_error", "val/classification_error"),
}


@pytest.fixture(scope="module")
def studies(replica: Replica) -> list[rules.StudyFrames]:
    return rules.read_archive(replica.root)


@pytest.fixture(scope="module")
def db(replica: Replica) -> Iterator[Database]:
    with dbtool.open(replica.database) as opened:
        yield opened


def test_planted_steps_to_result(replica: Replica, db: Database) -> None:
    found = db.steps_to_result("*").select("workload", "batch_size", "steps").rows()
    expected = [
        (each.plan.workload, each.plan.batch_size, each.steps_to_result)
        for each in replica.truth.studies
    ]
    assert sorted(found) == sorted(expected)


def metrics_of(study: rules.StudyFrames) -> tuple[str, ...]:
    return METRICS.get(study.workload, ("val/classification_error", "val/cross_entropy_error"))


def goals_of(study: rules.StudyFrames, metric: str) -> list[str]:
    """Goals among the values that were measured, so that some are equal to one; and others."""
    if metric not in study.measurements:
        return ["0.5"]
    texts = [text for text in study.measurements[metric] if isinstance(text, str) and text]
    values = sorted({Decimal(text) for text in texts if Decimal(text).is_finite()})
    return [str(values[index]) for index in range(0, len(values), len(values) // 5 + 1)] + [
        "0",
        "9",
    ]


def questions(studies: list[rules.StudyFrames]) -> Iterator[tuple[rules.StudyFrames, str]]:
    for study in studies:
        for metric in metrics_of(study):
            yield study, metric


def chosen(study: rules.StudyFrames, metric: str) -> dict[str, Any]:
    """What both questions about a study have in common."""
    return {
        "workload": study.workload,
        "batch_size": study.study["batch_size"],
        "metric": metric.replace("/", "_"),
    }


@pytest.mark.parametrize("first", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_steps_to_result(first: int, studies: list[rules.StudyFrames], db: Database) -> None:
    reached = 0
    for study, metric in questions(studies):
        for goal in goals_of(study, metric):
            expected = rules.steps_to_result(study, metric, goal, first=first)
            found = db.steps_to_result(**chosen(study, metric), goal=float(goal), trials=first)
            reached += expected is not None
            assert found.select("steps", "trial_id").rows() == [expected or (None, None)], (
                study.workload,
                metric,
                goal,
            )
    assert reached > 20


@pytest.mark.slow
def test_best_measurement_within_budgets(studies: list[rules.StudyFrames], db: Database) -> None:
    for study, metric in questions(studies):
        longest, batch_size = int(study.measurements["step"].max()), study.study["batch_size"]
        budgets: list[dict[str, Any]] = [{}]
        budgets += [{"most_steps": longest // part} for part in (1, 2, 3, 10, 1_000)]
        budgets += [
            {"most_examples": longest * batch_size // part} for part in (1, 2, 3, 10, 1_000)
        ]
        for budget in budgets:
            best = rules.best_row(study, metric, first=20, **budget)
            counts = rules.counts_towards(study, **budget)
            found = db.best(**chosen(study, metric), trials=20, **budget)["value"].to_list()
            expected = [None if best is None else float(best[0])] if counts else []
            assert found == expected, (study.workload, metric, budget)
