"""Recognises histories that lack steps: steps to result from those would come too late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dbtool.sources.tables.problems import shown

if TYPE_CHECKING:
    from dbtool.sources.tables.reading import Files

# How many steps tools leave of a longer history unless told otherwise: run.history() of Weights &
# Biases, the web interface of TensorBoard, and its readers of event files.
_WANDB = 500
_CAPS = (_WANDB, 1_000, 10_000)


def refuse_final(files: Files) -> None:
    """Refuses runs that have a step each, and not the first, as tables of final values have.

    Args:
        files: what was read.

    Raises:
        RunsError: all runs are such.
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
    """Refuses histories that look sampled.

    Such have just as many steps as a tool leaves, with gaps between them that differ. At Weights &
    Biases' 500 even gaps do not help, unless each step follows on the one before.

    Args:
        files: what was read.
        unit: updates between steps that follow on each other.

    Raises:
        RunsError: there are such.
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
    # Two are of a first or last step that is out of line.
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
