"""Renderers of lines: points against batch size or sparsity, and values during training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from dbtool.core.errors import counted
from dbtool.figures import marks
from dbtool.figures.findings import NOTE, draw_findings, findings_height
from dbtool.figures.names import readable
from dbtool.figures.panels import Renderer
from dbtool.figures.scales import Size, Span, equal_octaves, given_span, set_scales, span_of
from dbtool.figures.style import ACCENT, FAINT, INK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.panels import Curve, Panel
    from dbtool.figures.specs import Scale


# Octaves between the outermost points and the ends of an axis.
MARGIN = 0.7
FEWEST_OCTAVES = 4.0
# A border of the searched range this many octaves from a point is drawn.
NEAR_BORDER = 1.5
INTERVAL = (
    "Perfect scaling is fitted to the points before returns diminish; its interval is that of "
    "their mean."
)
# A list of more batch sizes than this is left to the CSV.
MOST_LISTED = 12


@dataclass(frozen=True)
class LineRenderer(Renderer):
    """Draws curves with markers, guide lines, and marks for points that are missing.

    Attributes:
        point: see `Renderer`, which has all other attributes.
        guides: the lines to compare with, by their columns.
        counts_steps: whether a point is missing where no trial reached a goal; crosses say so.
        equal: whether octaves are to be equally long on both axes.
        room_below: the share of spare vertical room below: that is where perfect scaling leads,
            while scaling rules lead upwards.
        whole: what the horizontal axis holds in any case.
        band: what a band is, a sentence; {} is how many trials are compared.
        more: what is said besides where a study has more trials than are compared.
    """

    point: str
    labels: tuple[str, str] = ("batch size", "steps to result")
    scales: tuple[Scale, Scale] = ("log2", "log2")
    guides: tuple[str, ...] = ()
    counts_steps: bool = True
    equal: bool = True
    room_below: float = 0.7
    whole: tuple[float, ...] = ()
    band: str = (
        "The median of the best of {} lies in the band with a chance of 95 %, by order statistics. "
        "An end at the point itself is no bound."
    )
    more: str = "Where a study has more trials, its point lies at the better end of the band."
    aspects: tuple[float, float, float] = (0.76, 0.82, 0.9)
    page: float = 5.4

    def remark(self, panel: Panel) -> str:
        """Return the batch size that a normalised panel is relative to."""
        size = panel.first("normalise_at") if panel.kind == "normalised" else None
        return "" if size is None else f"relative to batch size {size:,}"

    def draw(self, axes: Axes, panel: Panel, size: Size) -> None:
        """Draw curves and guides, crosses where there is no point, and rings at borders."""
        crowded = [curve for curve in panel.curves if any(curve.column("at_border"))]
        x, y = self._spans(panel, _near_borders(panel, crowded), size)
        set_scales(axes, panel.scales, x, y, size)
        for curve in crowded:
            _shade_beyond(axes, curve)
        marks.draw_guides(axes, panel, self.guides)
        positive = panel.scales[1] != "linear"
        for index, curve in enumerate(panel.curves):
            marks.draw_band(axes, curve, 2 + index / 100)
            marks.draw_curve(axes, curve, 3 + index, positive=positive)
            marks.dots(
                axes,
                curve.marked("at_border"),
                zorder=3 + index,
                label=f"ring: {curve.name}",
                **marks.KEY["ring"].look,
            )
        if self.counts_steps:
            marks.draw_unreached(axes, panel)
        if panel.findings:
            draw_findings(axes, panel.findings)
        if not any(y > 0 or not positive for y in panel.values("y")):
            why = "no trial reached the goal" if self.counts_steps else "no value within the budget"
            marks.write_in_middle(axes, why)

    def _spans(self, panel: Panel, borders: list[float], size: Size) -> tuple[Span, Span]:
        x_scale, y_scale = panel.scales
        xs = [*panel.values("x"), *self.whole]
        ys = panel.values("y", "band_low", "band_high")
        if not self.counts_steps:
            shortest = 1e-6 if y_scale == "linear" else 1.0
            y = given_span(panel, "y", y_scale) or span_of(ys, y_scale, shortest, 0.07)
            return span_of(xs, x_scale, 3.0, 0.05), y
        y = span_of([*ys, *borders], y_scale, FEWEST_OCTAVES).widened(MARGIN, MARGIN)
        if x_scale == "linear":
            x = span_of(xs, x_scale, 1.0, 0.04)
        else:
            x = span_of(xs, x_scale, FEWEST_OCTAVES).widened(MARGIN, MARGIN)
        if self.equal:
            guided = any(panel.first(name) is not None for name in self.guides)
            below = self.room_below if guided else 0.5
            above = size.height - (findings_height(panel.findings) if panel.findings else 0.0)
            x, y = equal_octaves(x, y, Size(size.width, above), below)
            y = y.widened((size.height / above - 1) * y.length, 0.0)
            # No batch size lies far below 1.
            up = max(0.0, -MARGIN - x.low)
            x = Span(x.low + up, x.high + up)
        return x, y

    def strip(self, panel: Panel) -> float:
        """Return the height of the strip that marks batch sizes without a result."""
        return marks.strip_height(panel) if self.counts_steps else 0.0

    def sample(self, name: str, release_index: int) -> Mapping[str, Any]:  # noqa: ARG002 (others look at it)
        """Return the look of a marker on a line."""
        return marks.curve_look(release_index)

    def notes(self, rows: pl.DataFrame) -> list[str]:
        """Return what intervals and bands mean, and which points have no value and why."""
        x = "sparsity" if self.whole else "batch size"
        found = [NOTE.format(100 * rows["level"][0])] if "level" in rows.columns else []
        return found + self._intervals(rows) + self._bands(rows, x) + self._gaps(rows, x)

    def _intervals(self, rows: pl.DataFrame) -> list[str]:
        bounded = "perfect_low" in rows.columns and rows["perfect_low"].count() > 0
        return [INTERVAL] if bounded else []

    def _bands(self, rows: pl.DataFrame, x: str) -> list[str]:
        drawn = rows.filter(pl.col("y").is_not_null()) if "best_of" in rows.columns else rows[:0]
        if drawn.is_empty() or drawn["best_of"].null_count() == drawn.height:
            return []
        counts = sorted(drawn["best_of"].drop_nulls().unique().to_list())
        trials = f"k = {counted(counts[0], 'trial')}, diverged ones among them,"
        if len(counts) > 1:
            trials = "k trials, as many as all studies of a panel have with those that diverged "
            trials += f"({counts[0]:,} to {counts[-1]:,}),"
        note = self.band.format(trials)
        if self.more and drawn.select((pl.col("trials") > pl.col("best_of")).any()).item():
            note += f" {self.more}"
        neither = pl.col("band_low").is_null() & pl.col("band_high").is_null()
        return [note, *_where("Too few trials for a bound", drawn, neither, x)]

    def _gaps(self, rows: pl.DataFrame, x: str) -> list[str]:
        if not self.counts_steps:
            return _where("No finite value", rows, pl.col("y").is_null(), x) + super().notes(rows)
        unknown = pl.col("is_unknown") if "is_unknown" in rows.columns else pl.lit(value=False)
        notes = _where("Goal not reached", rows, pl.col("steps").is_null() & ~unknown, x)
        notes += _where("Steps unknown, since the search ended first", rows, unknown, x)
        notes += _where("Goal passed before step 1", rows, pl.col("steps") == 0, x)
        missing = rows.filter(pl.col("y").is_null() & (pl.col("steps") > 0))["series"]
        if len(missing) and "normalise_at" in rows.columns:
            notes.append(
                "Not drawn, for want of steps at the batch size to divide by: "
                f"{', '.join(map(readable, missing.unique(maintain_order=True)))}."
            )
        return notes


def _near_borders(panel: Panel, crowded: list[Curve]) -> list[float]:
    ys = [y for y in panel.values("y") if y > 0]
    borders = {end for curve in crowded for name in ("low", "high") for end in curve.column(name)}
    return [
        border
        for border in borders
        if border
        and border > 0
        and any(abs(math.log2(border) - math.log2(y)) < NEAR_BORDER for y in ys)
    ]


def _shade_beyond(axes: Axes, curve: Curve) -> None:
    """Shade the values outside the searched range, which may differ between batch sizes."""
    rows = [row for row in curve.columns("x", "low", "high") if None not in row]
    if not rows:
        return
    # Steps change half-way between two batch sizes, on the axis's scale.
    left, right = axes.get_xlim()
    middles = [math.sqrt(a[0] * b[0]) for a, b in pairwise(rows)]
    xs = [edge for pair in pairwise([left, *middles, right]) for edge in pair]
    bottom, top = axes.get_ylim()
    lows = [max(low, bottom) for _, low, _ in rows for _ in range(2)]
    highs = [min(high, top) for _, _, high in rows for _ in range(2)]
    for edges, end in ((lows, bottom), (highs, top)):
        axes.fill_between(xs, edges, end, color=FAINT, lw=0, zorder=0, label="beyond")


def _where(what: str, rows: pl.DataFrame, where: pl.Expr, x: str) -> list[str]:
    """Return a sentence on where something is so, "WHAT: CURVE (PANEL) at X 1, 2; …", or none."""
    several = rows["release"].n_unique() > 1
    found = rows.filter(where)
    grouped = found.group_by("panel", "series", "release", maintain_order=True).agg("x")
    if grouped.height > MOST_LISTED:
        return [f"{what}: at {found.height} points of {grouped.height} curves (see the CSV)."]
    parts = []
    for panel, series, release, sizes in grouped.iter_rows():
        title, curve = readable(panel), readable(series)
        name = title if curve in title else f"{curve} ({title})"
        origin = f" in {release}" if several else ""
        parts.append(f"{name}{origin} at {x} {', '.join(f'{size:,.10g}' for size in sizes)}")
    return [f"{what}: {'; '.join(parts)}."] if parts else []


# More lines than this cannot be told apart by colour.
MOST_NAMED_CURVES = 20
SMALL_RING_SIZE, LONE_SIZE = 4.0, 2.4
MARGIN_SHARE = 0.05
SHORTEST = {"log2": 3.0, "log10": 1.7, "linear": 1e-6}
# The trials of a whole study.
_FAINT_LINE: dict[str, Any] = {
    "color": marks.FAINT_LINE,
    "linewidth": 0.5,
    "linestyle": "-",
    "zorder": 2.2,
}
NAMELESS: Mapping[str, dict[str, Any]] = {
    "first": {"color": ACCENT, "zorder": 4},
    "others": _FAINT_LINE,
    "study": _FAINT_LINE,
}


@dataclass(frozen=True)
class CurveRenderer(Renderer):
    """Draws lines without markers; of a whole study, it highlights one trial."""

    point: str = "A curve is one trial during training."
    labels: tuple[str, str] = ("step", "{}")
    scales: tuple[Scale, Scale] = ("log2", "log10")
    page: float = 5.8
    aspects: tuple[float, float, float] = (0.66, 0.66, 0.85)

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
        x, y = (
            span_of(values, scale, SHORTEST[scale], MARGIN_SHARE)
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
        """Draw rings at the points that are read; of a whole study, also lines to the axis."""
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
        """Return the look of a line."""
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
    """Return the points of a curve that axes of these scales can show."""
    x_least, y_least = (-math.inf if scale == "linear" else 0.0 for scale in scales)
    return [
        (x, y)
        for x, y in curve.columns("x", "y")
        if y is not None and math.isfinite(y) and x > x_least and y > y_least
    ]
