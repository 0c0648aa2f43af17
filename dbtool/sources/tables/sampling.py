"""Recognizes histories that lack steps: their steps to result would come too late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dbtool.sources.tables.problems import shown

if TYPE_CHECKING:
    from dbtool.sources.tables.reading import Files

# How many steps of a longer history tools keep by default: run.history() of Weights & Biases, the
# web interface of TensorBoard, and its readers of event files.
_WANDB = 500
_CAPS = (_WANDB, 1_000, 10_000)


def refuse_final(files: Files) -> None:
    """Refuse runs with one step each, other than the first, as tables of final values have.

    Args:
        files: the contents of the files.

    Raises:
        RunsError: all runs are like this.
    """
    values = files.values
    each = values.select("run", "step").n_unique() == values["run"].n_unique()
    if values.is_empty() or not each or values["step"].min() == 0:
        return
    names = " and ".join(files.of_rows)
    instead = f", and {names}, which differs in each row, does name the runs" if names else ""
    raise files.runs[values["run"][0]].first.error(
        None,
        "each run has one step, as tables of final values have: when it came past a goal is not in "
        f"them; say files.sampled = true to take what there is{instead}",
    )


def refuse_sampled(files: Files, unit: int) -> None:
    """Refuse histories that look sampled.

    They have exactly as many steps as a tool keeps, with gaps of different sizes between them. With
    Weights & Biases' 500 steps, even gaps are refused too, unless each step directly follows the
    one before.

    Args:
        files: the contents of the files.
        unit: updates between consecutive steps.

    Raises:
        RunsError: a history looks sampled.
    """
    # All steps of a run, and those of each metric.
    every = files.values.select("run", pl.lit(None, pl.String).alias("metric"), "step").unique()
    gaps = (
        pl.concat([every, files.values.select("run", "metric", "step")])
        .sort("step")
        .group_by("run", "metric")
        .agg(
            pl.len(),
            pl.col("step").diff().drop_nulls().n_unique().alias("gaps"),
            pl.col("step").diff().max().alias("most"),
        )
    )
    # Two kinds of gaps come from a first or last step that is out of line.
    uneven = pl.col("len").is_in(_CAPS) & (pl.col("gaps") > 2)
    apart = (pl.col("len") == _WANDB) & pl.col("metric").is_null() & (pl.col("most") > unit)
    sampled = gaps.filter(uneven | apart).sort("run", "len")
    if sampled.is_empty():
        return
    run, count = files.runs[sampled["run"][0]], sampled["len"][0]
    others = sampled["run"].n_unique() - 1
    raise run.first.error(
        None,
        f"the history of run {shown(run.name)}{f' and of {others:,} more' if others else ''} has "
        f"exactly {count:,} steps with gaps, as tools leave them of a longer one (run.history() of "
        "Weights & Biases does unless told otherwise; scan_history() leaves nothing out): steps to "
        "result would come too late; say files.sampled = false if nothing is missing, or true to "
        "take what there is",
    )
