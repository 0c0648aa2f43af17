"""Marks that several kinds share, and what the key says of them.

An artist's label is the name of its mark in KEY, and after a colon the curve it belongs to: so the
key explains what is drawn, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from matplotlib.transforms import ScaledTranslation

from dbtool.figures.style import ACCENT, BAND, FAINT, INK, LABEL, PERFECT, QUIET, RING, STAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.panels import Curve, Panel

# By the index of a release, as are the crosses.
MARKERS = ("^", "o", "s", "D", "v")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (2.6, 1.1)),
    (0, (1.0, 1.0)),
    (0, (5, 1.2, 1, 1.2)),
    (0, (8, 2)),
)
CROSSES = ("x", "+", "1", "2", "3")
DASHED, DOTTED, FRAME = (0, (4, 2.2)), (0, (1, 1.8)), (0, (1, 1.6))
# Points.
MARKER_SIZE, CURVE_WIDTH, RING_SIZE = 4.6, 1.2, 5.5
FAINT_LINE = "#b4bcc6"
# Slopes, between logarithmic axes, of lines to compare with; by the columns that hold them.
SLOPES: Mapping[str, float] = {"perfect": -1.0, "linear": 1.0, "square_root": 0.5}
BAND_ALPHA, GUIDE_BAND_ALPHA = 0.14, 0.16
# Inches: between the axes and the strip above them, above and below the crosses in it, and from one
# curve's row of crosses to the next.
STRIP_GAP, STRIP_MARGIN, STRIP_STEP = 0.05, 0.065, 0.085


@dataclass(frozen=True)
class Mark:
    """A line or a mark, as a legend or the key explains it.

    Attributes:
        text: what it means.
        shape: what it is in words, for a caption that stands without the picture; "" in legends.
        look: the properties of a Line2D.
    """

    text: str
    shape: str
    look: dict[str, Any]


def _line(text: str, shape: str, **look: Any) -> Mark:
    return Mark(text, shape, {"linestyle": "-", "color": PERFECT, "linewidth": 1.0} | look)


def _dot(text: str, shape: str, marker: str, size: float, **look: Any) -> Mark:
    dot = {"linestyle": "none", "marker": marker, "markersize": size, "color": QUIET}
    return Mark(text, shape, dot | look)


_BAND = {"linewidth": 6.0, "solid_capstyle": "butt"}
_FIRST = "the trial that reached the goal first"
KEY: Mapping[str, Mark] = {
    "perfect": _line("perfect scaling", "dashed line", linestyle=DASHED),
    "perfect_band": _line("its 95 % interval", "faint tint", color="#e7e9ec", **_BAND),
    "band": _line("95 % band at equal numbers of trials", "tinted band", color="#c6dbec", **_BAND),
    "fitted": _line("fitted curve", "thin curve", color=INK, linewidth=0.8),
    "knee": _line(
        "where perfect scaling and gains end",
        "dotted vertical line",
        linestyle=DOTTED,
        color=INK,
        linewidth=0.9,
    ),
    "critical": _dot("critical batch size", "diamond", "D", 3.6, color=INK),
    "interval": _line(
        "interval of a batch size", "bar", color="#cdd3da", linewidth=4.5, solid_capstyle="butt"
    ),
    "linear": _line("linear scaling", "dashed line", linestyle=DASHED),
    "square_root": _line("square-root scaling", "dotted line", linestyle=DOTTED),
    "unreached": _dot(
        "no trial reached the goal", "cross above the axes", CROSSES[0], 4.2, markeredgewidth=1.2
    ),
    "ring": _dot(
        "within 5 % of the border of the searched range",
        "ring",
        "o",
        8.5,
        markerfacecolor="none",
        color=RING,
    ),
    "beyond": _line("beyond the searched range", "shading", color=FAINT, **_BAND),
    "best": _dot(_FIRST, "star", "*", 10.0, markeredgewidth=0.8, color=INK, markerfacecolor=STAR),
    "contours": _line("constant effective learning rate", "thin line", linewidth=0.6),
    "search space": _line(
        "search space", "dotted frame", linestyle=FRAME, color=QUIET, linewidth=0.8
    ),
    "searched range": _line("searched range", "band", color=BAND, **_BAND),
    "first": _line(_FIRST, "strong line", color=ACCENT, linewidth=CURVE_WIDTH),
    "others": _line("the other trials of the study", "faint line", color=FAINT_LINE, linewidth=0.8),
    "study": _line("the trials of the study", "faint line", color=FAINT_LINE, linewidth=0.8),
    "goal": _line("goal", "dashed line", linestyle=DASHED),
    "read off": _dot(
        "where steps to result are read off", "ring", "o", RING_SIZE, markerfacecolor="white"
    ),
}


def star_face(release_index: int) -> str:
    """Return the fill colour of the stars of a release."""
    return "white" if release_index else STAR


def dots(axes: Axes, points: Iterable[tuple[float, float]], **look: Any) -> None:
    """Draw marks without a line, as one artist; without points, nothing."""
    found = list(points)
    if found:
        axes.plot(*zip(*found, strict=True), **{"linestyle": "none"} | look)


def curve_look(release_index: int) -> dict[str, Any]:
    """Return the look of a curve with markers in a release, without its colour."""
    return {
        "marker": MARKERS[release_index % len(MARKERS)],
        "linestyle": DASHES[release_index % len(DASHES)],
        "markersize": MARKER_SIZE,
        "linewidth": 1.4,
    }


def draw_curve(axes: Axes, curve: Curve, order: float, *, positive: bool) -> None:
    """Draw markers joined by a line, which breaks where a point is missing.

    Args:
        axes: to draw in.
        curve: with the columns x and y.
        order: what lies over what.
        positive: whether the vertical axis has room for positive values alone.
    """
    xs = curve.column("x")
    ys = [
        math.nan if y is None or not math.isfinite(y) or (positive and y <= 0) else y
        for y in curve.column("y")
    ]
    look = curve_look(curve.release_index) | {"color": curve.colour}
    axes.plot(xs, ys, **look | {"marker": "", "label": f"line: {curve.name}", "zorder": order})
    dots(
        axes,
        [(x, y) for x, y in zip(xs, ys, strict=True) if not math.isnan(y)],
        label=f"points: {curve.name}",
        zorder=order + 0.5,
        **look | {"linestyle": "none"},
    )


def draw_band(axes: Axes, curve: Curve, order: float) -> None:
    """Tint the area between the bounds of a curve, and draw the bounds as thin lines.

    An end without a bound is at the point itself, without a line; where a point has neither bound
    the band breaks. That of one point alone is a bar.

    Args:
        axes: to draw in.
        curve: with the columns x, y, band_low and band_high.
        order: what lies over what.
    """
    rows = [
        (x, y, low, high)
        for x, y, low, high in curve.columns("x", "y", "band_low", "band_high")
        if y is not None
    ]
    look: dict[str, Any] = {"color": curve.colour, "zorder": order, "label": f"band: {curve.name}"}
    for bounded, part in groupby(rows, lambda row: (row[2], row[3]) != (None, None)):
        if not bounded:
            continue
        xs, ys, lows, highs = (list(column) for column in zip(*part, strict=True))
        bottoms, tops = (
            [y if end is None else end for y, end in zip(ys, ends, strict=True)]
            for ends in (lows, highs)
        )
        line = {"linewidth": 0.6, "alpha": 0.7} | look
        if len(xs) == 1:
            axes.vlines(xs, bottoms, tops, **line)
            line |= {"marker": "_", "markersize": MARKER_SIZE}
        axes.fill_between(xs, bottoms, tops, alpha=BAND_ALPHA, linewidth=0, **look)
        for bounds in (lows, highs):
            known = [math.nan if bound is None else bound for bound in bounds]
            axes.plot(xs, known, **line)


def draw_guides(axes: Axes, panel: Panel, names: Sequence[str]) -> None:
    """Draw each guide line once, in grey where all curves share it.

    An interval, in the columns that end with _low and _high, is tinted.
    """
    for name in names:
        guides = _guides(panel, name)
        shared = len(guides) == 1
        for curve, points in guides:
            bounds = [
                row for row in curve.columns("x", f"{name}_low", f"{name}_high") if None not in row
            ]
            if len(bounds) > 1:
                xs, lows, highs = (list(column) for column in zip(*bounds, strict=True))
                axes.fill_between(
                    xs,
                    lows,
                    highs,
                    color=PERFECT if shared else curve.colour,
                    alpha=GUIDE_BAND_ALPHA,
                    linewidth=0,
                    zorder=1.5,
                    label=f"{name}_band: {curve.name}",
                )
            if len(points) > 1:
                axes.plot(
                    *zip(*sorted(points.items()), strict=True),
                    linestyle=KEY[name].look["linestyle"],
                    linewidth=1.0 if shared else 0.8,
                    color=PERFECT if shared else curve.colour,
                    alpha=1.0 if shared else 0.65,
                    zorder=2,
                    label=f"{name}: {curve.name}",
                )


def _guides(panel: Panel, name: str) -> list[tuple[Curve, dict[float, float]]]:
    """Return the distinct guide lines of a name, each with its first curve and all points on it.

    Drawn apart, dashes of curves that start elsewhere on the line would fill each other's gaps.
    """
    guides: dict[float, tuple[Curve, dict[float, float]]] = {}
    for curve in panel.curves:
        points = {x: y for x, y in curve.columns("x", name) if y is not None and y > 0}
        if points:
            x, y = next(iter(points.items()))
            own = y / x ** SLOPES[name]
            height = next((known for known in guides if math.isclose(known, own)), own)
            guides.setdefault(height, (curve, {}))[1].update(points)
    return list(guides.values())


def draw_unreached(axes: Axes, panel: Panel) -> None:
    """Mark each x at which no trial reached the goal, in a strip above the axes, a row a curve."""
    rows = [curve for curve in panel.curves if curve.unreached()]
    if not rows:
        return
    inches = axes.figure.dpi_scale_trans
    height = strip_height(panel) - STRIP_GAP
    # A line as thick as the strip is high: so the strip keeps its inches in axes of any size.
    axes.plot(
        [0, 1],
        [1, 1],
        transform=axes.transAxes + ScaledTranslation(0, STRIP_GAP + height / 2, inches),
        linewidth=72 * height,
        solid_capstyle="butt",
        color=BAND,
        clip_on=False,
        label="strip",
    )
    for row, curve in enumerate(rows):
        up = STRIP_GAP + height - STRIP_MARGIN - STRIP_STEP * row
        cross = {"marker": CROSSES[curve.release_index % len(CROSSES)], "color": curve.colour}
        dots(
            axes,
            [(x, 1.0) for x in curve.unreached()],
            transform=axes.get_xaxis_transform() + ScaledTranslation(0, up, inches),
            clip_on=False,
            zorder=9,
            label=f"unreached: {curve.name}",
            **KEY["unreached"].look | cross,
        )


def strip_height(panel: Panel) -> float:
    """Return the height of the strip with crosses in inches; 0 without crosses."""
    rows = sum(bool(curve.unreached()) for curve in panel.curves)
    return STRIP_GAP + 2 * STRIP_MARGIN + STRIP_STEP * (rows - 1) if rows else 0.0


def write_in_middle(axes: Axes, text: str) -> None:
    """Write in the middle of empty axes why they are empty, and remove the vertical ticks."""
    axes.set_yticks([])
    axes.set_yticks([], minor=True)
    axes.annotate(
        text,
        (0.5, 0.5),
        xycoords="axes fraction",
        ha="center",
        va="center",
        size=LABEL,
        color=QUIET,
    )
