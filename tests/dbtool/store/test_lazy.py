"""Lazy frames of measurements."""

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.database import Database
from tests.support.made_up import DIGITS, LETTERS

NAN = math.nan
KEYS = ["release", "workload", "batch_size", "trial_id", "step"]


@pytest.fixture(scope="module")
def everything(db: Database) -> pl.DataFrame:
    """The view and two columns of its trials, read without a filter."""
    query = "SELECT m.*, t.learning_rate, t.momentum FROM measurements AS m, trials AS t WHERE "
    keys = [f"m.{key} = t.{key}" for key in KEYS[:-1]]
    return db.sql(query + " AND ".join(keys)).polars()


def same(found: pl.DataFrame, expected: pl.DataFrame) -> bool:
    return found.sort(KEYS).equals(expected.sort(KEYS))


def test_every_row_and_column(db, everything):
    frame = db.measurements()
    assert frame.collect_schema() == everything.schema
    assert same(frame.collect(), everything)
    assert same(frame.collect(engine="streaming"), everything)
    assert everything.height == 4 * (31 + 31 + 11) + 11


def test_named_rows(db, everything):
    found = db.measurements("digits/*", batch_size=[8, 64], trial_id=1, release="first").collect()
    taken = everything.filter(workload=DIGITS, trial_id=1, release="first")
    assert same(found, taken)
    assert found.height == 62
    few = db.measurements([LETTERS]).select("step", "val_classification_error").collect()
    assert few.drop_nulls().sort("step").rows() == [(0, 0.9), (10, 0.8)]


def test_metaparameters_without_other_columns(db):
    frame = db.measurements(DIGITS, release="first").filter(pl.col("batch_size") == 64)
    rates = frame.group_by("learning_rate", "momentum").len().sort("learning_rate")
    assert rates.collect().rows() == [(0.01, 0.5, 31), (0.1, 0.9, 31), (9.0, 0.9, 11)]


def test_a_frame_says_what_it_is(db):
    told = db.measurements(DIGITS, batch_size=[8, 64], trial_id=1, release="first").explain()
    assert "PYTHON[dbtool measurements]" in told
    assert f"workload {DIGITS}, batch sizes 8, 64, trial 1, release first; collect" in told
    frame = db.measurements()
    assert "all releases; collect" in str(frame)
    assert "all releases; collect" in frame._repr_html_()
    assert "4 trials, all releases" in db.measurements(trial_id=[0, 1, 2, 7]).explain()


COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "batch_size": st.sampled_from([8, 32, 64, 7]),
    "trial_id": st.sampled_from([0, 1, 2, 7]),
    "step": st.integers(-1, 31),
    "workload": st.sampled_from([DIGITS, LETTERS, "", "é'\""]),
    "status": st.sampled_from(["COMPLETE", "INFEASIBLE"]),
    "val_classification_error": st.sampled_from([0.9, 0.05, 0.04, 0.2, math.inf, -math.inf, NAN]),
    # 2 / 3 and 2 / 11 are stored with 32 bits.
    "learning_rate": st.sampled_from([0.01, 0.1, 1.0]),
    "momentum": st.sampled_from([0.9, 0.5]),
    "batch_cross_entropy_error": st.sampled_from([2 / 3, 2 / 11, 1.0, math.inf, NAN]),
}


@st.composite
def filters(draw: st.DrawFn) -> pl.Expr:
    """A comparison, or several put together."""
    name = draw(st.sampled_from(sorted(COLUMNS)))
    column = pl.col(name)
    first, second = draw(COLUMNS[name]), draw(COLUMNS[name])
    leaves = [
        *(column == first, column != first, column < first, column >= first, ~(column <= first)),
        column.is_between(pl.lit(first), pl.lit(second), closed="left"),
        *(pl.lit(first) > column, column.is_in([first, second])),
        *(column.is_null(), column.is_not_null()),
    ]
    leaf: pl.Expr = draw(st.sampled_from(leaves))
    join = draw(st.sampled_from(["none", "none", "and", "or"]))
    if join == "none":
        return leaf
    other = draw(filters())
    return leaf & other if join == "and" else leaf | other


@given(predicate=filters())
def test_filters_keep_what_polars_keeps(db, everything, predicate):
    assert same(db.measurements().filter(predicate).collect(), everything.filter(predicate))


def test_first_rows_of_a_filter(db, everything):
    frame = db.measurements(DIGITS, release="first").filter(pl.col("step") == 30)
    assert frame.head(3).collect().height == 3
    assert frame.select("step").head(100).collect()["step"].to_list() == [30] * 4
    assert db.measurements().head(5).filter(pl.col("step") >= 0).collect().height == 5
    assert db.measurements().select(pl.len()).collect().item() == everything.height
