"""The best value of a metric within a budget, against batch size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from dbtool.figures.geometry import Span
from dbtool.figures.kinds import marks
from dbtool.figures.kinds.renderer import Renderer
from dbtool.figures.kinds.scales import scale_of, set_scale, span_for
from dbtool.figures.kinds.words import sizes_by_curve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.kinds.renderer import KeyEntry
    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Panel

FEWEST_OCTAVES = 3.0
X_MARGIN, Y_MARGIN = 0.05, 0.07


@dataclass(frozen=True)
class BestRenderer(Renderer):
    """Markers joined by a line; the vertical axis is linear unless the rows say otherwise."""

    point: str = "A point is the best value measured by any trial of the search at one batch size."
    page: float = 5.4

    def aspect(self, panel: Panel, columns: int) -> float:  # noqa: ARG002 (the protocol's)
        """Wider than high, as the curves are flat."""
        return {1: 0.62, 2: 0.64}.get(columns, 0.8)

    def draw(self, axes: Axes, panel: Panel, pen: Pen) -> None:
        """Draws curves, within y_low and y_high where the rows have them."""
        scale = scale_of(panel, "y")
        low, high = panel.first("y_low"), panel.first("y_high")
        x = span_for(panel.values("x"), "log2", FEWEST_OCTAVES, X_MARGIN)
        y = span_for(panel.values("y"), scale, 0.3 if scale == "log10" else 1e-6, Y_MARGIN)
        if low is not None and high is not None:
            y = Span(low, high) if scale == "linear" else span_for([low, high], scale, 0.3, 0)
        set_scale(axes, "x", "log2", x, pen)
        set_scale(axes, "y", scale, y, pen)
        for place, curve in enumerate(panel.curves):
            marks.draw_curve(axes, curve, pen, 3 + place, positive=scale != "linear")
        if not panel.values("y"):
            axes.set_yticks([])
            marks.say_none(axes, "no value within the budget", pen)

    def sample(self, name: str, place: int) -> Mapping[str, Any]:  # noqa: ARG002 (the protocol's)
        """A marker on a line."""
        return marks.sample(place)

    def key(self, panels: Sequence[Panel]) -> list[KeyEntry]:
        """Hollow markers."""
        return [entry for entry in marks.gap_entries(panels) if entry.shape == "hollow marker"]

    def notes(self, rows: pl.DataFrame) -> list[str]:
        """Points without a value, and those that a closer look leaves out."""
        notes = []
        empty = rows.filter(pl.col("y").is_null())
        if not empty.is_empty():
            notes.append(f"No finite value: {sizes_by_curve(empty)}.")
        if {"y_low", "y_high"} <= set(rows.columns):
            beyond = rows.filter(
                (pl.col("y") < pl.col("y_low")) | (pl.col("y") > pl.col("y_high"))
            ).height
            if beyond:
                points = "point lies" if beyond == 1 else "points lie"
                notes.append(f"{beyond} {points} beyond the vertical axes (see the CSV).")
        return notes
