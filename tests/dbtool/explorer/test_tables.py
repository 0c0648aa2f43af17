"""The tables of the explorer, held against what the shards say and what dbtool answers."""

import dataclasses
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


def test_improvements_follow_from_the_shards(db, release):
    told, (_, improvements, _) = written(db, choose(db, None, None), curves=False)
    files = release.rglob("measurements/*/*/*.parquet")
    tables = [pl.DataFrame(pq.ParquetFile(file).read()) for file in files]
    shards = pl.concat(tables, how="diagonal")
    for workload, row in told.items():
        rows = shards.filter(pl.col("workload") == workload)
        for each in row["metrics"]:
            if workload != OWN_METRIC:
                expected = improvements_by_hand(rows, each["metric"])
                assert group(improvements, each["group"]).rows() == expected


def test_the_own_metric_comes_first_even_where_it_is_the_loss_of_batches(db):
    told, (_, file, _) = written(db, choose(db, None, None))
    errors = [each["metric"].partition("_")[0] for each in told[ERRORS]["metrics"]]
    assert errors == ["val", "train", "test"]
    [only] = told[OWN_METRIC]["metrics"]
    assert only["metric"] == "batch_cross_entropy_error"
    # They are 32-bit numbers, and compare as the decimals that they were written as.
    values = [0.9, 0.8, 0.7, 0.6, 0.5]
    expected = [(16, 3, max(0, step - 1), step, value) for step, value in enumerate(values)]
    assert group(file, only["group"]).rows() == [*expected, (16, 3, 4, None, None)]
    assert told[OWN_METRIC]["curves_group"] is None


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
