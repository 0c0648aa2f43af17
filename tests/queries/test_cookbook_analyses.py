"""The analyses of docs/cookbook.md against answers worked out by hand, or by counting all cases."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.made_up import write_shard

from dbtool.resources import queries_folder
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

WORKLOAD = "digits/simple_cnn_base/nesterov_momentum"
FALLING = [(step, 0.9 - 0.01 * step) for step in range(0, 45, 5)]
LONG = [*FALLING, *((step, 0.4) for step in range(45, 301, 5))]
# By batch size: learning rate, momentum, status, and step and value of each evaluation. A trial
# reaches the goal of 0.5 at its first value below it.
STUDIES: dict[int, list[tuple[float, float, str, Sequence[tuple[int, float]]]]] = {
    8: [
        (0.1, 0.9, "COMPLETE", [(0, 0.9), (100, 0.6), (200, 0.4), (300, 0.3)]),
        (0.2, 0.5, "COMPLETE", [(0, 0.9), (100, 0.45), (300, 0.35)]),
        (0.3, 0.5, "COMPLETE", [(0, 0.9), (300, 0.8)]),
        (5.0, 0.5, "INFEASIBLE", [(0, 0.9)]),
        (0.4, 0.5, "COMPLETE", [(0, 0.9), (200, 0.49), (300, 0.2)]),
    ],
    32: [
        (0.4, 0.9, "COMPLETE", [(0, 0.9), (25, 0.6), (30, 0.4), (300, 0.4)]),
        (0.8, 0.5, "COMPLETE", [(0, 0.9), (300, 0.6)]),
    ],
    # As many evaluations as are not all shown: every fifth step.
    64: [(0.2, 0.5, "COMPLETE", LONG)],
    128: [(1.6, 0.75, "COMPLETE", [(0, 0.9), (20, 0.3), (300, 0.25)])],
    256: [(1.6, 0.75, "COMPLETE", [(0, 0.9), (300, 0.7)])],
}  # fmt: skip
STEPS = {8: 100, 32: 30, 64: 45, 128: 20}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cookbook")
    paths = []
    for size, drawn in STUDIES.items():
        trials = [
            (
                trial_id,
                status,
                {"learning_rate": rate, "momentum": momentum},
                [{"step": step, "val_classification_error": value} for step, value in points],
            )
            for trial_id, (rate, momentum, status, points) in enumerate(drawn)
        ]
        paths.append(
            write_shard(folder, workload=WORKLOAD, batch_size=size, goal=0.5, trials=trials)
        )
    with open_for_writing(folder / "db") as connection:
        assert ingest(connection, paths).refused == ()
    return folder / "db"


@pytest.fixture
def connection(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_for_reading(database) as opened:
        yield opened


def _rows(connection: duckdb.DuckDBPyConnection, name: str, columns: str) -> list[tuple[Any, ...]]:
    path = queries_folder() / "analyses" / f"{name}.sql"
    query = path.read_text(encoding="utf-8").rstrip().rstrip(";")
    return connection.execute(f"SELECT {columns} FROM ({query})").fetchall()


def test_critical_batch_size(connection: duckdb.DuckDBPyConnection) -> None:
    columns = (
        "goal, batch_sizes, smallest, largest, perfect_to, useful_to, fewest_steps, "
        "fewest_examples, critical"
    )
    # Examples are 800, 960 (1.2 times as many), 2,880 and 2,560; 256 missed the goal.
    expected = (0.5, 4, 8, 128, 32, 128, 20, 800, 40.0)
    assert _rows(connection, "critical_batch_size", columns) == [expected]


def test_trade_off(connection: duckdb.DuckDBPyConnection) -> None:
    columns = (
        "batch_size, steps, examples, epochs, steps_over_fewest, examples_over_fewest, best_trade"
    )
    assert _rows(connection, "trade_off", columns) == [
        (8, 100, 800, 0.8, 5.0, 1.0, True),
        (32, 30, 960, 0.96, 1.5, 1.2, True),
        # Batch size 32 takes fewer of both.
        (64, 45, 2_880, 2.88, 2.25, 3.6, False),
        (128, 20, 2_560, 2.56, 1.0, 3.2, True),
    ]


def test_effective_rate(connection: duckdb.DuckDBPyConnection) -> None:
    rates = {8: 0.2 / 0.5, 32: 0.4 / 0.1, 64: 0.2 / 0.5, 128: 1.6 / 0.25}
    x, y = np.log2(list(rates)), np.log2(list(rates.values()))
    slope, _ = np.polyfit(x, y, 1)
    r2 = np.corrcoef(x, y)[0, 1] ** 2
    [found] = _rows(connection, "effective_rate", "batch_sizes, smallest, largest, slope, r2")
    assert found == (4, 8, 128, round(slope, 2), round(r2, 2))
    [(first, last)] = _rows(connection, "effective_rate", "rate_at_smallest, rate_at_largest")
    assert (first, last) == (pytest.approx(0.4), pytest.approx(6.4))


def test_luck(connection: duckdb.DuckDBPyConnection) -> None:
    columns = "batch_size, steps, not_at, runner_up, fifth, reached_trials, feasible_trials"
    assert _rows(connection, "luck", columns) == [
        (8, 100, 0, 2.0, None, 3, 4),
        (32, 30, 25, None, None, 1, 2),
        (64, 45, 40, None, None, 1, 1),
        (128, 20, 0, None, None, 1, 1),
        (256, None, None, None, None, 0, 1),
    ]


def test_sensitivity(connection: duckdb.DuckDBPyConnection) -> None:
    columns = "batch_size, trials, reached_share, lowest, highest, decades, inside_share"
    rows = _rows(connection, "sensitivity", columns)
    # Between 0.1 and 0.4 lies 0.3, which never reached it; log10(4) = 0.602.
    assert rows[0] == (8, 5, 0.6, 0.1, 0.4, 0.6, 0.75)
    assert rows[1] == (32, 2, 0.5, 0.4, 0.4, 0.0, 1.0)
    assert rows[-1] == (256, 1, 0.0, None, None, None, None)


def _first_below(points: Sequence[tuple[int, float]]) -> float:
    return min((step for step, value in points if value < 0.5), default=math.inf)


def test_trials_needed_against_all_choices_of_trials(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    expected = []
    for size, drawn in STUDIES.items():
        steps = [_first_below(points) for _, _, status, points in drawn if status == "COMPLETE"]
        for number in (1, 2, 5, 10):
            best = sorted(min(chosen) for chosen in combinations(steps, number))
            if not best:
                continue
            reached = sum(map(math.isfinite, best)) / len(best)
            # The least that at least half of the choices come to.
            median = best[math.ceil(len(best) / 2) - 1]
            found = int(median) if math.isfinite(median) else None
            expected.append((size, len(steps), number, round(reached, 3), found))
    columns = "batch_size, feasible_trials, drawn, reached, steps"
    assert _rows(connection, "trials_needed", columns) == expected


def test_best_by_epochs(connection: duckdb.DuckDBPyConnection) -> None:
    columns = "batch_size, epochs, value, step, trial_id, learning_rate, momentum, feasible_trials"
    rows = _rows(connection, "best_by_epochs", columns)
    # An epoch is 1,000 examples: 125 steps of 8. The study of 300 steps does not reach 5 of them.
    assert rows[:2] == [
        (8, 1, 0.45, 100, 1, 0.2, 0.5, 4),
        (8, 2, 0.4, 200, 0, 0.1, 0.9, 4),
    ]
    assert [row[:2] for row in rows[2:]] == [
        (size, epochs)
        for size, most in ((32, 5), (64, 10), (128, 20), (256, 50))
        for epochs in (1, 2, 5, 10, 20, 50)
        if epochs <= most
    ]
    # 7 steps of 128, before anything was learned.
    assert (128, 1, 0.9, 0, 0, 1.6, 0.75, 1) in rows


def test_best_curves(connection: duckdb.DuckDBPyConnection) -> None:
    columns = "batch_size, trial_id, step, examples, epochs, metric, value, at_goal"
    rows = _rows(connection, "best_curves", columns)
    metric = "val_classification_error"
    assert rows[:3] == [
        (8, 1, 0, 0, 0.0, metric, 0.9, False),
        (8, 1, 100, 800, 0.8, metric, 0.45, True),
        (8, 1, 300, 2_400, 2.4, metric, 0.35, False),
    ]
    # Of 61 evaluations every fourth from the last, and the one at which it reached the goal.
    steps = [row[2] for row in rows if row[0] == 64]
    assert steps == sorted([*range(0, 301, 20), 45])
    assert {row[0] for row in rows} == set(STEPS)
    assert {row[0]: row[2] for row in rows if row[-1]} == STEPS
