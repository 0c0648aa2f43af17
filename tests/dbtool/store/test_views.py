"""What the views show of shards, average precision and metrics without a column among it."""

import math
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pytest

import dbtool
from dbtool.core.manifest import About
from dbtool.core.writer import ReleaseWriter
from dbtool.database import open_database
from producers.training.block_record import BlockRecord
from tests.support.figure_points import figure_points
from tests.support.made_up import curve, shard_footer, write_shard

PRECISION, ERROR = "val_average_precision", "val_classification_error"
LOSS = "batch_cross_entropy_error"
CONSTANT = "gradient_lipschitz_constant"
OPEN_IMAGES = "open_images_v4/resnet_50/momentum"
GOAL: dict[str, Any] = {"metric": PRECISION, "goal": 0.3}
DENSE = "sparsity_0/mnist/simple_cnn/sgd"
SPARSE = "sparsity_90/mnist/simple_cnn/sgd"
MEASURED = """
SELECT batch_size, trial_id, step, val_average_precision, test_average_precision, other_metrics
FROM measurements
WHERE val_average_precision IS NOT NULL OR other_metrics IS NOT NULL
ORDER BY ALL
"""
Evaluation: TypeAlias = "dict[str, list[float]]"


def produced(
    folder: Path, evaluations: dict[int, Evaluation], *, workload: str = OPEN_IMAGES, **study: Any
) -> None:
    """Adds a study of two trials of 4 steps as a producer writes it.

    The evaluations are metrics by the step after which they were measured, a value a trial.
    """
    record = BlockRecord(2)
    both, alive = np.array([0, 1]), np.ones(2, bool)
    record.add_losses(both, alive, 0, np.full((2, 4), 0.7, np.float32))
    for step, metrics in evaluations.items():
        values = {name: np.array(given) for name, given in metrics.items()}
        record.add_evaluation(both, alive, step, values)
    trials: list[Any] = [(n, "COMPLETE", {"learning_rate": 0.1 + n}, [{"step": 4}]) for n in (0, 1)]
    footer = shard_footer(trials, workload=workload, **study)
    with ReleaseWriter(folder, About(release="made-up")) as writer:
        writer.write(footer, record.tables([0, 1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of average precision, and one of the same workload without any such value."""
    nan = math.nan
    precise = {
        0: {PRECISION: [0.1, 0.2], "test_average_precision": [0.15, 0.25], CONSTANT: [8.0, nan]},
        2: {PRECISION: [0.3, nan], "gradient_squared_norm": [math.inf, 1.5]},
        4: {PRECISION: [0.31, 0.3], "gradient_squared_norm": [0.25, 1.0], CONSTANT: [4.0, 5.0]},
    }
    folder = tmp_path_factory.mktemp("made") / "release"
    produced(folder, precise, batch_size=64, **GOAL)
    produced(folder, {0: {ERROR: [0.9, 0.8]}}, batch_size=128, **GOAL)
    return folder


def fetch(folder: Path, *queries: str) -> list[list[tuple[Any, ...]]]:
    """The rows of each query."""
    with open_database(folder) as db:
        return [db.sql(query).rows() for query in queries]


MEASURED_ROWS = [
    (64, 0, 0, 0.1, 0.15, {CONSTANT: 8.0}),
    (64, 0, 2, 0.3, None, {"gradient_squared_norm": math.inf}),
    (64, 0, 4, 0.31, None, {CONSTANT: 4.0, "gradient_squared_norm": 0.25}),
    (64, 1, 0, 0.2, 0.25, None),
    (64, 1, 2, None, None, {"gradient_squared_norm": 1.5}),
    (64, 1, 4, 0.3, None, {CONSTANT: 5.0, "gradient_squared_norm": 1.0}),
]


def test_the_view_shows_what_was_recorded(folder):
    counted = "SELECT count(*) FROM measurements"
    assert fetch(folder, MEASURED, counted) == [MEASURED_ROWS, [(20,)]]


def test_shards_of_a_study_may_differ_in_what_they_hold(tmp_path):
    rows: list[Any] = [{"step": 0, ERROR: 0.5}, {"step": 1, PRECISION: 0.25}]
    other: list[Any] = [{"step": 0}, {"step": 1, "other_metrics": {"größe": 2.0, "nan": math.nan}}]
    for trial_id, of_trial in ((0, rows[:1]), (1, rows), (2, other)):
        write_shard(tmp_path, trials=[(trial_id, "COMPLETE", {}, of_trial)], train_steps=0)
    [[first, second]] = fetch(tmp_path, MEASURED)
    assert first == (64, 1, 1, 0.25, None, None)
    assert second[:5] == (64, 2, 1, None, None)
    assert str(second[5]) == "{'größe': 2.0, 'nan': nan}"


def test_a_goal_of_average_precision_is_passed_upwards(folder):
    columns = ["batch_size", "steps", "trial_id", "value", "trials"]
    with open_database(folder) as db:
        # Equal to the goal at step 2 is not past it; the other study measured no such metric.
        found = db.steps(OPEN_IMAGES).select(columns).rows()
        assert found == [(64, 4, 0, 0.31, 2), (128, None, None, None, 2)]
        best = db.best(OPEN_IMAGES, most_steps=3).select("batch_size", "value", "step", "trial_id")
        assert best.rows() == [(64, 0.3, 2, 0), (128, None, None, None)]
        points = figure_points(db, "steps")
    found = [(point["x"], point["y"], point["goal"]) for point in points]
    assert found == [(64, 4, 0.3), (128, None, 0.3)]


def test_lipschitz_constants_of_sparse_networks_are_drawn(tmp_path):
    about: dict[str, Any] = {"goal": 0.02, "goal_inclusive": True, "batch_size": 256}
    sparse = {
        0: {ERROR: [0.9, 0.9], CONSTANT: [16.0, 32.0]},
        # Equal to the goal of that study, which is inclusive.
        2: {ERROR: [0.021, 0.02], CONSTANT: [2.0, 3.0]},
        4: {ERROR: [0.01, 0.03], CONSTANT: [math.nan, 5.0]},
    }
    produced(tmp_path, sparse, workload=SPARSE, sparsity=0.9, **about)
    dense = {0: {ERROR: [0.02, 0.02]}, 4: {ERROR: [0.01, 0.01], CONSTANT: [1.0, 1.0]}}
    for name in ("mnist/simple_cnn/sgd", DENSE, "mnist_subsets/mnist/simple_cnn/sgd"):
        produced(tmp_path, dense, workload=name, **about)
    with open_database(tmp_path) as db:
        assert db.steps(SPARSE).select("steps", "trial_id").rows() == [(2, 1)]
        points = figure_points(db, "sparsity-lipschitz")
        of_any = figure_points(db, "steps", workloads=(SPARSE,))
    drawn = [(point["series"], point["x"], point["y"]) for point in points if point["x"]]
    assert drawn == [("dense", 4, 1.0), ("90 % sparse", 2, 3.0), ("90 % sparse", 4, 5.0)]
    # The study's own dense network is trained by its protocol, as the pruned ones are.
    assert points[0]["workload"] == DENSE
    [point] = of_any
    assert (point["y"], point["goal"], point["goal_inclusive"]) == (2, 0.02, True)


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


def test_figures_of_any_workload_say_that_a_goal_is_inclusive(tmp_path):
    about: dict[str, Any] = {"goal": 0.02, "goal_inclusive": True, "sparsity": 0.9}
    produced(tmp_path, {2: {ERROR: [0.02, 0.1]}}, workload=SPARSE, **about)
    with open_database(tmp_path) as db:
        for figure in ("scatter", "search_space", "reading", "curves", "steps"):
            points = figure_points(db, figure)
            assert {(p["goal"], p["goal_inclusive"]) for p in points} == {(0.02, True)}, figure
            assert {p["steps"] for p in points if p["trial_id"] == 0} == {2}, figure


def test_the_long_form_has_a_row_a_value(tmp_path):
    rows = [{"step": 1, ERROR: 0.5, "batch_cross_entropy_error": 0.1}, {"step": 2, PRECISION: 0.3}]
    write_shard(tmp_path, trials=[(0, "COMPLETE", {}, rows)])
    query = "SELECT step, metric, value FROM evaluations WHERE value IS NOT NULL ORDER BY ALL"
    # A loss of 32 bits is the decimal that it was written as.
    expected = [(1, "batch_cross_entropy_error", 0.1), (1, ERROR, 0.5), (2, PRECISION, 0.3)]
    assert fetch(tmp_path, query) == [expected]


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
        assert db.sql("SELECT release, workloads, studies, trials FROM releases").rows() == [
            ("made-up", 1, 1, 3)
        ]
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
