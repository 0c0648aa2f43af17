"""Steps to result against another quantity than batch size, such as sparsity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.figures.kinds import marks
from dbtool.figures.kinds.renderer import Renderer
from dbtool.figures.kinds.scales import set_scale, span_for
from dbtool.figures.kinds.steps import MARGIN, with_room_above
from dbtool.figures.kinds.words import not_reached

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from matplotlib.axes import Axes

    from dbtool.figures.kinds.renderer import KeyEntry
    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Panel


# Percentages are read against the whole, also where few of them have been measured.
WHOLE = (0.0, 100.0)


@dataclass(frozen=True)
class AgainstRenderer(Renderer):
    """Markers joined by a line, a linear axis below and octaves upwards."""

    point: str = (
        "A point is the fewest steps to the goal of any trial of the search at one sparsity and "
        "batch size."
    )
    page: float = 5.4

    def aspect(self, panel: Panel, columns: int) -> float:  # noqa: ARG002 (the protocol's)
        """Nearly square."""
        return {1: 0.76, 2: 0.82}.get(columns, 0.95)

    def draw(self, axes: Axes, panel: Panel, pen: Pen) -> None:
        """Draws curves, and crosses where no trial reached the goal."""
        ys = [y for y in panel.values("y") if y > 0]
        y = span_for(ys, "log2", 3.0, 0).widened(MARGIN, MARGIN)
        y = with_room_above(y, max(ys, default=0.0), marks.room_for_crosses(panel, pen.height))
        set_scale(
            axes, "x", "linear", span_for([*panel.values("x"), *WHOLE], "linear", 1.0, 0.04), pen
        )
        set_scale(axes, "y", "log2", y, pen)
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
        """The gaps."""
        return marks.gap_entries(panels)

    def notes(self, rows: pl.DataFrame) -> list[str]:
        """Sparsities without a point."""
        return not_reached(rows, "sparsity")
