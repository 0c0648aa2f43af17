"""Values during training, a line a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from dbtool.figures.kinds import marks
from dbtool.figures.kinds.renderer import KeyEntry, Renderer
from dbtool.figures.kinds.scales import scale_of, set_scale, span_for
from dbtool.figures.style import ACCENT, INK, PERFECT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Curve, Panel

# More lines than this cannot be told apart by colour.
MOST_NAMED = 20
FAINT_LINE = "#b4bcc6"
WIDTH, FAINT_WIDTH = 1.2, 0.5
GOAL_DASHES = (0, (4, 2.2))
DROP_DASHES = (0, (1, 1.6))
RING_SIZE, SMALL_RING_SIZE = 5.5, 4.0
MARGIN = 0.05
SHORTEST = {"log2": 3.0, "log10": 0.5, "linear": 1e-6}


@dataclass(frozen=True)
class CurvesRenderer(Renderer):
    """Lines without markers; where a panel holds a whole study, one of them stands out."""

    point: str = "A curve is one trial during training."
    page: float = 5.8

    def aspect(self, panel: Panel, columns: int) -> float:  # noqa: ARG002 (the protocol's)
        """Wider than high."""
        return {1: 0.66, 2: 0.66}.get(columns, 0.85)

    def draw(self, axes: Axes, panel: Panel, pen: Pen) -> None:
        """Draws the lines, the goal, and the points that steps to result read."""
        scales = [scale_of(panel, "x"), scale_of(panel, "y")]
        lines = [(curve, _line(curve, scales)) for curve in panel.curves]
        points = [point for _, line in lines for point in line]
        goals = sorted(set(panel.values("goal")))
        x = span_for([x for x, _ in points], scales[0], SHORTEST[scales[0]], MARGIN)
        ys = [y for _, y in points] + goals
        y = span_for(ys, scales[1], SHORTEST[scales[1]], MARGIN)
        set_scale(axes, "x", scales[0], x, pen)
        set_scale(axes, "y", scales[1], y, pen)
        for goal in goals:
            axes.axhline(
                goal,
                linestyle=GOAL_DASHES,
                color=PERFECT,
                linewidth=pen.pt(1.0),
                zorder=2,
                label="goal",
            )
        if self.names_curves(panel):
            for place, (curve, line) in enumerate(lines):
                _draw_line(axes, curve, line, curve.colour, pen, 3 + place / 100)
        else:
            _draw_study(axes, lines, pen)
        self._draw_readings(axes, panel, pen)

    def _draw_readings(self, axes: Axes, panel: Panel, pen: Pen) -> None:
        """Rings the points that are read off; of a whole study, drops a line to the axis, too."""
        named = self.names_curves(panel)
        for curve in panel.curves:
            read = _read_off(curve)
            marks.draw_marks(
                axes,
                read,
                marker="o",
                markersize=pen.pt(SMALL_RING_SIZE if named else RING_SIZE),
                markeredgewidth=pen.pt(1.1),
                markerfacecolor="white",
                markeredgecolor=curve.colour if named else INK,
                zorder=7,
                label=f"read off: {curve.name}",
            )
            if not named:
                bottom = axes.get_ylim()[0]
                for x, y in read:
                    axes.vlines(
                        x,
                        bottom,
                        y,
                        linestyles=DROP_DASHES,
                        linewidths=pen.pt(0.9),
                        colors=INK,
                        zorder=2.5,
                        label="drop",
                    )

    def names_curves(self, panel: Panel) -> bool:
        """Unless they are the trials of a whole study."""
        few = len(panel.curves) <= MOST_NAMED * max(1, panel.releases)
        trials = panel.first("workload") is not None and panel.first("best") is not None
        return few and not trials

    def sample(self, name: str, place: int) -> Mapping[str, Any]:  # noqa: ARG002 (the protocol's)
        """A line."""
        return {"linestyle": marks.DASHES[place % len(marks.DASHES)], "linewidth": WIDTH}

    def key(self, panels: Sequence[Panel]) -> list[KeyEntry]:
        """The goal, the points read off, and whose lines stand out."""
        curves = [curve for panel in panels for curve in panel.curves]
        entries = []
        studies = [panel for panel in panels if not self.names_curves(panel)]
        if any(any(curve.flags("best")) for panel in studies for curve in panel.curves):
            look = {"linestyle": "-", "color": ACCENT, "linewidth": WIDTH}
            text = "the trial that reached the goal first"
            entries.append(KeyEntry(text, "strong line", look))
        if studies:
            look = {"linestyle": "-", "color": FAINT_LINE, "linewidth": 0.8}
            entries.append(KeyEntry("the other trials of the study", "faint line", look))
        if any(panel.values("goal") for panel in panels):
            look = {"linestyle": GOAL_DASHES, "color": PERFECT, "linewidth": 1.0}
            entries.append(KeyEntry("goal", "dashed line", look))
        if any(_read_off(curve) for curve in curves):
            look = marks.mark(marker="o", markersize=RING_SIZE, markerfacecolor="white", color=INK)
            entries.append(KeyEntry("where steps to result are read off", "ring", look))
        return entries


def _line(curve: Curve, scales: Sequence[str]) -> list[tuple[float, float]]:
    """The curve's points that have a place on axes of those scales."""
    x_least, y_least = (-math.inf if scale == "linear" else 0.0 for scale in scales)
    return [
        (x, y)
        for x, y in zip(curve.column("x"), curve.column("y"), strict=True)
        if y is not None and math.isfinite(y) and x > x_least and y > y_least
    ]


def _read_off(curve: Curve) -> list[tuple[float, float]]:
    return [
        (x, y)
        for x, y, read in zip(
            curve.column("x"), curve.column("y"), curve.flags("read_off"), strict=True
        )
        if read and y is not None
    ]


def _draw_line(
    axes: Axes,
    curve: Curve,
    line: Sequence[tuple[float, float]],
    colour: str,
    pen: Pen,
    order: float,
) -> None:
    axes.add_line(
        Line2D(
            [x for x, _ in line],
            [y for _, y in line],
            color=colour,
            linestyle=marks.DASHES[curve.place % len(marks.DASHES)],
            linewidth=pen.pt(WIDTH),
            zorder=order,
            label=f"line: {curve.name}",
        )
    )


def _draw_study(
    axes: Axes, lines: Sequence[tuple[Curve, list[tuple[float, float]]]], pen: Pen
) -> None:
    """Draws the trials of a study faintly, as one artist, and the one that was first over them."""
    faint = [line for curve, line in lines if not any(curve.flags("best"))]
    axes.add_collection(
        LineCollection(
            faint, colors=FAINT_LINE, linewidths=pen.pt(FAINT_WIDTH), zorder=2.2, label="trials"
        ),
        autolim=False,
    )
    for curve, line in lines:
        if any(curve.flags("best")):
            _draw_line(axes, curve, line, ACCENT, pen, 4)
