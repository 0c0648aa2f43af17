"""Shards with average precision and other metrics, from what records them to what shows them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.figure_points import figure_points
from support.made_up import PRODUCER, shard_metadata, shard_table, write_table

from dbtool.release.merge import merge_shards
from dbtool.release.reduction import Reduction
from dbtool.release.verify import verify
from dbtool.store.contract import (
    OTHER_METRICS,
    STUDY_KEY,
    TRIALS_KEY,
    optional_columns,
    shard_schema,
)
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import find_shards, ingest
from dbtool.store.shards import ShardError, read_rows, read_shard
from producers.shards import write_shard
from producers.training.records import BlockRecord

if TYPE_CHECKING:
    from pathlib import Path

PRECISION = "val_average_precision"
CONSTANT = "gradient_lipschitz_constant"
OPEN_IMAGES = "open_images_v4/resnet_50/momentum"
GOAL = {"metric": PRECISION, "goal": 0.3, "maximize": True}
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
    folder: Path,
    evaluations: dict[int, Evaluation],
    *,
    workload: str = OPEN_IMAGES,
    batch_size: int = 64,
    **definition: Any,
) -> Path:
    """A shard of two trials of 4 steps as a producer writes it.

    Args:
        folder: the release's folder.
        evaluations: metrics by the step after which they were measured, a value a trial.
        workload: its name.
        batch_size: of the study.
        definition: what differs in its definition.
    """
    record = BlockRecord(2)
    both, alive = np.array([0, 1]), np.ones(2, bool)
    record.add_losses(both, alive, 0, np.full((2, 4), 0.7, np.float32))
    for step, metrics in evaluations.items():
        values = {name: np.array(given) for name, given in metrics.items()}
        record.add_evaluation(both, alive, step, values)
    rates = [{"learning_rate": 0.1 + trial} for trial in both]
    trials = [(trial, "COMPLETE", rates[trial], [{"step": 4}]) for trial in both.tolist()]
    metadata = shard_metadata(trials, workload=workload, batch_size=batch_size, **definition)
    return write_shard(
        folder / workload / str(batch_size),
        study=metadata[STUDY_KEY],
        trials=metadata[TRIALS_KEY],
        producer=PRODUCER,
        tables=record.tables([0, 1]),
    )


def shards(folder: Path) -> list[Path]:
    """A study of average precision, and one of the same workload without any optional column."""
    nan = float("nan")
    precise = {
        0: {PRECISION: [0.1, 0.2], "test_average_precision": [0.15, 0.25], CONSTANT: [8.0, nan]},
        2: {PRECISION: [0.3, nan], "gradient_squared_norm": [np.inf, 1.5]},
        4: {PRECISION: [0.31, 0.3], "gradient_squared_norm": [0.25, 1.0], CONSTANT: [4.0, 5.0]},
    }
    plain = {0: {"val_classification_error": [0.9, 0.8]}}
    return [
        produced(folder, precise, batch_size=64, **GOAL),
        produced(folder, plain, batch_size=128, **GOAL),
    ]


def database_of(folder: Path, paths: list[Path]) -> Path:
    with open_for_writing(folder / "db") as connection:
        assert ingest(connection, paths).refused == ()
    return folder / "db"


def fetch(database: Path, query: str) -> list[tuple[Any, ...]]:
    with open_for_reading(database) as connection:
        rows: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        return rows


MEASURED_ROWS = [
    (64, 0, 0, 0.1, 0.15, {CONSTANT: 8.0}),
    (64, 0, 2, 0.3, None, {"gradient_squared_norm": float("inf")}),
    (64, 0, 4, 0.31, None, {CONSTANT: 4.0, "gradient_squared_norm": 0.25}),
    (64, 1, 0, 0.2, 0.25, None),
    (64, 1, 2, None, None, {"gradient_squared_norm": 1.5}),
    (64, 1, 4, 0.3, None, {CONSTANT: 5.0, "gradient_squared_norm": 1.0}),
]


def test_a_shard_has_the_columns_that_hold_something(tmp_path: Path) -> None:
    precise, plain = shards(tmp_path)
    names = frozenset({PRECISION, "test_average_precision", OTHER_METRICS})
    assert read_shard(precise).optional == names
    assert pq.read_schema(precise).remove_metadata().equals(shard_schema(names))
    assert read_shard(plain).optional == frozenset()
    assert pq.read_schema(plain).remove_metadata().equals(shard_schema())
    # What a reader asks for and the shard lacks is null.
    [batch] = read_rows(plain, optional_columns())
    assert batch.schema.equals(shard_schema(optional_columns()))
    assert {batch.column(name).null_count for name in optional_columns()} == {len(batch)}


def test_the_view_shows_what_was_recorded(tmp_path: Path) -> None:
    database = database_of(tmp_path, shards(tmp_path / "shards"))
    assert fetch(database, MEASURED) == MEASURED_ROWS
    assert fetch(database, "SELECT count(*) FROM measurements") == [(20,)]


def test_shards_of_a_study_may_differ_in_their_columns(tmp_path: Path) -> None:
    rows = [{"step": 0, "val_classification_error": 0.5}, {"step": 1, PRECISION: 0.25}]
    other = [{"step": 0}, {"step": 1, OTHER_METRICS: {"größe": 2.0}}]
    for trial_id, of_trial in ((0, rows[:1]), (1, rows), (2, other)):
        trials = [(trial_id, "COMPLETE", {}, of_trial)]
        metadata = shard_metadata(trials, train_steps=0)
        write_table(tmp_path / "shards", shard_table(trials), metadata)
    database = database_of(tmp_path, find_shards([tmp_path / "shards"]))
    expected = [(64, 1, 1, 0.25, None, None), (64, 2, 1, None, None, {"größe": 2.0})]
    assert fetch(database, MEASURED) == expected
    merge_shards(
        find_shards([tmp_path / "shards"]), tmp_path / "out", release="made-up",
        reduction=Reduction(then_one_in=None),
    )  # fmt: skip
    again = database_of(tmp_path / "out", find_shards([tmp_path / "out"]))
    assert fetch(again, MEASURED) == expected


def test_a_goal_of_average_precision_is_passed_upwards(tmp_path: Path) -> None:
    database = database_of(tmp_path, shards(tmp_path / "shards"))
    query = """
        SELECT batch_size, steps, trial_id, value, trials
        FROM steps_to_result(NULL, NULL, NULL, NULL, 100)
    """
    # Equal to the goal at step 2 is not past it; the other study measured no such metric.
    assert fetch(database, query) == [(64, 4, 0, 0.31, 2), (128, None, None, None, 2)]
    query = """
        SELECT batch_size, value, step, trial_id
        FROM best_measurements(NULL, NULL, NULL, 3, NULL, 100)
    """
    assert fetch(database, query) == [(64, 0.3, 2, 0), (128, None, None, None)]
    improved = "SELECT trial_id, step, value FROM stored.improvement ORDER BY ALL"
    assert fetch(database, improved) == [
        *((0, 0, 0.1), (0, 2, 0.3), (0, 4, 0.31)),
        *((1, 0, 0.2), (1, 4, 0.3)),
    ]
    assert verify(database).problems == ()
    with open_for_reading(database) as connection:
        points = figure_points(connection, "steps")
    told = [(point["x"], point["y"], point["goal_text"]) for point in points]
    goal = "validation average precision > 0.3"
    assert told == [(64, 4, goal), (128, None, goal)]


def test_a_workload_must_say_which_values_are_better(tmp_path: Path) -> None:
    wrong = produced(tmp_path, {}, **{**GOAL, "maximize": False})
    with pytest.raises(ShardError, match="maximize is false, but higher values of val_average"):
        read_shard(wrong)


def test_lipschitz_constants_of_sparse_networks_are_drawn(tmp_path: Path) -> None:
    error = "val_classification_error"
    evaluations = {
        0: {error: [0.9, 0.9], CONSTANT: [16.0, 32.0]},
        # Equal to the goal of that study, which is inclusive.
        2: {error: [0.021, 0.02], CONSTANT: [2.0, 3.0]},
        4: {error: [0.01, 0.03], CONSTANT: [float("nan"), 5.0]},
    }
    path = produced(
        tmp_path, evaluations, workload=SPARSE, sparsity=0.9, goal=0.02, goal_inclusive=True,
        batch_size=256,
    )  # fmt: skip
    dense = {0: {error: [0.02, 0.02]}, 4: {error: [0.01, 0.01], CONSTANT: [1.0, 1.0]}}
    others = [
        produced(tmp_path, dense, workload=name, goal=0.02, goal_inclusive=True, batch_size=256)
        for name in ("mnist/simple_cnn/sgd", DENSE, "mnist_subsets/mnist/simple_cnn/sgd")
    ]
    database = database_of(tmp_path, [path, *others])
    steps = f"SELECT steps, trial_id FROM steps_to_result(NULL, '{SPARSE}', NULL, NULL, 100)"
    assert fetch(database, steps) == [(2, 1)]
    with open_for_reading(database) as connection:
        points = figure_points(connection, "sparsity-lipschitz")
        of_any = figure_points(connection, "steps", workloads=(SPARSE,))
    drawn = [(point["series"], point["x"], point["y"]) for point in points if point["x"]]
    assert drawn == [("dense", 4, 1.0), ("90 % sparse", 2, 3.0), ("90 % sparse", 4, 5.0)]
    # The study's own dense network is trained by its protocol, as the pruned ones are.
    assert points[0]["workload"] == DENSE
    [point] = of_any
    assert (point["y"], point["goal_text"]) == (2, "validation error ≤ 0.02")


@pytest.mark.parametrize("figure", ["scatter", "search_space", "reading", "curves", "steps"])
def test_figures_of_any_workload_say_that_a_goal_is_inclusive(tmp_path: Path, figure: str) -> None:
    path = produced(
        tmp_path, {2: {"val_classification_error": [0.02, 0.1]}}, workload=SPARSE, sparsity=0.9,
        goal=0.02, goal_inclusive=True,
    )  # fmt: skip
    with open_for_reading(database_of(tmp_path, [path])) as connection:
        points = figure_points(connection, figure)
        assert {point["goal_text"] for point in points} == {"validation error ≤ 0.02"}
        assert {point["steps"] for point in points if point["trial_id"] == 0} == {2}


def test_a_release_keeps_them_without_the_losses_between(tmp_path: Path) -> None:
    reduction = Reduction(then_one_in=None, loss_bits=8)
    out = tmp_path / "out"
    merge_shards(shards(tmp_path / "shards"), out, release="made-up", reduction=reduction)
    assert verify(out).problems == ()
    database = database_of(tmp_path, find_shards([out]))
    assert fetch(database, MEASURED) == MEASURED_ROWS
    assert fetch(database, "SELECT count(*) FROM measurements") == [(10,)]


def test_any_flipped_byte_of_them_is_found(tmp_path: Path) -> None:
    path, _ = shards(tmp_path)
    sound = path.read_bytes()
    group = pq.ParquetFile(path).metadata.row_group(0)
    chance = random.Random(5)
    for index in range(group.num_columns):
        column = group.column(index)
        start = column.dictionary_page_offset or column.data_page_offset
        assert column.total_compressed_size > 0
        for place in chance.sample(range(start, start + column.total_compressed_size), 3):
            damaged = bytearray(sound)
            damaged[place] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            [problem] = verify(path).problems
            assert "do not match the digest" in problem.reason
    path.write_bytes(sound)
    assert verify(path).problems == ()


def maps(rows: list[list[tuple[str, float | None]] | None]) -> pa.Array:
    return pa.array(rows, pa.map_(pa.string(), pa.float64()))


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        (
            OTHER_METRICS,
            maps([[("a", 1.0), ("b", 1.0)], [("b", 2.0), ("b", 3.0)]]),
            "names b twice in one row",
        ),
        (OTHER_METRICS, maps([None, [("a", None)]]), "holds a null under a name"),
        (OTHER_METRICS, maps([[(PRECISION, 0.5)], None]), f"holds {PRECISION}, which has a column"),
        (OTHER_METRICS, maps([[("step", 0.5)], None]), "holds step, which has a column"),
        (
            PRECISION,
            pa.array([0.5, 0.5], pa.float32()),
            f"its column {PRECISION} is float and not double",
        ),
        (OTHER_METRICS, pa.array(["a", "b"]), f"its column {OTHER_METRICS} is string and not map"),
        (
            "val_surprise",
            pa.array([0.5, 0.5]),
            "a column val_surprise, which the contract does not name",
        ),
    ],
)
def test_columns_out_of_contract_are_refused(
    tmp_path: Path, column: str, values: pa.Array, reason: str
) -> None:
    trials = [(0, "COMPLETE", {}, [{"step": 0}, {"step": 1}])]
    table = shard_table(trials).append_column(column, values)
    with pytest.raises(ShardError, match=reason):
        read_shard(write_table(tmp_path, table, shard_metadata(trials)))


def test_optional_columns_have_their_place(tmp_path: Path) -> None:
    trials = [(0, "COMPLETE", {}, [{"step": 0, PRECISION: 0.5, "test_average_precision": 0.5}])]
    table = shard_table(trials)
    names = [*table.column_names[:-2], *reversed(table.column_names[-2:])]
    with pytest.raises(ShardError, match="not in the contract's order"):
        read_shard(write_table(tmp_path, table.select(names), shard_metadata(trials)))
