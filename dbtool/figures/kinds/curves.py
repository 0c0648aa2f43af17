"""Values during training, a line a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.figures import marks
from dbtool.figures.kinds.renderer import Renderer
from dbtool.figures.scales import set_scales, span_of
from dbtool.figures.style import ACCENT, INK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.panel import Curve, Panel
    from dbtool.figures.scales import Size
    from dbtool.figures.specs import Scale

# More lines than this cannot be told apart by colour.
MOST_NAMED = 20
SMALL_RING_SIZE, LONE_SIZE = 4.0, 2.4
MARGIN = 0.05
SHORTEST = {"log2": 3.0, "log10": 1.7, "linear": 1e-6}
# The trials of a whole study.
FAINT: dict[str, Any] = {
    "color": marks.FAINT_LINE,
    "linewidth": 0.5,
    "linestyle": "-",
    "zorder": 2.2,
}
NAMELESS: Mapping[str, dict[str, Any]] = {
    "first": {"color": ACCENT, "zorder": 4},
    "others": FAINT,
    "study": FAINT,
}


@dataclass(frozen=True)
class CurveRenderer(Renderer):
    """Lines without markers; where a panel holds a whole study, one of them stands out."""

    point: str = "A curve is one trial during training."
    labels: tuple[str, str] = ("step", "{}")
    scales: tuple[Scale, Scale] = ("log2", "log10")
    page: float = 5.8
    aspects: tuple[float, float, float] = (0.66, 0.66, 0.85)

    def names_curves(self, panel: Panel) -> bool:
        """Unless they are the trials of a whole study."""
        few = len(panel.curves) <= MOST_NAMED * max(1, panel.releases)
        trials = panel.first("workload") is not None and panel.first("best") is not None
        return few and not trials

    def draw(self, axes: Axes, panel: Panel, size: Size) -> None:
        """Draws the lines, the goal, and the points that steps to result read."""
        lines = [(curve, _line(curve, panel.scales)) for curve in panel.curves]
        points = [point for _, line in lines for point in line]
        goals = _goals(panel)
        x, y = (
            span_of(values, scale, SHORTEST[scale], MARGIN)
            for values, scale in zip(
                ([x for x, _ in points], [y for _, y in points] + goals), panel.scales, strict=True
            )
        )
        set_scales(axes, panel.scales, x, y, size)
        for goal in goals:
            axes.axhline(goal, zorder=2, label="goal", **marks.KEY["goal"].look)
        rest = "others" if any(any(curve.column("best")) for curve in panel.curves) else "study"
        for index, (curve, line) in enumerate(lines):
            look = {"color": curve.colour, "zorder": 3 + index / 100}
            name = "line"
            if not self.names_curves(panel):
                name = "first" if any(curve.column("best")) else rest
                look = NAMELESS[name]
            if len(line) == 1:
                # No line joins a point to itself.
                look = look | {"marker": "o", "markersize": LONE_SIZE}
            axes.plot(
                [x for x, _ in line],
                [y for _, y in line],
                label=f"{name}: {curve.name}",
                **{**self.sample("", curve.release_index), **look},
            )
        self._draw_readings(axes, panel)

    def _draw_readings(self, axes: Axes, panel: Panel) -> None:
        """Rings the points that are read off; of a whole study, drops a line to the axis, too."""
        named = self.names_curves(panel)
        for curve in panel.curves:
            read = curve.marked("read_off")
            marks.dots(
                axes,
                read,
                zorder=7,
                label=f"read off: {curve.name}",
                **{
                    **marks.KEY["read off"].look,
                    "markersize": SMALL_RING_SIZE if named else marks.RING_SIZE,
                    "color": curve.colour if named else INK,
                },
            )
            if read and not named:
                xs, ys = zip(*read, strict=True)
                axes.vlines(
                    xs, axes.get_ylim()[0], ys, INK, marks.FRAME, linewidths=0.9, zorder=2.5
                )

    def sample(self, name: str, release_index: int) -> Mapping[str, Any]:  # noqa: ARG002 (others look at it)
        """A line."""
        dashes = marks.DASHES[release_index % len(marks.DASHES)]
        return {"linestyle": dashes, "linewidth": marks.CURVE_WIDTH}


def _goals(panel: Panel) -> list[float]:
    return sorted(
        {
            goal
            for curve in panel.curves
            for goal, metric, goal_metric in curve.columns("goal", "metric", "goal_metric")
            if goal is not None and goal_metric in (None, metric)
        }
    )


def _line(curve: Curve, scales: Sequence[str]) -> list[tuple[float, float]]:
    """The curve's points that axes of those scales have room for."""
    x_least, y_least = (-math.inf if scale == "linear" else 0.0 for scale in scales)
    return [
        (x, y)
        for x, y in curve.columns("x", "y")
        if y is not None and math.isfinite(y) and x > x_least and y > y_least
    ]
