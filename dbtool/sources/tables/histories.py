"""Which values of a run's history count: not NaN for missing ones, nor branches that were lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dbtool.core.errors import counted, few_of
from dbtool.sources.tables import words
from dbtool.store.table_files import shown
from dbtool.store.texts import LINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.sources.tables.problems import Notes

FILE = "\0file"
"""The column of a row's file."""
_SERIES = ["run", "metric"]


def without_missing(values: pl.DataFrame, row: Sequence[str]) -> pl.DataFrame:
    """Drop NaN that stands for no value: beside finite numbers of the same row.

    The loss that is trained on is NaN where it diverged, too: then for longer at the end than ever
    before.

    Args:
        values: run, metric, step, value, `FILE` and `LINE`.
        row: the columns that are equal for values of one row.
    """
    if not values["value"].is_nan().any():
        return values
    is_nan = pl.col("value").is_nan()
    at = pl.int_range(pl.len()).over(_SERIES, order_by="step")
    values = values.with_columns(at=at)
    finite = pl.col("at").filter(~is_nan)
    gaps = values.group_by(_SERIES).agg(
        longest=pl.max_horizontal(finite.sort().diff().max() - 1, finite.min()),
        last=finite.max().fill_null(-1),
        length=pl.len(),
    )
    values = values.join(gaps, on=_SERIES, how="left", maintain_order="left")
    ended = pl.col("length") - 1 - pl.col("last")
    trained = pl.col("metric").is_in(words.trained(values["metric"].unique()))
    diverged = trained & (pl.col("at") > pl.col("last")) & (ended > pl.col("longest").fill_null(0))
    beside = pl.col("value").is_finite().any().over(row)
    return values.filter(~(is_nan & beside & ~diverged)).drop("at", "longest", "last", "length")


def without_lost(values: pl.DataFrame, runs: Sequence[str], notes: Notes) -> pl.DataFrame:
    """Drop values that a run has of later steps than the checkpoint from which it went on.

    It did where a metric goes on at an earlier step than before. Files where that happens time and
    again are in no order, and lose nothing.

    Args:
        values: run, metric, step, value, `FILE` and `LINE`.
        runs: the names of the runs.
        notes: collects a sentence about what is dropped.
    """
    rows = values.sort("run", "metric", FILE, LINE, maintain_order=True)
    same = (pl.col("run") == pl.col("run").shift()) & (pl.col("metric") == pl.col("metric").shift())
    rows = rows.with_columns(begins=same & (pl.col("step").diff() < 0))
    if not rows["begins"].any():
        return values
    rows = rows.sort("run", FILE, LINE, maintain_order=True)
    pairs = rows.select("run", FILE, LINE).n_unique() - rows["run"].n_unique()
    down = rows.filter("begins").select("run", FILE, LINE).n_unique()
    if 4 * down > pairs:
        if down < pairs:
            notes.add("rows are in no order of their steps, and are sorted")
        return values
    parts = rows.group_by(_SERIES).agg(pl.col(FILE).n_unique())[FILE]
    changes = (pl.col("metric") != pl.col("metric").shift()).sum() + 1
    blocks = rows.group_by("run").agg(changes - pl.col("metric").n_unique())["metric"]
    # What was logged file by file, or metric by metric, is in order there alone.
    by = ["run", *([FILE] if parts.max() == 1 else []), *([] if blocks.max() else ["metric"])]
    begins = pl.when("begins").then("step").otherwise(2**63 - 1)
    least = begins.reverse().cum_min().reverse().over(by)
    rows = rows.with_columns(lost=pl.col("step") > least)
    lost = rows.filter("lost")
    names = [shown(runs[number]) for number in lost["run"].unique(maintain_order=True)]
    notes.add(
        f"run {few_of(names, 3)} went on from an older checkpoint: {counted(len(lost), 'value')} "
        'of later steps before it are left out (files.lost_branches = "keep" keeps them)'
    )
    return rows.filter(~pl.col("lost")).drop("begins", "lost")
