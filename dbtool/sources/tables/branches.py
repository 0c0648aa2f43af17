"""Which values of histories count: those that were logged, of the branch that went on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dbtool.core.errors import counted, few_of
from dbtool.sources.tables import words
from dbtool.store.table_files import shown
from dbtool.store.texts import LINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.store.table_files import Notes

FILE = "\0file"
"""The column of a row's file."""
_SERIES = ["run", "metric"]


def without_missing(values: pl.DataFrame, row: Sequence[str]) -> pl.DataFrame:
    """Drop NaN that stands for no value: beside finite numbers of the same row.

    The loss that is trained on is NaN where it diverged, too: then for longer at the end than ever
    before, in the wide format for more than a row, of rows with nothing that was not beside it.

    Args:
        values: run, metric, step, value, `FILE` and `LINE`.
        row: the columns that are equal for values of one row.
    """
    if not values["value"].is_nan().any():
        return values
    columns = values.columns
    is_nan, finite = pl.col("value").is_nan(), pl.col("value").is_finite()
    at = pl.int_range(pl.len()).over(_SERIES, order_by="step")
    trained = pl.col("metric").is_in(words.trained(values["metric"].unique()))
    values = values.with_columns(at=at, whole=(trained & finite).any().over(row))
    values = values.with_columns(usual=(pl.col("whole") & finite).any().over(_SERIES))
    values = values.with_columns(shows=(pl.col("usual") | ~finite).all().over(row))
    # In the long format a last value that is not a number has been logged.
    wide, there = FILE in row, pl.col("at").filter(~is_nan)
    gaps = values.group_by(_SERIES).agg(
        longest=pl.max_horizontal(there.sort().diff().max() - 1, there.min(), int(wide)),
        last=there.max().fill_null(-1),
    )
    values = values.join(gaps, on=_SERIES, how="left", maintain_order="left")
    after = pl.col("at") > pl.col("last")
    shows = pl.col("shows") | (pl.col("last") < 0) | (not wide)
    ended = (after & shows).sum().over(_SERIES)
    diverged = trained & after & (ended > pl.col("longest"))
    beside = finite.any().over(row)
    return values.filter(~(is_nan & beside & ~diverged)).select(columns)


def without_lost(values: pl.DataFrame, runs: Sequence[str], notes: Notes) -> pl.DataFrame:
    """Drop values that a run has of later steps than the checkpoint from which it went on.

    It did where a metric goes on at an earlier step than before. Runs whose rows are in no order of
    their steps lose nothing.

    Args:
        values: run, metric, step, value, `FILE` and `LINE`.
        runs: the names of the runs.
        notes: collects a sentence about what is dropped.
    """
    rows = values.sort("run", "metric", FILE, LINE, maintain_order=True)
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift()) for name in _SERIES)
    rows = rows.with_columns(same=same, begins=same & (pl.col("step").diff() < 0))
    if not rows["begins"].any():
        return values
    unordered = _unordered(rows, notes)
    rows = rows.with_columns(pl.col("begins") & ~pl.col("run").is_in(unordered)).drop("same")
    rows = rows.sort("run", FILE, LINE, maintain_order=True)
    parts = rows.group_by(_SERIES).agg(pl.col(FILE).n_unique())[FILE]
    changes = (pl.col("metric") != pl.col("metric").shift()).sum() + 1
    blocks = rows.group_by("run").agg(changes - pl.col("metric").n_unique())["metric"]
    # What was logged file by file, or metric by metric, is in order there alone.
    by = ["run", *([FILE] if parts.max() == 1 else []), *([] if blocks.max() else ["metric"])]
    begins = pl.when("begins").then("step").otherwise(2**63 - 1)
    least = begins.reverse().cum_min().reverse().over(by)
    rows = rows.with_columns(lost=pl.col("step") > least)
    lost = rows.filter("lost")
    if lost.is_empty():
        return values
    names = [shown(runs[number]) for number in lost["run"].unique(maintain_order=True)]
    notes.add(
        f"run {few_of(names, 3)} went on from an older checkpoint, and is read without "
        f"{counted(len(lost), 'value')} of later steps before it "
        '(files.lost_branches = "keep" keeps them)'
    )
    return rows.filter(~pl.col("lost")).drop("begins", "lost")


def _unordered(rows: pl.DataFrame, notes: Notes) -> list[int]:
    """Return the runs whose rows are in no order, or the newest first.

    Their steps go below those at which they began, or down at every other row; as do most runs of
    the same file that go down at all.

    Args:
        rows: sorted by run and metric, with whether a row is of the same ones as the row before,
            and begins at an earlier step.
        notes: collects a sentence where they are in no order.
    """
    place, step = pl.struct(FILE, LINE), pl.col("step")
    runs = rows.group_by("run").agg(
        pl.col(FILE).unique(),
        rows=place.n_unique(),
        down=place.filter("begins").n_unique(),
        below=step.filter("begins").min() < step.filter(~pl.col("same")).min(),
    )
    runs = runs.filter(pl.col("down") > 0).explode(FILE)
    runs = runs.with_columns(odd=pl.col("below") | (2 * pl.col("down") >= pl.col("rows")))
    runs = runs.filter(pl.col("odd") | (pl.col("odd").mean().over(FILE) > 0.5))
    if (runs["down"] < runs["rows"] - 1).any():
        notes.add("rows are in no order of their steps, and are sorted")
    return runs["run"].unique().to_list()
