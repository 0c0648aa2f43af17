"""The words under a figure: where its points come from, what is marked, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dbtool import __version__
from dbtool.figures import gaps
from dbtool.figures.names import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec


def caption_of(points: Points, spec: FigureSpec) -> list[str]:
    """The caption's paragraphs: release, trials, goal, version; then what is absent."""
    rows = points.rows
    facts = [
        f"Release: {points.release}",
        _trials(rows),
        _goals(rows),
        f"dbtool\N{NO-BREAK SPACE}{__version__}",
    ]
    sentences = [
        " · ".join(facts),
        _not_reached(rows),
        _at_the_start(rows),
        _not_normalised(rows) if spec.kind == "normalised" else "",
        _left_out(points),
    ]
    return [sentence for sentence in sentences if sentence]


def left_out_names(points: Points) -> list[str]:
    """What the release has no data of: whole panels by their titles, else "PANEL (CURVE, …)"."""
    return gaps.left_out_names(points.rows, points.left_out)


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _trials(rows: pl.DataFrame) -> str:
    used = _range(rows["trials"].to_list())
    asked = _range(rows["asked_trials"].to_list())
    fewer = bool((rows["trials"] < rows["asked_trials"]).any())
    noun = "trial" if used == "1" else "trials"
    return f"{used} {noun} a study" + (f" of the {asked} asked for" if fewer else "")


def _goals(rows: pl.DataFrame) -> str:
    goals = rows["goal_text"].unique(maintain_order=True).to_list()
    return f"goal: {goals[0]}" if len(goals) == 1 else "goals as in the panels"


def _sizes_by_curve(rows: pl.DataFrame) -> str:
    """The rows as "CURVE at 1, 2 (PANEL); …", without curves that the panel's title names."""
    grouped = rows.group_by("panel", "series", maintain_order=True).agg("x")
    parts = []
    for panel, series, sizes in grouped.iter_rows():
        title, curve = readable(panel), readable(series)
        name = title if curve in title else f"{curve} ({title})"
        parts.append(f"{name} at batch size {', '.join(map(str, sizes))}")
    return "; ".join(parts)


def _not_reached(rows: pl.DataFrame) -> str:
    missing = rows.filter(pl.col("steps").is_null())
    return "" if missing.is_empty() else f"Goal not reached: {_sizes_by_curve(missing)}."


def _at_the_start(rows: pl.DataFrame) -> str:
    missing = rows.filter(pl.col("steps") == 0)
    return "" if missing.is_empty() else f"Goal passed before step 1: {_sizes_by_curve(missing)}."


def _not_normalised(rows: pl.DataFrame) -> str:
    missing = rows.filter(pl.col("y").is_null() & (pl.col("steps") > 0))
    if missing.is_empty():
        return ""
    names = missing["series"].unique(maintain_order=True).to_list()
    return (
        "Not drawn, for want of steps at the batch size to divide by: "
        f"{', '.join(readable(name) for name in names)}."
    )


def _left_out(points: Points) -> str:
    names = left_out_names(points)
    return f"No data in this release: {'; '.join(names)}." if names else ""
