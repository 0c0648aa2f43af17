"""The analyses against answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.made_up import write_shard

from dbtool.resources import queries_folder
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

WORKLOAD = "digits/simple_cnn_base/nesterov_momentum"
SEARCH_SPACE = {
    "learning_rate": {"min_value": 0.01, "max_value": 100.0, "scale": "LOG_SCALE"},
    "momentum": {"min_value": 0.9, "max_value": 0.9999, "scale": "REVERSE_LOG_SCALE"},
    "weight_decay": {"min_value": 0.0, "max_value": 4.0, "scale": "LINEAR_SCALE"},
    "label_smoothing": {"min_value": 0.1, "max_value": 0.1, "scale": "LINEAR_SCALE"},
}


def _trial(number: int, step: int | None, *drawn: float) -> Any:
    """A trial that reaches the goal of 0.5 at a step, or never."""
    searched = dict(zip(SEARCH_SPACE, (*drawn, 0.1), strict=True))
    values = [(0, 0.9)] if step is None else [(0, 0.9), (step, 0.4)]
    rows = [{"step": at, "val_classification_error": value} for at, value in values]
    return number, "COMPLETE", searched, rows


def _diverged(number: int) -> Any:
    searched = dict(zip(SEARCH_SPACE, (99.0, 0.99, 1.0, 0.1), strict=True))
    return number, "INFEASIBLE", searched, [{"step": 0, "val_classification_error": 0.9}]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("analyses")
    by_size = {
        # The first trial of batch size 8 is slower than the second, which is the best one.
        8: [_trial(0, 300, 1.0, 0.99, 1.0), _trial(1, 200, 1.0, 0.99, 1.0)],
        16: [_trial(0, 100, 0.011, 0.99989, 3.9)],
        64: [_trial(0, 50, 10.0, 0.999, 2.0)],
        128: [_trial(0, None, 10.0, 0.999, 2.0)],
        256: [_trial(0, 25, 99.0, 0.901, 0.1)],
        512: [_diverged(0)],
    }
    paths = [
        write_shard(
            folder / "shards", workload=WORKLOAD, batch_size=size, goal=0.5, trials=trials,
            search_space=SEARCH_SPACE,
        )
        for size, trials in by_size.items()
    ]  # fmt: skip
    with open_for_writing(folder / "db") as connection:
        assert ingest(connection, paths).refused == ()
    return folder / "db"


@pytest.fixture
def connection(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_for_reading(database) as opened:
        yield opened


def _rows(connection: duckdb.DuckDBPyConnection, name: str, columns: str) -> list[tuple[Any, ...]]:
    query = (
        (queries_folder() / "analyses" / f"{name}.sql")
        .read_text(encoding="utf-8")
        .rstrip()
        .rstrip(";")
    )
    return connection.execute(f"SELECT {columns} FROM ({query})").fetchall()


def test_scaling_compares_each_study_with_the_smallest_and_with_the_one_before(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    columns = "batch_size, steps, examples, reduction, efficiency, gain, feasible_trials"
    assert _rows(connection, "scaling", columns) == [
        (8, 200, 1_600, 1.0, 1.0, None, 2),
        (16, 100, 1_600, 2.0, 1.0, 2.0, 1),
        # Half the steps for two doublings.
        (64, 50, 3_200, 4.0, 0.5, 1.41, 1),
        (128, None, None, None, None, None, 1),
        # Compared with the last study that reached the goal, two doublings before.
        (256, 25, 6_400, 8.0, 0.25, 1.41, 1),
        (512, None, None, None, None, None, 0),
    ]


def test_optima_lie_where_the_search_drew_them(connection: duckdb.DuckDBPyConnection) -> None:
    found = {
        (size, name): (place, at_border)
        for size, name, place, at_border in _rows(
            connection, "optima", "batch_size, metaparameter, place, at_border"
        )
    }
    # ln(1 / 0.01) / ln(10^4) = 1/2; of one minus the momentum, 0.1 to 0.0001: 0.01 is a third.
    assert found[8, "learning_rate"] == (0.5, False)
    assert found[8, "momentum"] == (0.333, False)
    assert found[8, "weight_decay"] == (0.25, False)
    assert found[64, "learning_rate"] == (0.75, False)
    assert found[64, "momentum"] == (0.667, False)
    assert [found[16, name][1] for name in ("learning_rate", "momentum", "weight_decay")] == [
        True
    ] * 3
    assert [found[256, name][1] for name in ("learning_rate", "momentum", "weight_decay")] == [
        True
    ] * 3
    # A fixed metaparameter has no range, and a study that missed the goal no optimum.
    assert {name for _, name in found} == {"learning_rate", "momentum", "weight_decay"}
    assert 128 not in {size for size, _ in found}


def test_optima_name_the_first_trial_that_reached_the_goal(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    rows = _rows(
        connection, "optima", "batch_size, trial_id, steps, feasible_trials, value, metaparameter"
    )
    assert rows[0] == (8, 1, 200, 2, 1.0, "learning_rate")


def test_summary_tells_each_workload_in_a_row(connection: duckdb.DuckDBPyConnection) -> None:
    columns = (
        "workload, goal, batch_sizes, smallest, largest, fewest_feasible, most_feasible, "
        "infeasible_share, steps_at_smallest, steps_at_largest, fewest_steps, fewest_steps_at, "
        "efficient_to"
    )
    # 1,600 examples are the fewest; batch size 64 is the last that needs at most twice as many.
    # Of 7 trials 1 diverged, the only one of batch size 512.
    expected = (WORKLOAD, 0.5, 6, 8, 512, 0, 2, 0.143, 200, None, 25, 256, 64)
    assert _rows(connection, "summary", columns) == [expected]
    assert _rows(connection, "summary", "measurements") == [(12,)]


def test_divergence_counts_the_trials_that_ended(connection: duckdb.DuckDBPyConnection) -> None:
    columns = (
        "batch_size, feasible, infeasible, infeasible_share, largest_feasible_rate, "
        "smallest_infeasible_rate"
    )
    rows = _rows(connection, "divergence", columns)
    assert rows[0] == (8, 2, 0, 0.0, 1.0, None)
    assert rows[-1] == (512, 0, 1, 1.0, None, 99.0)
