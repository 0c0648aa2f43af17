"""Best measurements and named workloads against answers by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import dbtool
from dbtool.core.errors import UsageError
from dbtool.database import open_database
from tests.support.made_up import write_shard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.database import Database

PUBLISHED = "imagenet/resnet_50/nesterov_momentum"
WORKLOAD = "digits/fc_8/sgd"
VAL, PRECISION = "val_classification_error", "val_average_precision"
NAN, INFINITY = float("nan"), float("inf")


def rows(*points: tuple[int, float | None]) -> list[dict[str, Any]]:
    return [{"step": step, VAL: value, PRECISION: value} for step, value in points]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two studies: batch size 10 trains for 100 steps, batch size 20 for 40. The goal is 0.1."""
    folder = tmp_path_factory.mktemp("questions")
    plain = {"learning_rate": 0.5, "label_smoothing": 0.0}
    smoothed = {"learning_rate": 0.5, "label_smoothing": 0.1}
    trials: dict[int, list[Any]] = {
        10: [
            # Past the budget of 50 steps it would be best.
            (0, "COMPLETE", plain, rows((0, 0.9), (50, 0.3), (60, 0.01), (100, 0.2))),
            # The same value at two steps and in trial 3.
            (1, "COMPLETE", plain, rows((30, 0.2), (40, 0.05), (100, 0.05))),
            (2, "INFEASIBLE", plain, rows((10, 0.05), (20, NAN))),
            (3, "COMPLETE", smoothed, rows((40, 0.05), (100, 0.4))),
            (4, "INCOMPLETE", plain, rows((1, 0.0))),
            (5, "COMPLETE", smoothed, rows((10, NAN), (20, None), (100, INFINITY))),
        ],
        # Equal to the goal is not past it.
        20: [
            (9, "COMPLETE", plain, rows((20, 0.3), (40, 0.1))),
            (10, "COMPLETE", smoothed, rows((20, 0.3), (44, 0.02))),
        ],
    }
    for (batch_size, each), train_steps in zip(trials.items(), (100, 40), strict=True):
        write_shard(
            folder, workload=WORKLOAD, batch_size=batch_size, train_steps=train_steps, trials=each
        )
    return folder


@pytest.fixture
def db(folder: Path) -> Iterator[Database]:
    with open_database(folder) as opened:
        yield opened


def test_patterns_and_lists_name_workloads(db: Database) -> None:
    for named in ("digits/*", "*/sgd", "*", [WORKLOAD], ["*", WORKLOAD]):
        found = db.steps_to_result(named, goal=0.1)
        assert found.select("workload", "batch_size", "steps").rows() == [
            (WORKLOAD, 10, 40),
            (WORKLOAD, 20, 44),
        ]


def best(db: Database, metric: str | None = None, **budget: Any) -> list[tuple[Any, ...]]:
    found = db.best(WORKLOAD, metric=metric, **budget)
    return found.select("batch_size", "value", "step", "trial_id", "trials").rows()


def test_best_measurements(db: Database) -> None:
    # Infinity and nan are no measurements; INCOMPLETE and INFEASIBLE trials do not count.
    assert best(db) == [(10, 0.01, 60, 0, 4), (20, 0.02, 44, 10, 2)]


def test_best_measurements_of_the_first_trials(db: Database) -> None:
    # The first of each study by its number, not its text: 9 comes before 10.
    assert best(db, trials=1) == [(10, 0.01, 60, 0, 1), (20, 0.1, 40, 9, 1)]


def test_best_measurements_within_a_step_budget(db: Database) -> None:
    # 0.05 at step 40 in trials 1 and 3: the smaller trial id. Batch size 20 trains too short.
    assert best(db, most_steps=50) == [(10, 0.05, 40, 1, 4)]
    assert best(db, most_steps=40) == [(10, 0.05, 40, 1, 4), (20, 0.1, 40, 9, 2)]
    assert best(db, most_steps=39) == [(10, 0.2, 30, 1, 4), (20, 0.3, 20, 9, 2)]


def test_best_measurements_within_an_example_budget(db: Database) -> None:
    # 800 examples are 80 steps of 10 and 40 steps of 20; 801 are more than 40 steps of 20.
    assert best(db, most_examples=800) == [(10, 0.01, 60, 0, 4), (20, 0.1, 40, 9, 2)]
    assert best(db, most_examples=801) == [(10, 0.01, 60, 0, 4)]
    assert best(db, most_examples=500)[0] == (10, 0.05, 40, 1, 4)


def test_a_budget_without_measurements_has_no_value(db: Database) -> None:
    assert best(db, "test_classification_error") == [
        (10, None, None, None, 4),
        (20, None, None, None, 2),
    ]


def test_an_average_precision_is_better_when_higher(db: Database) -> None:
    # Infinity is no measurement.
    assert best(db, PRECISION) == [(10, 0.9, 0, 0, 4), (20, 0.3, 20, 9, 2)]
    assert best(db, PRECISION, most_steps=40)[0] == (10, 0.9, 0, 0, 4)


@pytest.mark.parametrize("word", [PUBLISHED, "imagenet/*"])
def test_a_published_workload_that_is_not_held_is_told_as_such(folder: Path, word: str) -> None:
    with dbtool.open(folder) as db:
        for ask in (db.steps_to_result, db.studies, db.trials, db.measurements, db.scaling):
            with pytest.raises(UsageError, match="is published, but not held here: `dbtool fetch`"):
                ask(word)


def test_a_published_workload_that_is_held_is_found(tmp_path: Path) -> None:
    write_shard(tmp_path, workload=PUBLISHED, trials=[(0, "COMPLETE", {}, rows((0, 0.9)))])
    with open_database(tmp_path) as db:
        assert db.studies("imagenet/*")["workload"].to_list() == [PUBLISHED]
