"""Lazy frames of measurements: what they hold, and what is read for them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbtool.api.predicates import condition_of
from tests.dbtool.api.conftest import DIGITS, LETTERS

if TYPE_CHECKING:
    from dbtool.api import Database

NAN = math.nan
KEYS = ["release", "workload", "batch_size", "trial_id", "step"]


def whole(db: Database) -> pl.DataFrame:
    """The view, read without a filter."""
    return db.sql("SELECT * FROM measurements").polars()


def same(found: pl.DataFrame, expected: pl.DataFrame) -> bool:
    return found.sort(KEYS).equals(expected.sort(KEYS))


def test_every_row_and_column(db: Database) -> None:
    everything = whole(db)
    frame = db.measurements()
    assert frame.collect_schema() == everything.schema
    assert same(frame.collect(), everything)
    assert same(frame.collect(engine="streaming"), everything)
    assert everything.height == 4 * (31 + 31 + 11) + 11


def test_named_rows(db: Database) -> None:
    everything = whole(db)
    found = db.measurements("digits/*", batch_size=[8, 64], trial_id=1, release="first").collect()
    taken = everything.filter(workload=DIGITS, trial_id=1, release="first")
    assert same(found, taken)
    assert found.height == 62
    columns = ["step", "val_classification_error", "step"]
    few = db.measurements([LETTERS], columns=columns).collect().sort("step")
    assert few.columns == ["step", "val_classification_error"]
    assert few.filter(pl.col("val_classification_error").is_not_null()).rows() == [
        (0, 0.9),
        (10, 0.8),
    ]


COLUMNS = {
    "batch_size": st.sampled_from([8, 32, 64, 7]),
    "trial_id": st.sampled_from([0, 1, 2, 7]),
    "step": st.integers(-1, 31),
    "workload": st.sampled_from([DIGITS, LETTERS, "", "é'\""]),
    "status": st.sampled_from(["COMPLETE", "INFEASIBLE"]),
    "val_classification_error": st.sampled_from([0.9, 0.05, 0.04, 0.2, math.inf, -math.inf, NAN]),
    # 2 / 3 and 2 / 11 are stored with 32 bits.
    "batch_cross_entropy_error": st.sampled_from([2 / 3, 2 / 11, 1.0, math.inf, NAN]),
}


@st.composite
def filters(draw: st.DrawFn) -> pl.Expr:
    """A comparison, or several put together."""
    name = draw(st.sampled_from(sorted(COLUMNS)))
    column = pl.col(name)
    first, second = draw(COLUMNS[name]), draw(COLUMNS[name])
    leaf = draw(
        st.sampled_from(
            [
                column == first,
                column != first,
                column < first,
                column >= first,
                pl.lit(first) > column,
                column.is_between(pl.lit(first), pl.lit(second), closed="left"),
                column.is_in([first, second]),
                column.is_null(),
                column.is_not_null(),
                ~(column <= first),
            ]
        )
    )
    join = draw(st.sampled_from(["none", "none", "and", "or"]))
    if join == "none":
        return leaf
    other = draw(filters())
    return leaf & other if join == "and" else leaf | other


@given(predicate=filters())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_filters_keep_what_polars_keeps(db: Database, predicate: pl.Expr) -> None:
    assert same(db.measurements().filter(predicate).collect(), whole(db).filter(predicate))


def test_first_rows_of_a_filter(db: Database) -> None:
    frame = db.measurements(DIGITS, release="first").filter(pl.col("step") == 30)
    assert frame.head(3).collect().height == 3
    assert frame.select("step").head(100).collect()["step"].to_list() == [30] * 4
    assert db.measurements().head(5).filter(pl.col("step") >= 0).collect().height == 5
    assert db.measurements().select(pl.len()).collect().item() == whole(db).height


def test_two_scans_side_by_side(db: Database) -> None:
    errors = db.measurements(
        DIGITS, release="first", columns=[*KEYS[2:], "val_classification_error"]
    )
    joined = errors.join(errors.filter(pl.col("step") == 0), on=["batch_size", "trial_id"])
    assert joined.collect().height == 2 * (31 + 31 + 11)


@pytest.mark.parametrize(
    ("predicate", "sql", "values"),
    [
        (pl.col("step") == 3, '("step" = ?)', (3,)),
        (pl.col("a") <= 1.5, '("a" <= ?)', (1.5,)),
        (pl.col("step").is_between(1, 2), '("step" BETWEEN ? AND ?)', (1, 2)),
        (
            (pl.col("s") == "x") & pl.col("a").is_not_null(),
            '(("a" IS NOT NULL) AND ("s" = ?))',
            ("x",),
        ),
        ((pl.col("s") == "x") & (pl.col("a").sin() > 0), '(("s" = ?))', ("x",)),
        ((pl.col("s") == "x") | (pl.col("a") > 0), '(("s" = ?) OR ("a" > ?))', ("x", 0.0)),
    ],
)
def test_what_is_left_to_sql(predicate: pl.Expr, sql: str, values: tuple[Any, ...]) -> None:
    assert tuple(condition_of(as_a_source_gets_it(predicate)) or ()) == (sql, values)


@pytest.mark.parametrize(
    "predicate",
    [
        (pl.col("s") == "x") | (pl.col("a").sin() > 0),
        pl.col("a") < math.inf,
        pl.col("f") < 0.1,
        pl.col("step") != 3,
        pl.col("s").str.starts_with("x"),
    ],
)
def test_what_is_left_to_polars(predicate: pl.Expr) -> None:
    assert condition_of(as_a_source_gets_it(predicate)) is None


def as_a_source_gets_it(predicate: pl.Expr) -> pl.Expr:
    """A filter with its literals typed, as Polars hands it to a source."""
    from polars.io.plugins import register_io_source

    seen: list[pl.Expr] = []
    schema = {"step": pl.Int64, "a": pl.Float64, "f": pl.Float32, "s": pl.String}

    def source(_columns: object, given: pl.Expr | None, *_: object) -> Any:
        assert given is not None
        seen.append(given)
        yield pl.DataFrame(schema=schema)

    register_io_source(source, schema=schema).filter(predicate).collect()
    json.loads(seen[0].meta.serialize(format="json"))
    return seen[0]
