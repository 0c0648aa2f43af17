"""Renderers of critical batch sizes: a line a workload, and all curves in units of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from dbtool.core.errors import counted
from dbtool.figures.legend import lines_of, width_of
from dbtool.figures.names import readable
from dbtool.figures.panels import Curve, Panel, Renderer
from dbtool.figures.scales import Size, Span, given_span, set_scales, span_of
from dbtool.figures.style import FAINT, INK, KEY, MARKERS, TINY, dots

# Names take at most this share of the axes, and more lines where they need more room.
_MOST_FOR_NAMES = 0.55
# Inches of a line of names, between names, and between names and the axis of batch sizes.
_LINE, _BETWEEN, _GAP = 0.086, 0.022, 0.1
_FEWEST_LINES = 8  # fewer lines than this are further apart
_COLUMN_ROOM, _LEGEND = 2.25, 0.3  # inches of axes in a column, and of the names of releases
_ARROW = 2.0  # an arrow leads on from a bound by this factor
_ROOM_FOR_NUMBERS = 0.85  # numbers such as 16,384 need more room than powers
_MARKER_SIZE, _SMALL_MARKER_SIZE = 3.6, 2.6


class _ReleaseRenderer(Renderer):
    """Draws points that are told apart by their releases."""

    counts_diverged = True
    page = 7.0
    aspects = (0.66, 0.75, 0.9)

    def sample(self, curve: Curve) -> Mapping[str, Any]:
        """Return the look of a marker."""
        marker = MARKERS[curve.release_index % len(MARKERS)]
        return {"linestyle": "none", "marker": marker, "markersize": _MARKER_SIZE}

    def names_curves(self, panel: Panel) -> bool:
        """Whether there are several releases."""
        return panel.releases > 1


class ForestRenderer(_ReleaseRenderer):
    """Draws a value with its interval on each line, named at its left, or an arrow from a bound."""

    point = "A point is a critical batch size with its 95 % interval, an arrow a bound on it."
    labels = ("critical batch size", "")
    scales = ("log2", "linear")

    def height(self, panel: Panel, columns: int, width: float) -> float:  # noqa: ARG002 (others look at it)
        """Return a height that has room for all names."""
        names = _names(panel, width)
        return _line(names) * (max(len(names), _FEWEST_LINES) + 1)

    def parts(self, panel: Panel, width: float) -> Sequence[Panel]:
        """Return so many lines at a time as a column has room for, along axes of one length."""
        names = _names(panel, width)
        room = _COLUMN_ROOM - _LEGEND * self.names_curves(panel)
        count = -(-len(names) // max(int(room / _line(names)) - 1, 1))
        first, last = _span(panel).ends("log2")
        made = []
        for part in range(count):
            above, last_y = (n * len(names) // count for n in (part, part + 1))
            inside = pl.col("y").is_between(above, last_y, closed="right")
            own = pl.col("y") - above, pl.lit(first).alias("x_from"), pl.lit(last).alias("x_to")
            rows = [curve.rows.filter(inside).with_columns(own) for curve in panel.curves]
            curves = zip(panel.curves, rows, strict=True)
            made.append(replace(panel, curves=[replace(c, rows=r) for c, r in curves if r.height]))
        return made

    def draw(self, axes: Axes, panel: Panel, size: Size) -> None:
        """Draw names, values and intervals, the smallest at the top."""
        names = _names(panel, size.width)
        words = max(width_of(part, TINY) for lines in names.values() for part in lines)
        share = (words + _GAP) / size.width
        span = given_span(panel, "x", "log2") or _span(panel)
        shown = Size(_ROOM_FOR_NUMBERS * (1 - share) * size.width, size.height)
        set_scales(axes, panel.scales, span, Span(0.0, len(names) + 1.0), shown)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        first, last = span.ends("log2")
        axes.set_xlim(span.widened(span.length * share / (1 - share), 0.0).ends("log2"))
        axes.invert_yaxis()
        axes.set_yticks([])
        axes.spines.left.set_visible(False)
        axes.spines.bottom.set_bounds(first, last)
        axes.xaxis.label.set_x((1 + share) / 2)
        axes.hlines(list(names), first, last, FAINT, linewidth=0.5, label="lines")
        at = axes.get_yaxis_transform()
        font = {"size": TINY, "color": INK, "ha": "left", "va": "center", "linespacing": 1.0}
        for y, lines in names.items():
            axes.text(0.0, y, "\n".join(lines), font, transform=at, parse_math=False)
        bar = {"elinewidth": 1.1, "capsize": 2.2, "markeredgewidth": 0.0, "zorder": 3}
        for curve in panel.curves:
            look = {**bar, **self.sample(curve), "color": curve.colour}
            for verdict, x, y, low, high in _lines(curve):
                axes.errorbar(
                    x,
                    y,
                    xerr=[[x - low], [high - x]],
                    xlolims=verdict == "lower_bound",
                    xuplims=verdict == "upper_bound",
                    label=f"points: {curve.name}",
                    **look,
                )

    def gaps(self, rows: pl.DataFrame) -> list[str]:
        """Return how many lines were not drawn."""
        more = rows["y"].null_count()
        told = (
            "Drawn are the narrowest intervals, first one of each workload; "
            f"{counted(more, 'more line')} in the CSV."
        )
        return [told] if more else []


class UnitsRenderer(_ReleaseRenderer):
    """Draws steps to result against batch size in units of each curve, with the hyperbola."""

    point = "A point is a study in units of the fewest steps and critical batch size of its fit."
    labels = ("batch size / critical batch size", "steps / fewest steps")
    scales = ("log10", "log10")

    def draw(self, axes: Axes, panel: Panel, size: Size) -> None:
        """Draw the points and the hyperbola."""
        x = span_of(panel.values("x"), "log10", 4.0, 0.03)
        y = span_of([1.0, *panel.values("y")], "log10", 4.0, 0.04)
        set_scales(axes, panel.scales, x, y, size)
        sizes = [2 ** (x.low + x.length * part / 200) for part in range(201)]
        guide = KEY["hyperbola"].look | {"label": "hyperbola", "zorder": 2}
        axes.plot(sizes, [1 + 1 / each for each in sizes], **guide)
        small = {"markersize": _SMALL_MARKER_SIZE, "markeredgewidth": 0.0, "alpha": 0.8}
        for curve in panel.curves:
            look = {**self.sample(curve), **small, "color": curve.colour}
            label = f"points: {curve.name}"
            dots(axes, curve.columns("x", "y"), zorder=3, label=label, **look)


def _names(panel: Panel, width: float) -> dict[float, list[str]]:
    """Return the lines of the name at each height, broken where they are long."""
    room = _MOST_FOR_NAMES * width
    rows = (row for curve in panel.curves for row in curve.columns("y", "workload") if row[0])
    named = {y: readable(name) for y, name in sorted(rows)}
    return {
        y: [name]
        if width_of(name, TINY) <= room
        else [line.replace("/ ", "/") for line in lines_of(name.replace("/", "/ "), room, TINY)]
        for y, name in named.items()
    }


def _line(names: Mapping[float, Sequence[str]]) -> float:
    """Return the height of a line that has room for each name, in inches."""
    return _LINE * max(map(len, names.values()), default=1) + _BETWEEN


def _span(panel: Panel) -> Span:
    ends = (end for curve in panel.curves for *_, low, high in _lines(curve) for end in (low, high))
    return span_of(ends, "log2", 3.0, 0.03)


def _lines(curve: Curve) -> list[tuple[str, float, float, float, float]]:
    """Return verdict, x, y and the ends of each line that is drawn; an arrow has one, too."""
    rows = curve.columns("verdict", "x", "y", "low", "high")
    return [
        (verdict, x, y, low or x / _ARROW, high or x * _ARROW)
        for verdict, x, y, low, high in rows
        if y is not None
    ]
