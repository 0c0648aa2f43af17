"""Drawing one panel: curves, guides, marks, and the words around them."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from dbtool.figures.geometry import Span, equal_octaves, powers, span_of, spread
from dbtool.figures.style import FAINT, INK, LABEL, PERFECT, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dbtool.figures.panels import Curve, Panel

MARKER = "^"
UNREACHED = "x"
DASHES = {"perfect": (0, (4, 2.2)), "linear": (0, (4, 2.2)), "square_root": (0, (1, 1.8))}
# Octaves between the outermost points and the ends of an axis.
MARGIN = 0.7
ROOM_FOR_MARKS = 1.1
FEWEST_OCTAVES = 4.0
# The share of spare room on the side where the guides lead: perfect scaling falls, rates rise.
ROOM_AHEAD = 0.7
# A border of the searched range this many octaves from a point is drawn.
NEAR_BORDER = 1.5
TICKS_PER_INCH = 2.6
LABEL_DISTANCE = 0.14
LABEL_INDENT = 0.12


def draw_panel(axes: Axes, panel: Panel, width: float, height: float) -> None:
    """Draws a panel's curves into axes of that width and height in inches."""
    _set_scales(axes, panel, width, height)
    alone = len(panel.curves) == 1
    _draw_range(axes, panel)
    _draw_guides(axes, panel, alone=alone)
    for place, curve in enumerate(panel.curves):
        _draw_curve(axes, curve, order=3 + place)
        _draw_unreached(axes, curve, place)
    if not panel.values():
        axes.text(
            0.5,
            0.5,
            "no trial reached the goal",
            transform=axes.transAxes,
            ha="center",
            va="center",
            fontsize=LABEL,
            color=QUIET,
        )


def draw_end_labels(axes: Axes, panel: Panel, width: float, height: float) -> None:
    """Names each curve beside its last point, right of the axes; labels keep a line's distance."""
    bottom, top = axes.get_ylim()
    inches = height / math.log2(top / bottom)
    ends = [curve.points()[-1] for curve in panel.curves]
    wanted = [math.log2(y / bottom) * inches for _, y, _, _ in ends]
    places = spread(wanted, LABEL_DISTANCE)
    lift = max(0.0, -min(places)) - max(0.0, max(places) - height)
    for curve, (x, y, _, _), place in zip(panel.curves, ends, places, strict=True):
        axes.annotate(
            curve.label,
            xy=(x, y),
            xytext=(1 + LABEL_INDENT / width, (place + lift) / height),
            textcoords="axes fraction",
            fontsize=LABEL,
            color=INK,
            ha="left",
            va="center",
            annotation_clip=False,
            parse_math=False,
            arrowprops={
                "arrowstyle": "-",
                "relpos": (0, 0.5),
                "color": curve.colour,
                "lw": 0.9,
                "shrinkA": 2,
                "shrinkB": 4,
            },
        )


def _set_scales(axes: Axes, panel: Panel, width: float, height: float) -> None:
    marks = any(curve.unreached() for curve in panel.curves)
    x = span_of(panel.batch_sizes(), FEWEST_OCTAVES).widened(MARGIN, MARGIN)
    borders = [
        border
        for searched in _crowded_ranges(panel)
        for border in searched
        if any(abs(math.log2(border / value)) < NEAR_BORDER for value in panel.values())
    ]
    y = span_of([*panel.values(), *borders], FEWEST_OCTAVES).widened(
        MARGIN, ROOM_FOR_MARKS + MARGIN if marks else MARGIN
    )
    falls = any("perfect" in curve.guides for curve in panel.curves)
    x, y = equal_octaves(x, y, width, height, ROOM_AHEAD if falls else 1 - ROOM_AHEAD)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlim(2.0**x.low, 2.0**x.high)
    axes.set_ylim(2.0**y.low, 2.0**y.high)
    for axis, span, length in ((axes.xaxis, x, width), (axes.yaxis, y, height)):
        marked = powers(span, round(length * TICKS_PER_INCH))
        axis.set_ticks([2.0**exponent for exponent in marked], labels=[_power(e) for e in marked])
        axis.set_ticks([2.0**e for e in _whole(span)], minor=True)
        axis.set_tick_params(which="minor", labelbottom=False, labelleft=False)
    if not panel.values():
        axes.set_yticks([])
        axes.set_yticks([], minor=True)


def _power(exponent: int) -> str:
    return f"$2^{{{exponent}}}$"


def _whole(span: Span) -> range:
    return range(math.ceil(span.low), math.floor(span.high) + 1)


def _draw_range(axes: Axes, panel: Panel) -> None:
    """Shades what lies outside the searched range, where a best trial lies at its border."""
    bottom, top = axes.get_ylim()
    for low, high in _crowded_ranges(panel):
        if low > bottom:
            axes.axhspan(bottom, low, color=FAINT, lw=0, zorder=0)
        if high < top:
            axes.axhspan(high, top, color=FAINT, lw=0, zorder=0)


def _crowded_ranges(panel: Panel) -> list[tuple[float, float]]:
    """The ranges that were searched, of the curves with a best trial at a border."""
    return [
        curve.range for curve in panel.curves if curve.range is not None and any(curve.at_border)
    ]


def _draw_guides(axes: Axes, panel: Panel, *, alone: bool) -> None:
    """Draws each line to compare with once, grey where all curves share it."""
    drawn: set[tuple[str, tuple[tuple[int, float], ...]]] = set()
    shared = alone or _share_guides(panel)
    for curve in panel.curves:
        for name, values in curve.guides.items():
            line = [(x, y) for x, y in zip(curve.x, values, strict=True) if y]
            if (name, tuple(line)) in drawn or len(line) < 2:
                continue
            drawn.add((name, tuple(line)))
            axes.plot(
                [x for x, _ in line],
                [y for _, y in line],
                linestyle=DASHES[name],
                linewidth=1.0 if shared else 0.8,
                color=PERFECT if shared else curve.colour,
                alpha=1.0 if shared else 0.65,
                zorder=2,
            )


def _share_guides(panel: Panel) -> bool:
    """Whether the guides of all curves agree wherever two of them have a value."""
    at: dict[tuple[str, int], float] = {}
    for curve in panel.curves:
        for name, values in curve.guides.items():
            for x, y in zip(curve.x, values, strict=True):
                if y is not None and not math.isclose(at.setdefault((name, x), y), y):
                    return False
    return True


def _draw_curve(axes: Axes, curve: Curve, order: int) -> None:
    """Draws triangles joined by a line, which breaks where a batch size has no point."""
    axes.plot(
        curve.x,
        [math.nan if y is None or y <= 0 else y for y in curve.y],
        color=curve.colour,
        zorder=order,
    )
    points = curve.points()
    for fewer, group in itertools.groupby(sorted(points, key=lambda p: p[2]), key=lambda p: p[2]):
        chosen = list(group)
        axes.plot(
            [x for x, _, _, _ in chosen],
            [y for _, y, _, _ in chosen],
            linestyle="none",
            marker=MARKER,
            markeredgecolor=curve.colour,
            markerfacecolor="white" if fewer else curve.colour,
            zorder=order + 0.5,
        )
    border = [(x, y) for x, y, _, at_border in points if at_border]
    axes.plot(
        [x for x, _ in border],
        [y for _, y in border],
        linestyle="none",
        marker="o",
        markersize=8.5,
        markeredgewidth=0.9,
        markerfacecolor="none",
        markeredgecolor=curve.colour,
        zorder=order,
    )


def _draw_unreached(axes: Axes, curve: Curve, place: int) -> None:
    """Marks at the top edge the batch sizes at which no trial reached the goal, a row a curve."""
    sizes = curve.unreached()
    axes.plot(
        sizes,
        [0.97 - 0.045 * place] * len(sizes),
        transform=axes.get_xaxis_transform(),
        linestyle="none",
        marker=UNREACHED,
        color=curve.colour,
        markersize=4.2,
        markeredgewidth=1.2,
        clip_on=False,
        zorder=9,
    )
