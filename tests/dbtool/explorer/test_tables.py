"""The tables of the explorer, held against what the shards say and what dbtool answers."""

import dataclasses
import json
import math
from io import BytesIO
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dbtool
from dbtool.core.errors import DbtoolError
from dbtool.explorer.contents import LARGE, choose, write_tables
from tests.dbtool.explorer.conftest import ERRORS, OWN_METRIC, PRECISION, RELEASE
from tests.support.made_up import write_shard


def written(db, chosen, *, curves=True):
    """What the page says of each workload, and the files."""
    files = {name: BytesIO() for name in ("trials", "improvements", *(["curves"] * curves))}
    told = write_tables(db, chosen, files)
    made = {name: pq.ParquetFile(BytesIO(file.getvalue())) for name, file in files.items()}
    return {row["workload"]: row for row in told}, [
        made.get(name) for name in ("trials", "improvements", "curves")
    ]


@pytest.fixture(scope="module")
def whole(db):
    told, (trials, improvements, curves) = written(db, choose(db, None, None))
    return told, trials, improvements, curves


@pytest.fixture(scope="module")
def improved(db):
    """What the page says of each workload, and its improvements, where it has no curves."""
    told, (_, improvements, _) = written(db, choose(db, None, None), curves=False)
    return told, improvements


@pytest.fixture(scope="module")
def shards(release):
    """Every row of every shard; of the metrics of evaluations, those that occur."""
    tables = [pq.ParquetFile(file).read() for file in release.rglob("measurements/*/*/*.parquet")]
    return pl.concat([pl.DataFrame(table) for table in tables], how="diagonal")


def group(file: Any, number: int) -> pl.DataFrame:
    return pl.DataFrame(file.read_row_group(number))


def improvements_by_hand(rows: pl.DataFrame, metric: str) -> list[tuple[Any, ...]]:
    """The rules of the table, an evaluation after the other."""
    found: list[tuple[Any, ...]] = []
    sign = -1 if metric.endswith("average_precision") else 1
    evaluated = rows.filter(pl.col(metric).is_not_null())
    trials = evaluated.sort("batch_size", "trial_id", "step").group_by(
        "batch_size", "trial_id", maintain_order=True
    )
    for (batch_size, trial_id), trial in trials:
        best, after = None, 0
        for step, value, status in trial.select("step", metric, "status").iter_rows():
            can_pass = math.isfinite(value) and status != "INFEASIBLE"
            if can_pass and (best is None or sign * value < best):
                best = sign * value
                found.append((batch_size, trial_id, after, step, value))
            after = step
        found.append((batch_size, trial_id, after, None, None))
    return found


def test_improvements_follow_from_the_shards(improved, shards):
    told, file = improved
    for workload, row in told.items():
        rows = shards.filter(pl.col("workload") == workload)
        for each in row["metrics"]:
            if workload != OWN_METRIC:
                expected = improvements_by_hand(rows, each["metric"])
                assert group(file, each["group"]).rows() == expected


def test_the_own_metric_comes_first_even_where_it_is_the_loss_of_batches(whole):
    told, _, file, _ = whole
    errors = [each["metric"].partition("_")[0] for each in told[ERRORS]["metrics"]]
    assert errors == ["val", "train", "test"]
    [only] = told[OWN_METRIC]["metrics"]
    assert only["metric"] == "batch_cross_entropy_error"
    # They are 32-bit numbers, and compare as the decimals that they were written as.
    values = [0.9, 0.8, 0.7, 0.6, 0.5]
    expected = [(16, 3, max(0, step - 1), step, value) for step, value in enumerate(values)]
    assert group(file, only["group"]).rows() == [*expected, (16, 3, 4, None, None)]
    assert told[OWN_METRIC]["curves_group"] is None


def test_curves_are_the_evaluations_of_all_trials(whole, shards):
    told, _, _, file = whole
    metrics = file.schema_arrow.names[3:]
    classes = {"val_classification_error", "test_classification_error"}
    assert set(metrics) == classes | {"train_cross_entropy_error", "val_average_precision"}
    for workload, row in told.items():
        measured = pl.any_horizontal(pl.col(metrics).is_not_null())
        expected = shards.filter(measured, workload=workload)
        if row["curves_group"] is None:
            assert expected.is_empty()
        else:
            expected = expected.sort("batch_size", "trial_id", "step")
            held = group(file, row["curves_group"])
            chosen = expected.select(pl.col(name).cast(held[name].dtype) for name in held.columns)
            assert held.equals(chosen)


def test_trials_are_those_of_dbtool(whole, db):
    told, file, _, _ = whole
    for workload, row in told.items():
        held = group(file, row["trials_group"])
        query = "FROM trials WHERE workload = $w ORDER BY batch_size, trial_id"
        frame = db.sql(query, w=workload).polars()
        for name in ("batch_size", "trial_id", "status", "ordinal", "steps", "momentum"):
            assert held[name].to_list() == frame[name].to_list()
        settings = [json.loads(text) for text in held["settings"]]
        assert settings == [json.loads(text) for text in frame["settings"]]
        assert held["learning_rate"].to_list() == [each.get("learning_rate") for each in settings]


def test_the_files_hold_plain_types_that_the_page_reads(whole):
    for file in whole[1:]:
        assert set(map(str, file.schema_arrow.types)) <= {"int32", "double", "string"}
        assert not any("large" in str(kind) for kind in file.schema_arrow.types)
        chunk = file.metadata.row_group(0).column(0)
        assert (chunk.compression, chunk.has_dictionary_page) == ("ZSTD", False)
    told, trials, improvements, curves = whole
    assert trials.num_row_groups == len(told)
    groups = {each["group"] for row in told.values() for each in row["metrics"]}
    assert groups == {None, *range(improvements.num_row_groups)}
    assert curves.num_row_groups == len(told) - 1


def test_of_too_many_values_curves_and_other_metrics_are_left_out(db):
    chosen = choose(db, "*", RELEASE)
    counts = chosen.values[RELEASE, ERRORS]
    assert not chosen.is_large
    many = {**chosen.values, (RELEASE, ERRORS): {**counts, next(iter(counts)): LARGE}}
    large = dataclasses.replace(chosen, values=many)
    assert large.is_large
    told, (_, _, curves) = written(db, large, curves=False)
    assert curves is None
    assert [each["metric"] for each in told[ERRORS]["metrics"]] == ["val_classification_error"]
    assert {row["curves_group"] for row in told.values()} == {None}


def test_a_workload_that_is_chosen_is_there_alone(db):
    told, (trials, _, curves) = written(db, choose(db, "letters/fc_64/*", None))
    assert list(told) == [PRECISION]
    assert trials.read().schema.field("settings").type == pa.string()
    assert curves.schema_arrow.names[3:] == ["val_average_precision"]


def test_steps_that_the_page_cannot_hold_are_refused(tmp_path):
    rows = [{"step": step, "val_classification_error": 0.5} for step in (0, 2**40)]
    write_shard(tmp_path, trials=[(0, "INCOMPLETE", {}, rows)], train_steps=0)
    with dbtool.open(tmp_path) as db:
        for curves in (True, False):
            with pytest.raises(DbtoolError, match=r"steps of 32 bits|Conversion"):
                written(db, choose(db, None, None), curves=curves)
