"""Renderers of trials: of a search by what became of them, and of values during training."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Rectangle

from dbtool.core.errors import counted
from dbtool.figures import style
from dbtool.figures.names import readable
from dbtool.figures.panels import Curve, Panel, Renderer
from dbtool.figures.scales import (
    OCTAVES_A_DECADE,
    Size,
    Span,
    given_span,
    power,
    set_scales,
    span_of,
)

ACHIEVED, NOT_ACHIEVED, INFEASIBLE = "goal achieved", "goal not achieved", "infeasible"
# By the index of a release; the crosses of infeasible trials differ from its dots.
DOTS = ("o", "s", "D", "v", "P")
SIZES: Mapping[str, float] = {ACHIEVED: 3.2, NOT_ACHIEVED: 2.6, INFEASIBLE: 2.9}
MOST_CONTOURS = 6  # more contours than this a panel would be a hatching
LABEL_INSET = 0.015  # a contour's label stands in from the edge that it runs into
LABEL_HEIGHT = 1.8  # in sizes of their type, with what rotating them adds
LEAST_ROOM_FOR_LABEL = 0.3
CONTOUR_LABEL: dict[str, Any] = {
    "size": style.TINY,
    "color": style.QUIET,
    "rotation_mode": "anchor",
    "ha": "right",
    "va": "bottom",
    "zorder": 5,
    "bbox": {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 0.4},
}
FLAT_ASPECT = 0.25  # of a scatter plot of one metaparameter
# Octaves from a batch size to the lanes of its outcomes, and half the width of its column.
LANES: Mapping[str, float] = {ACHIEVED: -0.22, INFEASIBLE: 0.22}
HALF_COLUMN = 0.36
LOWEST_GRID = 1.5  # inches


class _OutcomeRenderer(Renderer):
    """Draws trials as dots, crosses and stars."""

    counts_diverged = True

    def sample(self, curve: Curve) -> Mapping[str, Any]:
        """Return the look of a dot or a cross."""
        crossed = curve.name == INFEASIBLE
        return {
            "linestyle": "none",
            "marker": (style.CROSSES if crossed else DOTS)[curve.release_index % len(DOTS)],
            "markersize": SIZES.get(curve.name, SIZES[ACHIEVED]),
            "markeredgewidth": 0.8 if crossed else 0.0,
        }

    def draw_trials(self, axes: Axes, curve: Curve, xs: Sequence[float]) -> None:
        """Draw the trials of one outcome as one artist, with a star on each that was first."""
        rows = list(zip(xs, curve.column("y"), curve.column("best"), strict=True))
        look = {"color": curve.colour, "zorder": 4 if curve.name == ACHIEVED else 3}
        look |= {"label": f"trials: {curve.name}", **self.sample(curve)}
        style.dots(axes, [(x, y) for x, y, _ in rows], **look)
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        first = [
            (x, y) for x, y, best in rows if best and left <= x <= right and bottom <= y <= top
        ]
        star = {"zorder": 6, "clip_on": False, "label": f"best: {curve.release}"}
        style.dots(axes, first, **star | style.star_of(curve.release_index))


class ScatterRenderer(_OutcomeRenderer):
    """Draws trials on two logarithmic axes over contours of constant effective learning rate."""

    point = "A point is one trial, complete or diverged, of the search at one batch size."
    labels = ("learning rate", "1 \N{MINUS SIGN} momentum")
    scales = ("log10", "log10")
    page = 4.8
    aspects = (0.76, 0.8, 0.95)

    def height(self, panel: Panel, columns: int, width: float) -> float:
        """Return the usual height, or a low one where no momentum was searched."""
        usual = super().height(panel, columns, width)
        return usual if _has_momentum(panel) else FLAT_ASPECT * width

    def remark(self, panel: Panel) -> str:
        """Return the budget, where there is one."""
        most_steps = panel.first("most_steps")
        return "" if most_steps is None else f"within {counted(most_steps, 'step')}"

    def draw(self, axes: Axes, panel: Panel, size: Size) -> None:
        """Draw search space, contours and trials, with a star on the first to reach the goal."""
        momentum = _has_momentum(panel)
        shortest = {"x": OCTAVES_A_DECADE, "y": OCTAVES_A_DECADE if momentum else 1.0}
        x, y = (
            given_span(panel, axis, "log10")
            or span_of(panel.values(axis, f"{axis}_low", f"{axis}_high"), "log10", least, 0.08)
            for axis, least in shortest.items()
        )
        set_scales(axes, panel.scales, x, y, size)
        axes.grid(visible=False)
        _draw_space(axes, panel)
        if momentum:
            _draw_contours(axes, x, y, size)
        else:
            # An axis of one value tells nothing.
            axes.set_yticks([])
            axes.set_yticks([], minor=True)
            axes.spines.left.set_visible(False)
        for curve in reversed(panel.curves):
            self.draw_trials(axes, curve, curve.column("x"))

    def gaps(self, rows: pl.DataFrame) -> list[str]:
        """Name panels in which no trial reached the goal, and count trials beyond the axes."""
        reached = pl.col("series").eq(ACHIEVED).any()
        found = rows.group_by("panel", "release", maintain_order=True).agg(reached)
        several = rows["release"].n_unique() > 1
        panels = [
            readable(panel) + (f" in {release}" if several else "")
            for panel, release, is_reached in found.iter_rows()
            if not is_reached
        ]
        missed = [f"No trial reached the goal: {'; '.join(panels)}."] if panels else []
        return missed + super().gaps(rows)


def _has_momentum(panel: Panel) -> bool:
    return len(set(panel.values("y"))) > 1


def _draw_space(axes: Axes, panel: Panel) -> None:
    """Draw a frame around the search space; around all, where there are several."""
    xs, ys = panel.values("x_low", "x_high"), panel.values("y_low", "y_high")
    if not xs or not ys:
        return
    x, y = (Span(min(ends), max(ends)).drawable("linear") for ends in (xs, ys))
    look = {**style.KEY["search space"].look, "fill": False, "zorder": 1.5, "label": "search space"}
    axes.add_patch(Rectangle((x.low, y.low), x.length, y.length, **look))


def _draw_contours(axes: Axes, x: Span, y: Span, size: Size) -> None:
    """Draw labelled lines of constant learning rate / (1 - momentum), a decade or more apart."""
    low, high = (x.low - y.high) / OCTAVES_A_DECADE, (x.high - y.low) / OCTAVES_A_DECADE
    exponents = range(math.ceil(low + 0.2), math.floor(high - 0.2) + 1)
    every = max(1, math.ceil(len(exponents) / MOST_CONTOURS))
    angle = math.degrees(math.atan((size.height / y.length) / (size.width / x.length)))
    top = y.high - style.TINY * LABEL_HEIGHT / 72 / size.height * y.length
    for exponent in exponents:
        if exponent % every:
            continue
        # On the axes, log2(1 - momentum) = log2(learning rate) - shift.
        shift = exponent * OCTAVES_A_DECADE
        left, right = max(x.low, y.low + shift), min(x.high, y.high + shift)
        ends = [2**left, 2**right]
        heights = [2 ** (left - shift), 2 ** (right - shift)]
        axes.plot(ends, heights, color=style.PERFECT, linewidth=0.6, zorder=1, label="contours")
        if (right - left) / x.length * size.width < LEAST_ROOM_FOR_LABEL:
            continue
        at = min(right - LABEL_INSET * x.length, top + shift)
        axes.text(2**at, 2 ** (at - shift), power(10, exponent), CONTOUR_LABEL, rotation=angle)


class GridRenderer(_OutcomeRenderer):
    """Draws a column for each batch size, a lane for each outcome, and a dot for each trial."""

    point = (
        "A point is one trial, complete or diverged, at its value of the metaparameter; the "
        "outcomes of a batch size stand side by side."
    )
    labels = ("batch size", "value")
    scales = ("log2", "log10")
    page = 7.0
    aspects = (0.25, 0.45, 0.7)

    def height(self, panel: Panel, columns: int, width: float) -> float:
        """Return the usual height, or one that has room for stars in a narrow column."""
        return max(super().height(panel, columns, width), LOWEST_GRID)

    def draw(self, axes: Axes, panel: Panel, size: Size) -> None:
        """Draw the searched range of each batch size as a band, with the trials over it."""
        x = span_of(panel.values("x"), "log2", 0.0).widened(0.75, 0.75)
        least = 1e-6 if panel.scales[1] == "linear" else 1.7
        y = span_of(panel.values("y", "low", "high"), panel.scales[1], least, 0.07)
        set_scales(axes, panel.scales, x, y, size)
        axes.grid(visible=False, axis="x")
        _draw_bands(axes, panel)
        for curve in panel.curves:
            lane = 2.0 ** LANES.get(curve.name, 0.0)
            self.draw_trials(axes, curve, [x * lane for x in curve.column("x")])

    def gaps(self, rows: pl.DataFrame) -> list[str]:
        """Name batch sizes at which no trial reached the goal."""
        reached = set(rows.filter(rows["series"] == ACHIEVED)["x"])
        missing = sorted(set(rows["x"]) - reached)
        sizes = ", ".join(f"{size:,}" for size in missing)
        return [f"No trial reached the goal at batch size {sizes}."] if missing else []


def _draw_bands(axes: Axes, panel: Panel) -> None:
    rows = (row for curve in panel.curves for row in curve.columns("x", "low", "high"))
    ranges = {row for row in rows if None not in row}
    half = 2.0**HALF_COLUMN
    boxes = [
        [(x / half, low), (x * half, low), (x * half, high), (x / half, high)]
        for x, low, high in sorted(ranges)
    ]
    if boxes:
        bands = PolyCollection(boxes, facecolors=style.BAND, linewidths=0, zorder=0.5)
        bands.set_label("searched range")
        axes.add_collection(bands, autolim=False)


MOST_NAMED_CURVES = 20  # more lines than this cannot be told apart by colour
SMALL_RING_SIZE, LONE_SIZE = 4.0, 2.4
MARGIN_SHARE = 0.05
SHORTEST = {"log2": 3.0, "log10": 1.7, "linear": 1e-6}
# The trials of a whole study, and the one that was first.
FAINT_CURVE = {"color": style.FAINT_LINE, "linewidth": 0.5, "linestyle": "-", "zorder": 2.2}
FIRST_CURVE = {"color": style.ACCENT, "zorder": 4}


class CurveRenderer(Renderer):
    """Draws lines without markers; of a whole study, it highlights one trial."""

    point = "A curve is one trial during training."
    labels = ("step", "{}")
    scales = ("log2", "log10")
    page = 5.8
    aspects = (0.66, 0.66, 0.85)

    def names_curves(self, panel: Panel) -> bool:
        """Return False where the curves are the trials of a whole study."""
        few = len(panel.curves) <= MOST_NAMED_CURVES * max(1, panel.releases)
        trials = panel.first("workload") is not None and panel.first("best") is not None
        return few and not trials

    def draw(self, axes: Axes, panel: Panel, size: Size) -> None:
        """Draw the lines, the goal, and the points at which steps to result are read."""
        lines = [(curve, _line(curve, panel.scales)) for curve in panel.curves]
        points = [point for _, line in lines for point in line]
        goals = _goals(panel)
        values = ([x for x, _ in points], [y for _, y in points] + goals)
        x, y = (
            span_of(numbers, scale, SHORTEST[scale], MARGIN_SHARE)
            for numbers, scale in zip(values, panel.scales, strict=True)
        )
        set_scales(axes, panel.scales, x, y, size)
        for goal in goals:
            axes.axhline(goal, zorder=2, label="goal", **style.KEY["goal"].look)
        named = self.names_curves(panel)
        rest = "others" if any(any(curve.column("best")) for curve in panel.curves) else "study"
        for index, (curve, line) in enumerate(lines):
            name = "line"
            look: dict[str, Any] = {"color": curve.colour, "zorder": 3 + index / 100}
            if not named:
                is_first = any(curve.column("best"))
                name, look = ("first", FIRST_CURVE) if is_first else (rest, FAINT_CURVE)
            if len(line) == 1:
                # No line joins a point to itself.
                look = look | {"marker": "o", "markersize": LONE_SIZE}
            look = {**self.sample(curve), **look}
            axes.plot(*zip(*line, strict=True), label=f"{name}: {curve.name}", **look)
        for curve in panel.curves:
            _draw_readings(axes, curve, named=named)

    def sample(self, curve: Curve) -> Mapping[str, Any]:
        """Return the look of a line."""
        dashes = style.DASHES[curve.release_index % len(style.DASHES)]
        return {"linestyle": dashes, "linewidth": style.CURVE_WIDTH}


def _draw_readings(axes: Axes, curve: Curve, *, named: bool) -> None:
    """Draw rings at the points that are read; of a whole study, also lines to the axis."""
    read = curve.marked("read_off")
    own = {"color": curve.colour, "markersize": SMALL_RING_SIZE} if named else {"color": style.INK}
    style.dots(
        axes, read, zorder=7, label=f"read off: {curve.name}", **style.KEY["read off"].look | own
    )
    if read and not named:
        xs, ys = zip(*read, strict=True)
        axes.vlines(xs, axes.get_ylim()[0], ys, style.INK, style.FRAME, linewidths=0.9, zorder=2.5)


def _goals(panel: Panel) -> list[float]:
    names = ("goal", "metric", "goal_metric")
    rows = (row for curve in panel.curves for row in curve.columns(*names))
    return sorted({goal for goal, metric, of in rows if goal is not None and of in (None, metric)})


def _line(curve: Curve, scales: Sequence[str]) -> list[tuple[float, float]]:
    """Return the points of a curve that axes of these scales can show."""
    x_least, y_least = (-math.inf if scale == "linear" else 0.0 for scale in scales)
    return [
        (x, y)
        for x, y in curve.columns("x", "y")
        if y is not None and math.isfinite(y) and x > x_least and y > y_least
    ]
