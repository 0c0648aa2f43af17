"""A metaparameter of the trial that reached the goal first, against batch size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dbtool.figures.geometry import Span, equal_octaves
from dbtool.figures.kinds import marks
from dbtool.figures.kinds.renderer import KeyEntry, Renderer
from dbtool.figures.kinds.scales import set_scale, span_for
from dbtool.figures.kinds.steps import FEWEST_OCTAVES, MARGIN, from_one, with_room_above
from dbtool.figures.kinds.words import not_reached
from dbtool.figures.style import FAINT, RING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from matplotlib.axes import Axes

    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Curve, Panel

GUIDES = ("linear", "square_root")
# The share of spare room below: the scaling rules lead upwards.
ROOM_BELOW = 0.3
# A border of the searched range this many octaves from a point is drawn.
NEAR_BORDER = 1.5
RING_SIZE = 8.5
OCTAVES_A_DECADE = math.log2(10)


@dataclass(frozen=True)
class MetaparameterRenderer(Renderer):
    """Markers joined by a line, scaling rules, and rings round trials at a border."""

    point: str = (
        "A point is the metaparameter of the trial that reached the goal first, of the search at "
        "one batch size."
    )
    page: float = 5.4

    def aspect(self, panel: Panel, columns: int) -> float:  # noqa: ARG002 (the protocol's)
        """Nearly square."""
        return {1: 0.76, 2: 0.82}.get(columns, 0.9)

    def draw(self, axes: Axes, panel: Panel, pen: Pen) -> None:
        """Draws curves, scaling rules, rings, and shading beyond a border that was come near."""
        ys = [y for y in panel.values("y") if y > 0]
        crowded = [curve for curve in panel.curves if any(curve.flags("at_border"))]
        borders = [
            border
            for curve in crowded
            for border in (*curve.column("low"), *curve.column("high"))
            if border and any(abs(math.log2(border / y)) < NEAR_BORDER for y in ys)
        ]
        x = span_for(panel.values("x"), "log2", FEWEST_OCTAVES, 0).widened(MARGIN, MARGIN)
        y = span_for([*ys, *borders], "log2", FEWEST_OCTAVES, 0).widened(MARGIN, MARGIN)
        x, y = equal_octaves(x, y, pen.width, pen.height, ROOM_BELOW)
        x = from_one(x)
        y = with_room_above(y, max(ys, default=0.0), marks.room_for_crosses(panel, pen.height))
        set_scale(axes, "x", "log2", x, pen)
        decades = Span(y.low / OCTAVES_A_DECADE, y.high / OCTAVES_A_DECADE)
        set_scale(axes, "y", "log10", decades, pen)
        for curve in crowded:
            _shade_beyond(axes, curve)
        marks.draw_guides(axes, panel, GUIDES, pen)
        for place, curve in enumerate(panel.curves):
            marks.draw_curve(axes, curve, pen, 3 + place)
            _draw_rings(axes, curve, pen, 3 + place)
        marks.draw_unreached(axes, panel, pen)
        if not ys:
            axes.set_yticks([])
            marks.say_none(axes, "no trial reached the goal", pen)

    def sample(self, name: str, place: int) -> Mapping[str, Any]:  # noqa: ARG002 (the protocol's)
        """A marker on a line."""
        return marks.sample(place)

    def key(self, panels: Sequence[Panel]) -> list[KeyEntry]:
        """The scaling rules, the gaps, and the rings."""
        entries = marks.guide_entries(panels, GUIDES) + marks.gap_entries(panels)
        curves = [curve for panel in panels for curve in panel.curves]
        if any(_at_border(curve) for curve in curves):
            look = marks.mark(marker="o", markersize=8.0, markerfacecolor="none", color=RING)
            text = "within 5 % of the border of the searched range"
            if any(_at_border(curve) and any(curve.column("low")) for curve in curves):
                text += " (shaded beyond)"
            entries.append(KeyEntry(text, "ring", look))
        return entries

    def notes(self, rows: pl.DataFrame) -> list[str]:
        """Batch sizes without a point."""
        return not_reached(rows)


def _at_border(curve: Curve) -> list[tuple[float, float]]:
    """The points whose trial lies at a border of what was searched."""
    return [
        (x, y)
        for x, y, at_border in zip(
            curve.column("x"), curve.column("y"), curve.flags("at_border"), strict=True
        )
        if at_border and y is not None and y > 0
    ]


def _draw_rings(axes: Axes, curve: Curve, pen: Pen, order: float) -> None:
    marks.draw_marks(
        axes,
        _at_border(curve),
        marker="o",
        markersize=pen.pt(RING_SIZE),
        markeredgewidth=pen.pt(0.9),
        markerfacecolor="none",
        markeredgecolor=RING,
        zorder=order,
        label=f"ring: {curve.name}",
    )


def _shade_beyond(axes: Axes, curve: Curve) -> None:
    """Shades what lies outside the searched range, which may be another one at every batch size."""
    bottom, top = axes.get_ylim()
    rows = [
        (x, low, high)
        for x, low, high in zip(
            curve.column("x"), curve.column("low"), curve.column("high"), strict=True
        )
        if low is not None and high is not None
    ]
    if not rows:
        return
    # Steps change half-way between two batch sizes, on the axis's scale.
    left, right = axes.get_xlim()
    middles = [math.sqrt(a[0] * b[0]) for a, b in pairwise(rows)]
    edges = [left, *middles, right]
    xs = [edge for pair in pairwise(edges) for edge in pair]
    lows = [low for _, low, _ in rows for _ in range(2)]
    highs = [high for _, _, high in rows for _ in range(2)]
    for border, far in ((lows, bottom), (highs, top)):
        outside = [max(v, bottom) if far == bottom else min(v, top) for v in border]
        axes.fill_between(xs, outside, far, color=FAINT, lw=0, zorder=0)
