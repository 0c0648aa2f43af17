"""Studies that were searched in lockstep: which trials count, and what cannot be told of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbtool.database import Database, open_database
from dbtool.figures.points import NoDataError, Request, read_points
from dbtool.figures.specs import find_figure
from tests.support.made_up import write_shard
from tests.support.published import published

WORKLOAD = "digits/fc_8/sgd"
VAL, TEST = "val_classification_error", "test_classification_error"
SEARCH = {"method": "window", "goal": 0.1, "reached": True, "most_steps": 60, "best_trial": 1}


def trial(number: int, status: str, *points: tuple[int, float]) -> Any:
    rows = [{"step": step, VAL: error, TEST: error / 2} for step, error in points]
    return number, status, {"learning_rate": 0.1 * (number + 1)}, rows


STOPPED = [
    # Dropped, though it was the first past 0.3.
    trial(0, "INCOMPLETE", (0, 0.9), (10, 0.25)),
    trial(1, "COMPLETE", (0, 0.9), (10, 0.4), (40, 0.09)),
    trial(2, "COMPLETE", (0, 0.9), (10, 0.5), (40, 0.2)),
    trial(3, "INFEASIBLE", (0, 0.9), (5, 0.01)),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """At batch size 8 a study that stopped at its goal, at 16 one that was searched to its end."""
    folder = tmp_path / "release"
    write_shard(folder, workload=WORKLOAD, batch_size=8, trials=STOPPED, search=SEARCH)
    fixed = [
        trial(0, "INCOMPLETE", (0, 0.9), (10, 0.01)),
        trial(1, "COMPLETE", (0, 0.9), (40, 0.3)),
    ]
    write_shard(folder, workload=WORKLOAD, batch_size=16, trials=fixed)
    return folder


@pytest.fixture
def db(folder: Path) -> Iterator[Database]:
    with open_database(folder) as opened:
        yield opened


def steps(db: Database, goal: float | None = None) -> list[tuple[Any, ...]]:
    found = db.steps(WORKLOAD, goal=goal)
    return found.select("batch_size", "steps", "trial_id", "trials", "stopped_at").rows()


def test_dropped_trials_count_where_trials_are_dropped(db):
    # The INCOMPLETE trial at 16 was stopped for some other reason, and does not count.
    assert steps(db) == [(8, 40, 1, 3, 40), (16, None, None, 1, None)]
    # What a dropped trial measured before it was counts as well.
    assert steps(db, 0.3)[0] == (8, 10, 0, 3, 40)
    # Beyond its goal a study that stopped tells nothing.
    assert steps(db, 0.05) == [(8, None, None, 3, 40), (16, None, None, 1, None)]


def test_a_scaling_tells_what_nobody_knows_from_what_no_trial_reached(db):
    told = " ".join(str(db.scaling(WORKLOAD, goal=0.05, trials=1)).split())
    assert "At 8 steps are unknown, since the search ended first; that counts" in told
    assert "At 16 the goal was not reached; that counts" in told


def test_a_figure_tells_what_nobody_knows_from_what_no_trial_reached(folder):
    write_shard(folder, workload=WORKLOAD, batch_size=32, trials=[trial(0, "COMPLETE", (8, 0.04))])

    def points(db, goal):
        request = Request(goal=goal, workloads=(WORKLOAD,))
        rows = read_points(db, find_figure("steps"), request).rows
        return rows.select("x", "y", "is_unknown").rows()

    with open_database(folder) as db:
        assert points(db, 0.05) == [(8, None, True), (16, None, False), (32, 8, False)]
        # Where a curve has no steps at all, what is unknown has no place among its points.
        assert points(db, 0.03) == [(16, None, False), (32, None, False)]


def test_a_stopped_curve_has_no_best_value_but_within_its_steps(db):
    def best(most_steps):
        return db.best(WORKLOAD, most_steps=most_steps).select("batch_size", "value").rows()

    assert best(None) == [(16, 0.3)]
    assert best(20) == [(8, 0.25), (16, 0.9)]
    assert best(40) == [(8, 0.09), (16, 0.3)]
    # Its train_steps do not reach the budget.
    assert best(41) == []


def test_a_search_is_part_of_its_study_and_published(folder, tmp_path):
    query = "SELECT batch_size, search, stopped FROM studies ORDER BY batch_size"
    with open_database(folder) as db:
        held, expected = db.sql(query).rows(), steps(db)
    assert [(size, search and json.loads(search), stopped) for size, search, stopped in held] == [
        (8, SEARCH, True),
        (16, None, False),
    ]
    with open_database(published(folder, tmp_path / "published")) as db:
        assert (db.sql(query).rows(), steps(db)) == (held, expected)


def test_a_goal_that_nobody_got_past_is_the_reason_for_an_empty_figure(tmp_path):
    write_shard(
        tmp_path / "release", workload=WORKLOAD, batch_size=8, trials=STOPPED, search=SEARCH
    )
    request = Request(goal=0.01, workloads=(WORKLOAD,))
    with (
        open_database(tmp_path / "release") as db,
        pytest.raises(NoDataError, match=rf"^no trial of {WORKLOAD} got past the goal 0\.01; "),
    ):
        read_points(db, find_figure("steps"), request)
