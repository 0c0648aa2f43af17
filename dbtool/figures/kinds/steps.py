"""Steps to result against batch size, as they are or divided by those at one batch size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from dbtool.figures.geometry import Span, equal_octaves
from dbtool.figures.kinds import marks
from dbtool.figures.kinds.renderer import Renderer
from dbtool.figures.kinds.scales import set_scale, span_for
from dbtool.figures.kinds.words import not_reached, sizes_by_curve
from dbtool.figures.names import readable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.kinds.renderer import KeyEntry
    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Panel

# Octaves between the outermost points and the ends of an axis.
MARGIN = 0.7
FEWEST_OCTAVES = 4.0
# The share of spare room below: that is where perfect scaling leads.
ROOM_BELOW = 0.7
GUIDES = ("perfect",)


@dataclass(frozen=True)
class StepsRenderer(Renderer):
    """Markers joined by a line on two logarithmic axes whose octaves are equally long.

    Attributes:
        normalised: whether y is relative to the steps at one batch size.
    """

    normalised: bool = False
    page: float = 5.4

    @property
    def point(self) -> str:
        """What a point is."""
        what = "the fewest steps to the goal of any trial of a study"
        if self.normalised:
            return f"A point is {what}, divided by those at the batch size named above the panel."
        return f"A point is {what}, which is the search at one batch size."

    def aspect(self, panel: Panel, columns: int) -> float:  # noqa: ARG002 (the protocol's)
        """Nearly square."""
        return {1: 0.76, 2: 0.82}.get(columns, 0.9)

    def remark(self, panel: Panel) -> str:
        """The batch size that a normalised panel is relative to; none where no curve has points."""
        size = panel.first("normalise_at") if self.normalised else None
        return "" if size is None else f"relative to batch size {size:,}"

    def draw(self, axes: Axes, panel: Panel, pen: Pen) -> None:
        """Draws curves, the lines of perfect scaling, and crosses where no trial got there."""
        ys = [y for y in panel.values("y") if y > 0]
        x = span_for(panel.values("x"), "log2", FEWEST_OCTAVES, 0).widened(MARGIN, MARGIN)
        y = span_for(ys, "log2", FEWEST_OCTAVES, 0).widened(MARGIN, MARGIN)
        falls = panel.first("perfect") is not None
        x, y = equal_octaves(x, y, pen.width, pen.height, ROOM_BELOW if falls else 0.5)
        x = from_one(x)
        y = with_room_above(y, max(ys, default=0.0), marks.room_for_crosses(panel, pen.height))
        set_scale(axes, "x", "log2", x, pen)
        set_scale(axes, "y", "log2", y, pen)
        marks.draw_guides(axes, panel, GUIDES, pen)
        for place, curve in enumerate(panel.curves):
            marks.draw_curve(axes, curve, pen, 3 + place)
        marks.draw_unreached(axes, panel, pen)
        if not ys:
            axes.set_yticks([])
            marks.say_none(axes, "no trial reached the goal", pen)

    def sample(self, name: str, place: int) -> Mapping[str, Any]:  # noqa: ARG002 (the protocol's)
        """A marker on a line."""
        return marks.sample(place)

    def key(self, panels: Sequence[Panel]) -> list[KeyEntry]:
        """Perfect scaling, and the gaps."""
        return marks.guide_entries(panels, GUIDES) + marks.gap_entries(panels)

    def notes(self, rows: pl.DataFrame) -> list[str]:
        """Batch sizes without a point, and why."""
        notes = not_reached(rows)
        early = rows.filter(pl.col("steps") == 0)
        if not early.is_empty():
            notes.append(f"Goal passed before step 1: {sizes_by_curve(early)}.")
        missing = rows.filter(pl.col("y").is_null() & (pl.col("steps") > 0))
        if not missing.is_empty():
            names = missing["series"].unique(maintain_order=True).to_list()
            notes.append(
                "Not drawn, for want of steps at the batch size to divide by: "
                f"{', '.join(readable(name) for name in names)}."
            )
        return notes


def from_one(span: Span) -> Span:
    """A stretch of batch sizes in octaves, moved up where it would begin far below 1."""
    up = max(0.0, -MARGIN - span.low)
    return Span(span.low + up, span.high + up)


def with_room_above(span: Span, highest: float, share: float) -> Span:
    """A stretch in octaves, longer where the highest value would lie below the crosses."""
    if not share or highest <= 0:
        return span
    top = math.log2(highest)
    needed = span.low + (top + 0.3 - span.low) / (1 - share)
    return Span(span.low, max(span.high, needed))
