"""Best measurements, groups by a metaparameter and outcomes of trials, against answers by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.made_up import write_shard

from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = "digits/fc_8/sgd"
VAL = "val_classification_error"
NAN, INFINITY = float("nan"), float("inf")


def rows(*points: tuple[int, float | None]) -> list[dict[str, Any]]:
    return [{"step": step, VAL: value} for step, value in points]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    shards = [
        write_shard(
            folder, workload=WORKLOAD, batch_size=batch_size, train_steps=train_steps, trials=each
        )
        for (batch_size, each), train_steps in zip(trials.items(), (100, 40), strict=True)
    ]
    with open_for_writing(folder / "db") as connection:
        assert ingest(connection, shards).refused == ()
    return folder / "db"


def answer(database: Path, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
    with open_for_reading(database) as connection:
        found: list[tuple[Any, ...]] = connection.execute(
            query, ["made-up", WORKLOAD, *arguments]
        ).fetchall()
        return found


def test_a_pattern_or_nothing_asks_for_more_workloads(database: Path) -> None:
    query = "SELECT workload, batch_size, steps FROM steps_to_result(?, ?, NULL, 0.1, 100)"
    expected = [(WORKLOAD, 10, 40), (WORKLOAD, 20, 44)]
    with open_for_reading(database) as connection:
        for release, workload in (("made-up", "digits/*"), (None, None), (None, "*/sgd")):
            assert connection.execute(query, [release, workload]).fetchall() == expected
        for release, workload in (("other", None), (None, "digits/fc_80/*")):
            assert connection.execute(query, [release, workload]).fetchall() == []


BEST = "SELECT batch_size, value, step, trial_id, trials FROM best_measurements(?, ?, ?, ?, ?, ?)"


def test_best_measurements(database: Path) -> None:
    assert answer(database, BEST, None, None, None, 100) == [
        (10, 0.01, 60, 0, 4),
        (20, 0.02, 44, 10, 2),
    ]


def test_best_measurements_of_the_first_trials(database: Path) -> None:
    # The first of each study by its number, not its text: 9 comes before 10.
    assert answer(database, BEST, None, None, None, 1) == [
        (10, 0.01, 60, 0, 1),
        (20, 0.1, 40, 9, 1),
    ]


def test_best_measurements_within_a_step_budget(database: Path) -> None:
    # 0.05 at step 40 in trials 1 and 3: the smaller trial id. Batch size 20 trains too short.
    assert answer(database, BEST, None, 50, None, 100) == [(10, 0.05, 40, 1, 4)]
    assert answer(database, BEST, None, 40, None, 100) == [
        (10, 0.05, 40, 1, 4),
        (20, 0.1, 40, 9, 2),
    ]
    assert answer(database, BEST, None, 39, None, 100) == [(10, 0.2, 30, 1, 4), (20, 0.3, 20, 9, 2)]


def test_best_measurements_within_an_example_budget(database: Path) -> None:
    # 800 examples are 80 steps of 10 and 40 steps of 20; 801 are more than 40 steps of 20.
    assert answer(database, BEST, None, None, 800, 100) == [
        (10, 0.01, 60, 0, 4),
        (20, 0.1, 40, 9, 2),
    ]
    assert answer(database, BEST, None, None, 801, 100) == [(10, 0.01, 60, 0, 4)]
    assert answer(database, BEST, None, None, 500, 100)[0] == (10, 0.05, 40, 1, 4)


def test_a_budget_without_measurements_has_no_value(database: Path) -> None:
    assert answer(database, BEST, "test_classification_error", None, None, 100) == [
        (10, None, None, None, 4),
        (20, None, None, None, 2),
    ]


def test_best_measurement_of_each_label_smoothing(database: Path) -> None:
    query = (
        "SELECT batch_size, metaparameter_value, value, step, trial_id, trials "
        "FROM best_measurements_by('label_smoothing', ?, ?, NULL, NULL, NULL, 100)"
    )
    assert answer(database, query) == [
        (10, 0.0, 0.01, 60, 0, 2),
        (10, 0.1, 0.05, 40, 3, 2),
        (20, 0.0, 0.1, 40, 9, 1),
        (20, 0.1, 0.02, 44, 10, 1),
    ]


def test_steps_to_result_of_each_label_smoothing(database: Path) -> None:
    query = (
        "SELECT batch_size, metaparameter_value, steps, trial_id, trials "
        "FROM steps_to_result_by('label_smoothing', ?, ?, NULL, 0.1, 100)"
    )
    assert answer(database, query) == [
        (10, 0.0, 40, 1, 2),
        (10, 0.1, 40, 3, 2),
        (20, 0.0, None, None, 1),
        (20, 0.1, 44, 10, 1),
    ]


OUTCOMES = "SELECT trial_id, outcome, steps, best FROM trial_outcomes(?, ?, NULL, 0.1, ?)"


def test_outcomes_of_trials(database: Path) -> None:
    # INFEASIBLE trials are that, also where they reached the goal; INCOMPLETE ones are left out.
    assert answer(database, OUTCOMES, None) == [
        (0, "goal achieved", 60, False),
        (1, "goal achieved", 40, True),
        (2, "infeasible", None, False),
        (3, "goal achieved", 40, False),
        (5, "goal not achieved", None, False),
        (9, "goal not achieved", None, False),
        (10, "goal achieved", 44, True),
    ]


def test_outcomes_within_a_budget(database: Path) -> None:
    found = {trial_id: outcome for trial_id, outcome, *_ in answer(database, OUTCOMES, 43)}
    assert [number for number, outcome in found.items() if outcome == "goal achieved"] == [1, 3]
    assert found[0] == found[10] == "goal not achieved"


def test_an_average_precision_is_better_when_higher(database: Path, tmp_path: Path) -> None:
    copied = tmp_path / "db"
    copied.write_bytes(database.read_bytes())
    with open_for_writing(copied) as connection:
        connection.execute(f"UPDATE stored.measurement SET val_average_precision = {VAL}")
    # Infinity and nan are no measurements.
    assert answer(copied, BEST, "val_average_precision", None, None, 100) == [
        (10, 0.9, 0, 0, 4),
        (20, 0.3, 20, 9, 2),
    ]
    assert answer(copied, BEST, "val_average_precision", 40, None, 100)[0] == (10, 0.9, 0, 0, 4)
