"""Studies that were searched in lockstep: which trials count, and what cannot be told of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.made_up import write_shard
from support.published import loaded, publish

from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest
from dbtool.store.published.views import open_published

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

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
def database(tmp_path: Path) -> Path:
    """At batch size 8 a study that stopped at its goal, at 16 one that was searched to its end."""
    folder = tmp_path / "shards"
    shards = [write_shard(folder, workload=WORKLOAD, batch_size=8, trials=STOPPED, search=SEARCH)]
    fixed = [
        trial(0, "INCOMPLETE", (0, 0.9), (10, 0.01)),
        trial(1, "COMPLETE", (0, 0.9), (40, 0.3)),
    ]
    shards.append(write_shard(folder, workload=WORKLOAD, batch_size=16, trials=fixed))
    path = tmp_path / "made_up.duckdb"
    with open_for_writing(path) as connection:
        assert not ingest(connection, shards).refused
    return path


def steps(
    connection: duckdb.DuckDBPyConnection, metric: str | None, goal: float | None
) -> list[tuple[Any, ...]]:
    query = (
        "SELECT batch_size, steps, trial_id, trials, stopped_at "
        "FROM steps_to_result(NULL, ?, ?, ?, 100)"
    )
    return connection.execute(query, [WORKLOAD, metric, goal]).fetchall()


def test_dropped_trials_count_where_trials_are_dropped(database: Path) -> None:
    with open_for_reading(database) as connection:
        # The INCOMPLETE trial at 16 was stopped for some other reason, and does not count.
        assert steps(connection, None, None) == [(8, 40, 1, 3, 40), (16, None, None, 1, None)]
        # What a dropped trial measured before it was counts as well.
        assert steps(connection, None, 0.3)[0] == (8, 10, 0, 3, 40)


def test_beyond_its_goal_a_study_that_stopped_tells_nothing(database: Path) -> None:
    with open_for_reading(database) as connection:
        assert steps(connection, None, 0.05) == [(8, None, None, 3, 40), (16, None, None, 1, None)]
        points = connection.execute(
            """
            WITH curves AS (
                SELECT 1 AS panel_order, 'p' AS panel, 1 AS series_order, 's' AS series,
                    ? AS workload, ? AS metric, 0.05 AS goal, 100 AS trials
            )
            SELECT x, y FROM steps_points('curves', NULL, NULL, NULL)
            """,
            [WORKLOAD, VAL],
        ).fetchall()
    # No cross at batch size 8, as there is one at 16 for a goal that was not reached.
    assert sorted(points, key=str) == [(16, None), (None, None)]


def test_a_stopped_curve_has_no_best_value_but_within_its_steps(database: Path) -> None:
    query = "SELECT batch_size, value FROM best_measurements(NULL, ?, NULL, ?, NULL, 100)"
    with open_for_reading(database) as connection:
        assert connection.execute(query, [WORKLOAD, None]).fetchall() == [(16, 0.3)]
        assert connection.execute(query, [WORKLOAD, 20]).fetchall() == [(8, 0.25), (16, 0.9)]
        # Its train_steps do not reach the budget.
        assert connection.execute(query, [WORKLOAD, 41]).fetchall() == []


def test_outcomes_class_dropped_trials(database: Path) -> None:
    query = (
        "SELECT batch_size, trial_id, outcome FROM trial_outcomes(NULL, ?, NULL, NULL, NULL) "
        "WHERE batch_size = 8"
    )
    with open_for_reading(database) as connection:
        assert connection.execute(query, [WORKLOAD]).fetchall() == [
            (8, 0, "goal not achieved"),
            (8, 1, "goal achieved"),
            (8, 2, "goal not achieved"),
            (8, 3, "infeasible"),
        ]


def test_a_search_is_part_of_its_studys_row_and_published(database: Path, tmp_path: Path) -> None:
    query = "SELECT batch_size, search FROM studies ORDER BY batch_size"
    with open_for_reading(database) as connection:
        held = connection.execute(query).fetchall()
        expected = steps(connection, None, None)
    assert [(size, search and json.loads(search)) for size, search in held] == [
        (8, SEARCH),
        (16, None),
    ]
    publish(database, tmp_path / "published", "made-up")
    with open_published(tmp_path / "published") as connection:
        assert connection.execute(query).fetchall() == held
        assert steps(connection, None, None) == expected
    loaded(tmp_path / "again.duckdb", tmp_path / "published")
    with open_for_reading(tmp_path / "again.duckdb") as connection:
        assert connection.execute(query).fetchall() == held
        assert steps(connection, None, None) == expected


def test_another_search_of_a_study_is_refused(database: Path, tmp_path: Path) -> None:
    other = [(4, *rest) for _, *rest in STOPPED[1:2]]
    path = write_shard(
        tmp_path / "other",
        workload=WORKLOAD,
        batch_size=8,
        trials=other,
        search=SEARCH | {"most_steps": 80},
    )
    with open_for_writing(database) as connection:
        report = ingest(connection, [path])
    ((refused, reason),) = report.refused
    assert refused == path
    assert "search" in reason
