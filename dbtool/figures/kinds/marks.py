"""Marks that several kinds share: curves, guides, crosses, and their entries in the key."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from dbtool.figures.kinds.renderer import KeyEntry
from dbtool.figures.style import LABEL, PERFECT, QUIET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Curve, Panel

# By the place of a release.
MARKERS = ("^", "o", "s", "D", "v")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (2.6, 1.1)),
    (0, (1.0, 1.0)),
    (0, (5, 1.2, 1, 1.2)),
    (0, (8, 2)),
)
MARKER_SIZE, LINE_WIDTH = 4.6, 1.4
# By the place of a release, too.
CROSSES = ("x", "+", "1", "2", "3")
CROSS_SIZE, CROSS_WIDTH = 4.2, 1.2
# The dashes of lines to compare with; the guides' names are the columns that hold them.
GUIDE_DASHES: Mapping[str, Any] = {
    "perfect": (0, (4, 2.2)),
    "linear": (0, (4, 2.2)),
    "square_root": (0, (1, 1.8)),
}
# Between logarithmic axes.
GUIDE_SLOPES: Mapping[str, float] = {"perfect": -1.0, "linear": 1.0, "square_root": 0.5}
GUIDE_WORDS: Mapping[str, tuple[str, str]] = {
    "perfect": ("perfect scaling", "dashed line"),
    "linear": ("linear scaling", "dashed line"),
    "square_root": ("square-root scaling", "dotted line"),
}
# Crosses hang from the top edge, a row a curve, while there is room for rows.
CROSS_TOP, CROSS_STEP, CROSS_ROOM = 0.97, 0.045, 0.27


def sample(place: int) -> dict[str, Any]:
    """How a curve with markers looks in a release, all but its colour."""
    return {
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[place % len(DASHES)],
        "markersize": MARKER_SIZE,
        "linewidth": LINE_WIDTH,
    }


def draw_curve(axes: Axes, curve: Curve, pen: Pen, order: float, *, positive: bool = True) -> None:
    """Draws markers joined by a line, which breaks where there is no point.

    Args:
        axes: to draw in.
        curve: with the columns x, y, trials and asked_trials.
        pen: the scale.
        order: what lies over what.
        positive: whether only positive values have a place on the axes.
    """
    xs = curve.column("x")
    ys = [
        math.nan if y is None or not math.isfinite(y) or (positive and y <= 0) else y
        for y in curve.column("y")
    ]
    look = sample(curve.place)
    marker = look.pop("marker")
    axes.add_line(
        Line2D(
            xs,
            ys,
            color=curve.colour,
            linestyle=look["linestyle"],
            linewidth=pen.pt(LINE_WIDTH),
            zorder=order,
            label=f"line: {curve.name}",
        )
    )
    for hollow in (False, True):
        chosen = [
            (x, y)
            for x, y, fewer in zip(xs, ys, curve.fewer(), strict=True)
            if fewer == hollow and not math.isnan(y)
        ]
        draw_marks(
            axes,
            chosen,
            label=f"{'hollow' if hollow else 'full'}: {curve.name}",
            marker=marker,
            markersize=pen.pt(MARKER_SIZE),
            markeredgewidth=pen.pt(1.0),
            markeredgecolor=curve.colour,
            markerfacecolor="white" if hollow else curve.colour,
            zorder=order + 0.5,
        )


def draw_marks(
    axes: Axes,
    points: Sequence[tuple[float, float]],
    **look: Any,
) -> None:
    """Draws marks that no line joins, as one artist; nothing where there are no points."""
    if points:
        axes.add_line(
            Line2D([x for x, _ in points], [y for _, y in points], linestyle="none", **look)
        )


def draw_guides(axes: Axes, panel: Panel, names: Sequence[str], pen: Pen) -> None:
    """Draws each line to compare with once, grey where all curves have the same."""
    for name in names:
        guides = _guides(panel, name)
        shared = len(guides) == 1
        for curve, points in guides:
            if len(points) < 2:
                continue
            line = sorted(points.items())
            axes.add_line(
                Line2D(
                    [x for x, _ in line],
                    [y for _, y in line],
                    linestyle=GUIDE_DASHES[name],
                    linewidth=pen.pt(1.0 if shared else 0.8),
                    color=PERFECT if shared else curve.colour,
                    alpha=1.0 if shared else 0.65,
                    zorder=2,
                    label=f"{name}: {curve.name}",
                )
            )


def _guides(panel: Panel, name: str) -> list[tuple[Curve, dict[float, float]]]:
    """The lines of a name, each with its first curve and the points of all curves that lie on it.

    Drawn apart, dashes of curves that start elsewhere on the line would fill each other's gaps.
    """
    guides: dict[float, tuple[Curve, dict[float, float]]] = {}
    for curve in panel.curves:
        points = {
            x: y
            for x, y in zip(curve.column("x"), curve.column(name), strict=True)
            if y is not None and y > 0
        }
        if not points:
            continue
        x, y = next(iter(points.items()))
        own = y / x ** GUIDE_SLOPES[name]
        height = next((known for known in guides if math.isclose(known, own)), own)
        guides.setdefault(height, (curve, {}))[1].update(points)
    return list(guides.values())


def draw_unreached(axes: Axes, panel: Panel, pen: Pen) -> None:
    """Marks at the top edge the x at which no trial reached the goal, a row a curve."""
    step = min(CROSS_STEP, CROSS_ROOM / len(panel.curves))
    rows = [curve for curve in panel.curves if curve.unreached()]
    for row, curve in enumerate(rows):
        draw_marks(
            axes,
            [(x, CROSS_TOP - step * row) for x in curve.unreached()],
            transform=axes.get_xaxis_transform(),
            marker=CROSSES[curve.place % len(CROSSES)],
            color=curve.colour,
            markersize=pen.pt(CROSS_SIZE),
            markeredgewidth=pen.pt(CROSS_WIDTH),
            clip_on=False,
            zorder=9,
            label=f"unreached: {curve.name}",
        )


def room_for_crosses(panel: Panel, height: float) -> float:
    """The share of the axes' height that the crosses at the top take; 0 without any."""
    rows = sum(bool(curve.unreached()) for curve in panel.curves)
    if not rows:
        return 0.0
    step = min(CROSS_STEP, CROSS_ROOM / len(panel.curves))
    return min(0.4, 1 - CROSS_TOP + step * (rows - 1) + 0.09 / height)


def say_none(axes: Axes, words: str, pen: Pen) -> None:
    """Says in the middle of the axes why they are empty."""
    axes.text(
        0.5,
        0.5,
        words,
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=pen.pt(LABEL),
        color=QUIET,
    )


def guide_entries(panels: Sequence[Panel], names: Sequence[str]) -> list[KeyEntry]:
    """The lines to compare with that occur in the panels."""
    curves = [curve for panel in panels for curve in panel.curves]
    return [
        KeyEntry(
            *GUIDE_WORDS[name],
            {"linestyle": GUIDE_DASHES[name], "color": PERFECT, "linewidth": 1.0},
        )
        for name in names
        if any(sum(bool(y) for y in curve.column(name)) > 1 for curve in curves)
    ]


def gap_entries(panels: Sequence[Panel]) -> list[KeyEntry]:
    """Hollow markers and crosses, where they occur in the panels."""
    curves = [curve for panel in panels for curve in panel.curves]
    entries = []
    if any(
        few and y is not None
        for curve in curves
        for few, y in zip(curve.fewer(), curve.column("y"), strict=True)
    ):
        look = mark(marker=MARKERS[0], markerfacecolor="white", markersize=MARKER_SIZE)
        entries.append(KeyEntry("fewer trials than asked for", "hollow marker", look))
    if any("steps" in curve.rows.columns and curve.unreached() for curve in curves):
        look = mark(marker=CROSSES[0], markersize=CROSS_SIZE, markeredgewidth=CROSS_WIDTH)
        entries.append(KeyEntry("no trial reached the goal", "cross at the top", look))
    return entries


def mark(**look: Any) -> dict[str, Any]:
    """The look of a mark in the key, in the key's colour unless told otherwise."""
    return {"linestyle": "none", "color": QUIET, "markeredgewidth": 1.0} | look
