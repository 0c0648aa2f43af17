"""Every trial of the searches at all batch sizes, a panel a metaparameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.collections import PolyCollection

from dbtool.figures.kinds.outcomes import (
    ACHIEVED,
    INFEASIBLE,
    draw_best,
    draw_trials,
    key_of_best,
    outcome_sample,
)
from dbtool.figures.kinds.renderer import KeyEntry, Renderer
from dbtool.figures.kinds.scales import Scale, set_scale, span_for
from dbtool.figures.style import BAND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from matplotlib.axes import Axes

    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Panel

# Octaves from a batch size to the lanes of its outcomes, and half the width of its column.
LANES: Mapping[str, float] = {ACHIEVED: -0.22, INFEASIBLE: 0.22}
HALF_COLUMN = 0.36
Y_MARGIN = 0.07


@dataclass(frozen=True)
class GridRenderer(Renderer):
    """A column a batch size, in it a lane an outcome, in it a dot a trial at its value."""

    point: str = (
        "A point is one trial, complete or infeasible, at its value of the metaparameter; the "
        "outcomes of a batch size stand side by side."
    )
    page: float = 7.0

    def aspect(self, panel: Panel, columns: int) -> float:  # noqa: ARG002 (the protocol's)
        """Wide and low."""
        return {1: 0.25, 2: 0.45}.get(columns, 0.7)

    def draw(self, axes: Axes, panel: Panel, pen: Pen) -> None:
        """Draws the searched range of each batch size as a band, and the trials over it."""
        scale: Scale = "linear" if panel.first("scale") == "linear" else "log10"
        borders = [*panel.values("low"), *panel.values("high")]
        x = span_for(panel.values("x"), "log2", 0.0, 0).widened(0.75, 0.75)
        least = 1e-6 if scale == "linear" else 0.5
        y = span_for([*panel.values("y"), *borders], scale, least, Y_MARGIN)
        set_scale(axes, "x", "log2", x, pen)
        set_scale(axes, "y", scale, y, pen)
        axes.grid(visible=False, axis="x")
        _draw_bands(axes, panel)
        for curve in panel.curves:
            lane = 2.0 ** LANES.get(curve.name, 0.0)
            places = [x * lane for x in curve.column("x")]
            draw_trials(axes, curve, places, pen)
            draw_best(axes, curve, places, pen)

    def sample(self, name: str, place: int) -> Mapping[str, Any]:
        """A dot or a cross."""
        return outcome_sample(name, place)

    def key(self, panels: Sequence[Panel]) -> list[KeyEntry]:
        """The stars and the bands."""
        entries = key_of_best(panels)
        if any(panel.values("low") for panel in panels):
            look = {"linestyle": "-", "color": BAND, "linewidth": 6.0, "solid_capstyle": "butt"}
            entries.append(KeyEntry("searched range", "band", look))
        return entries

    def notes(self, rows: pl.DataFrame) -> list[str]:
        """Batch sizes at which no trial reached the goal."""
        reached = set(rows.filter(rows["series"] == ACHIEVED)["x"])
        missing = sorted(set(rows["x"]) - reached)
        sizes = ", ".join(f"{size:,}" for size in missing)
        return [f"No trial reached the goal at batch size {sizes}."] if missing else []


def _draw_bands(axes: Axes, panel: Panel) -> None:
    """Draws the searched range of each batch size, as one artist."""
    ranges = {
        (x, low, high)
        for curve in panel.curves
        for x, low, high in zip(
            curve.column("x"), curve.column("low"), curve.column("high"), strict=True
        )
        if low is not None and high is not None
    }
    half = 2.0**HALF_COLUMN
    boxes = [
        [(x / half, low), (x * half, low), (x * half, high), (x / half, high)]
        for x, low, high in sorted(ranges)
    ]
    axes.add_collection(
        PolyCollection(boxes, facecolors=BAND, linewidths=0, zorder=0.5, label="searched range"),
        autolim=False,
    )
