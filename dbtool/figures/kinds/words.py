"""Sentences of captions that several kinds share."""

from __future__ import annotations

import polars as pl

from dbtool.figures.names import readable

# A list of more batch sizes than this is left to the CSV.
MOST_LISTED = 12


def sizes_by_curve(rows: pl.DataFrame, x: str = "batch size", *, several: bool = False) -> str:
    """The rows as "CURVE at batch size 1, 2 (PANEL); …", or how many there are of them.

    Args:
        rows: with the columns panel, series, x, release.
        x: what x is.
        several: whether to say which release a curve is from.
    """
    grouped = rows.group_by("panel", "series", "release", maintain_order=True).agg("x")
    if grouped.height > MOST_LISTED:
        return f"at {rows.height} points of {grouped.height} curves (see the CSV)"
    parts = []
    for panel, series, release, sizes in grouped.iter_rows():
        title, curve = readable(panel), readable(series)
        name = title if curve in title else f"{curve} ({title})"
        origin = f" in {release}" if several else ""
        parts.append(f"{name}{origin} at {x} {', '.join(f'{size:,}' for size in sizes)}")
    return "; ".join(parts)


def not_reached(rows: pl.DataFrame, x: str = "batch size") -> list[str]:
    """Where no trial reached the goal, at most one sentence."""
    missing = rows.filter(pl.col("steps").is_null())
    if missing.is_empty():
        return []
    listed = sizes_by_curve(missing, x, several=rows["release"].n_unique() > 1)
    return [f"Goal not reached: {listed}."]
