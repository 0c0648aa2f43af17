"""What the views show of shards, average precision and metrics without a column among it."""

import math
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbtool
from dbtool.database import open_database
from tests.support.figure_points import figure_points
from tests.support.made_up import curve, write_shard

ERROR, LOSS = "val_classification_error", "batch_cross_entropy_error"
PRECISION = "val_average_precision"


def rows_of(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with open_database(folder) as db:
        return db.sql(query).rows()


def test_shards_of_a_study_may_differ_in_what_they_hold(tmp_path):
    trials: dict[int, list[Any]] = {
        0: [{"step": 0, ERROR: 0.5}],
        1: [{"step": 0, ERROR: 0.5}, {"step": 1, PRECISION: 0.25, "test_average_precision": 0.5}],
        2: [{"step": 0}, {"step": 1, "other_metrics": {"größe": math.inf, "nan": math.nan}}],
    }
    for trial_id, rows in trials.items():
        write_shard(tmp_path, trials=[(trial_id, "COMPLETE", {}, rows)], train_steps=0)
    query = (
        "SELECT trial_id, step, val_average_precision, test_average_precision, other_metrics "
        "FROM measurements ORDER BY trial_id, step"
    )
    first, _, second, _, third = rows_of(tmp_path, query)
    assert first == (0, 0, None, None, None)
    assert second == (1, 1, 0.25, 0.5, None)
    assert third[:4] == (2, 1, None, None)
    assert str(third[4]) == "{'größe': inf, 'nan': nan}"


@pytest.mark.parametrize("published", [False, True], ids=["dbtool", "dbtool.sql"])
def test_filters_keep_nan(tmp_path, monkeypatch, published):
    """The least and greatest values that Parquet files state leave NaN out."""
    for size, losses in ((8, [1.0, math.nan]), (16, [2.5, math.inf, math.nan]), (32, [1.0])):
        rows = [{"step": step, LOSS: loss} for step, loss in enumerate(losses)]
        trials = [(0, "INFEASIBLE", {"learning_rate": 0.1}, rows)]
        write_shard(tmp_path / "own", batch_size=size, trials=trials)
    with duckdb.connect() as connection, open_database(tmp_path / "own") as db:
        if published:
            dbtool.publish(tmp_path / "own", tmp_path / "out", licence="CC0-1.0")
            monkeypatch.chdir(tmp_path / "out")
            connection.execute(Path("dbtool.sql").read_text())

        def answer(sql: str) -> Any:
            return connection.sql(sql).fetchall() if published else db.sql(sql).rows()

        for view, value in (("measurements", LOSS), ("evaluations", "value")):
            for condition in ("isnan({})", "{} = 'nan'", "{} > 1000", "{} >= 2", "{} <> 1"):
                where = f"WHERE {condition.format(value)}"
                counted = answer(f"SELECT count(*) FILTER ({where}) FROM {view}")
                assert answer(f"SELECT count(*) FROM {view} {where}") == counted, where


@pytest.mark.parametrize(
    "losses", [[2.0, 5.0, 1.0], [2.0, math.nan, 5.0], [math.nan, math.nan], [None, None]]
)
def test_extremes_of_a_release_of_one_shard(tmp_path, monkeypatch, losses):
    """DuckDB answers them from what a file states of its columns, where it is the only one."""
    rows = [{"step": step, LOSS: loss} for step, loss in enumerate(losses)]
    write_shard(tmp_path / "own", trials=[(0, "COMPLETE", {}, rows)])
    dbtool.publish(tmp_path / "own", tmp_path / "out", licence="CC0-1.0")
    query = f"SELECT min({LOSS}), max({LOSS}), max(step), count(*), count({LOSS}) FROM measurements"
    known = [loss for loss in losses if loss is not None]
    # NaN is above any number to DuckDB.
    most = math.nan if any(map(math.isnan, known)) else max(known, default=None)
    least = min((loss for loss in known if not math.isnan(loss)), default=most)
    expected = [least, most, len(losses) - 1, len(losses), len(known)]
    monkeypatch.chdir(tmp_path / "out")
    with duckdb.connect() as connection, open_database(tmp_path / "own") as db:
        connection.execute(Path("dbtool.sql").read_text())
        for [found] in (db.sql(query).rows(), connection.sql(query).fetchall()):
            assert str([*found]) == str(expected)
    # Of two releases a filter leaves one file.
    write_shard(tmp_path / "two" / "other", release="other")
    shutil.copytree(tmp_path / "own", tmp_path / "two" / "own")
    with open_database(tmp_path / "two") as db:
        [found] = db.sql(f"{query} WHERE release = 'made-up'").rows()
        assert str([*found]) == str(expected)


def test_figures_of_any_workload_say_that_a_goal_is_inclusive(tmp_path):
    about: dict[str, Any] = {"goal": 0.02, "goal_inclusive": True, "sparsity": 0.9}
    trials: Any = [
        (n, "COMPLETE", {"learning_rate": 0.1 + n}, [{"step": 2, ERROR: error}, {"step": 4}])
        for n, error in enumerate((0.02, 0.1))
    ]
    write_shard(tmp_path, workload="sparsity_90/mnist/simple_cnn/sgd", trials=trials, **about)
    with open_database(tmp_path) as db:
        for figure in ("scatter", "search_space", "reading", "curves", "steps"):
            points = figure_points(db, figure)
            assert {(p["goal"], p["goal_inclusive"]) for p in points} == {(0.02, True)}, figure
            assert {p["steps"] for p in points if p["trial_id"] == 0} == {2}, figure


def test_the_long_form_has_a_row_a_value(tmp_path):
    rows = [{"step": 1, ERROR: 0.5, LOSS: 0.1}, {"step": 2, PRECISION: 0.3}]
    write_shard(tmp_path, trials=[(0, "COMPLETE", {}, rows)])
    query = "SELECT step, metric, value FROM evaluations WHERE value IS NOT NULL ORDER BY ALL"
    # A loss of 32 bits is the decimal that it was written as.
    expected = [(1, LOSS, 0.1), (1, ERROR, 0.5), (2, PRECISION, 0.3)]
    assert rows_of(tmp_path, query) == expected


def test_views_tell_what_the_shards_say(tmp_path):
    rate = {"learning_rate": 0.1, "momentum": 0.9, "β": 2.0}
    odd: Any = {"learning_rate": "high", "β": math.nan}
    rows = curve([0.9, 0.5, 0.1])
    trials = [
        (0, "COMPLETE", rate, rows),
        (1, "INFEASIBLE", rate, rows),
        (2, "INCOMPLETE", odd, []),
    ]
    write_shard(tmp_path, workload="some/digits/fc_8/sgd", batch_size=2, goal=0.2, trials=trials)
    with open_database(tmp_path) as db:
        columns = "collection, dataset, model, optimizer, metric, goal, maximize, studies, trials"
        assert db.sql(f"SELECT {columns}, measurements FROM workloads").rows() == [
            ("some", "digits", "fc_8", "sgd", ERROR, 0.2, False, 1, 3, 42)
        ]
        columns = "workload, batch_size, train_steps, complete, incomplete, infeasible"
        assert db.sql(f"SELECT {columns}, measurements FROM studies").rows() == [
            ("some/digits/fc_8/sgd", 2, 20, 1, 1, 1, 42)
        ]
        columns = "trial_id, status, steps, learning_rate, label_smoothing, metaparameters, seed"
        first, _, last = db.sql(f"SELECT {columns} FROM trials ORDER BY trial_id").rows()
        assert first == (0, "COMPLETE", 20, 0.1, None, rate, 1000)
        found = "(2, 'INCOMPLETE', 0, None, None, {'learning_rate': None, 'β': nan}, 1000)"
        assert str(last) == found
        columns = "dataset, model, optimizer, status, step, batch_cross_entropy_error"
        query = f"SELECT {columns} FROM measurements ORDER BY trial_id, step LIMIT 2"
        assert db.sql(query).rows() == [
            ("digits", "fc_8", "sgd", "COMPLETE", 0, None),
            ("digits", "fc_8", "sgd", "COMPLETE", 1, 1.0),
        ]
