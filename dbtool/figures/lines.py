"""The renderer of lines: points against batch size or sparsity, with what they compare to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from dbtool.core.errors import counted
from dbtool.figures import style
from dbtool.figures.names import readable
from dbtool.figures.panels import Curve, Panel, Renderer
from dbtool.figures.scales import Size, Span, equal_octaves, given_span, set_scales, span_of
from dbtool.figures.scaling import NOTE, draw_findings
from dbtool.figures.specs import Scale

MARGIN = 0.7  # octaves between the outermost points and the ends of an axis
FEWEST_OCTAVES = 4.0
NEAR_BORDER = 1.5  # a border of the searched range this many octaves from a point is drawn
LIMIT = (
    "Perfect scaling is the limit of the fitted curve at small batch sizes, with its interval. It "
    "passes below points with evaluations far apart: a point is the first evaluation past the "
    "goal, and the curve is fitted between that and the last one that missed it."
)
REPLICATES = (
    "The median of the replicates of one setting lies in the band with a chance of 95 %, by order "
    "statistics."
)
# Bands of more curves than this would hide them, and more guides be a hatching.
MOST_BANDS = MOST_GUIDES = 3
ALIKE = 0.1  # guides nearer to each other than this share lie over each other, and are drawn once
MOST_LISTED = 4  # a list of more curves than this is left to the CSV
# Slopes, between logarithmic axes, of lines to compare with; by the columns that hold them.
SLOPES: Mapping[str, float] = {"perfect": -1.0, "linear": 1.0, "square_root": 0.5}
BAND_ALPHA = 0.14
GUIDE_BAND: Mapping[str, Any] = {"alpha": 0.16, "linewidth": 0, "zorder": 1.5}
# Inches: between the axes and the strip above them, above and below the crosses in it, and from one
# curve's row of crosses to the next.
STRIP_GAP, STRIP_MARGIN, STRIP_STEP = 0.05, 0.065, 0.085


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
        more: what is said besides where a study has more trials, {}, than are compared.
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
    more: str = "Where a study has more {}s, its point lies at the better end of the band."
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
        for name in self.guides:
            _draw_guides(axes, panel, name)
        positive = panel.scales[1] != "linear"
        bands = len(panel.curves) <= MOST_BANDS * max(1, panel.releases)
        band = "interval_band" if panel.kind == "critical" else "band"
        for index, curve in enumerate(panel.curves):
            if bands:
                _draw_band(axes, curve, 2 + index / 100, band)
            _draw_curve(axes, curve, 3 + index, self.sample(curve), positive=positive)
            ring = {"zorder": 3 + index, "label": f"ring: {curve.name}", **style.KEY["ring"].look}
            style.dots(axes, curve.marked("at_border"), **ring)
        if strip := self.strip(panel):
            _draw_unreached(axes, panel, strip - STRIP_GAP)
        if panel.findings:
            draw_findings(axes, panel.findings, size.height)
        if not any(y > 0 or not positive for y in panel.values("y")):
            why = "no trial reached the goal" if self.counts_steps else "no value within the budget"
            axes.set_yticks([])
            axes.set_yticks([], minor=True)
            at = {"transform": axes.transAxes, "ha": "center", "va": "center"}
            axes.text(0.5, 0.5, why, {"size": style.LABEL, "color": style.QUIET, **at})

    def _spans(self, panel: Panel, borders: list[float], size: Size) -> tuple[Span, Span]:
        x_scale, y_scale = panel.scales
        xs = [*panel.values("x"), *self.whole]
        ys = panel.values("y", "band_low", "band_high")
        if not self.counts_steps:
            shortest = 1e-6 if y_scale == "linear" else 1.0
            y = given_span(panel, "y", y_scale) or span_of(ys, y_scale, shortest, 0.07)
            shortest = {"log2": 3.0, "log10": 0.2, "linear": 1.0}[x_scale]
            return span_of(xs, x_scale, shortest, 0.05), y
        y = span_of([*ys, *borders], y_scale, FEWEST_OCTAVES).widened(MARGIN, MARGIN)
        if x_scale == "linear":
            x = span_of(xs, x_scale, 1.0, 0.04)
        else:
            x = span_of(xs, x_scale, FEWEST_OCTAVES).widened(MARGIN, MARGIN)
        if self.equal:
            guided = any(panel.first(name) is not None for name in self.guides)
            below = self.room_below if guided else 0.5
            above = size.height - (panel.findings.height if panel.findings else 0.0)
            x, y = equal_octaves(x, y, Size(size.width, above), below)
            y = y.widened((size.height / above - 1) * y.length, 0.0)
            # No batch size lies far below 1.
            up = max(0.0, -MARGIN - x.low)
            x = Span(x.low + up, x.high + up)
        return x, y

    def strip(self, panel: Panel) -> float:
        """Return the height of the strip that marks batch sizes without a result."""
        rows = sum(bool(curve.unreached()) for curve in panel.curves) if self.counts_steps else 0
        return STRIP_GAP + 2 * STRIP_MARGIN + STRIP_STEP * (rows - 1) if rows else 0.0

    def sample(self, curve: Curve) -> Mapping[str, Any]:
        """Return the look of a marker on a line."""
        look = {"markerfacecolor": "white"} if curve.release_index else {}
        return look | {
            "marker": style.MARKERS[curve.place % len(style.MARKERS)],
            "linestyle": style.DASHES[curve.release_index % len(style.DASHES)],
            "markersize": style.MARKER_SIZE,
            "linewidth": 1.4,
        }

    def meanings(self, rows: pl.DataFrame, unit: str) -> list[str]:
        """Return what intervals and bands mean."""
        found = [NOTE.format(100 * rows["level"][0])] if "level" in rows.columns else []
        if "perfect_low" in rows.columns and rows["perfect_low"].count():
            found.append(LIMIT)
        drawn = _banded(rows)
        alone = pl.col("best_of").is_null() & pl.col("band_high").is_not_null()
        if not drawn.is_empty() and drawn.select(alone.any()).item():
            return [*found, REPLICATES]
        if drawn.is_empty() or drawn["best_of"].null_count() == drawn.height:
            return found
        counts = sorted(drawn["best_of"].drop_nulls().unique().to_list())
        trials = f"k = {counted(counts[0], unit)}, diverged ones counted,"
        if len(counts) > 1:
            trials = f"k {unit}s, diverged ones counted, as many as all studies of a panel have "
            trials += f"({counts[0]:,} to {counts[-1]:,}),"
        note = self.band.format(trials)
        if self.more and drawn.select((pl.col("trials") > pl.col("best_of")).any()).item():
            note += f" {self.more.format(unit)}"
        return [*found, note]

    def gaps(self, rows: pl.DataFrame) -> list[str]:
        """Return which points have no value or no band, and why."""
        x = "sparsity" if self.whole else "batch size"
        if not self.counts_steps:
            return _where("No finite value", rows, pl.col("y").is_null(), x) + super().gaps(rows)
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
        if not (banded := _banded(rows)).is_empty():
            neither = pl.all_horizontal(pl.col("band_low", "band_high").is_null())
            without = neither & pl.col("best_of").is_not_null()
            notes += _where("No band, since trials are too few", banded, without, x)
        return notes


def _banded(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the points that may have bands."""
    return rows.filter(pl.col("y").is_not_null()) if "best_of" in rows.columns else rows[:0]


def _near_borders(panel: Panel, crowded: list[Curve]) -> list[float]:
    ys = [y for y in panel.values("y") if y > 0]
    borders = {end for curve in crowded for name in ("low", "high") for end in curve.column(name)}
    return [
        border
        for border in borders
        if border and border > 0 and any(abs(math.log2(border / y)) < NEAR_BORDER for y in ys)
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
        axes.fill_between(xs, edges, end, color=style.FAINT, lw=0, zorder=0, label="beyond")


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


def _draw_curve(
    axes: Axes, curve: Curve, order: float, look: Mapping[str, Any], *, positive: bool
) -> None:
    """Draw markers joined by a line, which breaks where a value is missing or has no room."""
    xs = curve.column("x")
    ys = [
        math.nan if y is None or not math.isfinite(y) or (positive and y <= 0) else y
        for y in curve.column("y")
    ]
    look = {**look, "color": curve.colour}
    axes.plot(xs, ys, **look | {"marker": "", "label": f"line: {curve.name}", "zorder": order})
    known = [(x, y) for x, y in zip(xs, ys, strict=True) if not math.isnan(y)]
    alone = {"linestyle": "none", "label": f"points: {curve.name}", "zorder": order + 0.5}
    style.dots(axes, known, **look | alone)


def _draw_band(axes: Axes, curve: Curve, order: float, name: str) -> None:
    """Tint the area between the bounds of a curve, and draw the bounds as thin lines.

    An end without a bound is at the point itself, without a line; where a point has neither bound
    the band breaks. That of one point alone is a bar.
    """
    rows = [row for row in curve.columns("x", "y", "band_low", "band_high") if row[1] is not None]
    look: dict[str, Any] = {"color": curve.colour, "zorder": order}
    look["label"] = f"{name}: {curve.name}"
    for bounded, part in groupby(rows, lambda row: row[2:] != (None, None)):
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
            line |= {"marker": "_", "markersize": style.MARKER_SIZE}
        axes.fill_between(xs, bottoms, tops, alpha=BAND_ALPHA, linewidth=0, **look)
        for bounds in (lows, highs):
            axes.plot(xs, [math.nan if bound is None else bound for bound in bounds], **line)


def _draw_guides(axes: Axes, panel: Panel, name: str) -> None:
    """Draw each distinct guide line of a name once, in grey where curves share it.

    Of many it is the middle one, as long as all, to compare slopes with. The interval of a single
    line, in the columns that end with _low and _high, is tinted; several would hide each other.
    """
    guides = _guides(panel, name)
    if many := len(guides) > MOST_GUIDES:
        middle = sorted(guides)[len(guides) // 2]
        others = [curve for height in guides if height != middle for curve in guides[height]]
        guides = {middle: guides[middle] + others}
    alone = len(guides) == 1
    for height, curves in guides.items():
        first = curves[0]
        colour = style.PERFECT if alone or len(curves) > 1 else first.colour
        columns = first.columns("x", f"{name}_low", f"{name}_high")
        bounds = [row for row in columns if None not in row]
        if alone and len(bounds) > 1:
            band = {"color": colour, "label": f"{name}_band: {first.name}", **GUIDE_BAND}
            xs, lows, highs = zip(*bounds, strict=True)
            axes.fill_between(xs, lows, highs, **band)
        ends = sorted({x for curve in curves for x, _ in _guide_points(curve, name)})
        if len(ends) > 1:
            width, alpha = (1.0, 1.0) if alone else (0.8, 0.65)
            look = style.KEY[name].look | {"linewidth": width, "alpha": alpha, "color": colour}
            look |= {"zorder": 2, "label": f"{name}: {style.OF_MANY if many else first.name}"}
            axes.plot(ends, [height * x ** SLOPES[name] for x in ends], **look)


def _guides(panel: Panel, name: str) -> dict[float, list[Curve]]:
    """Return the curves by their guide line of a name, which is told by its height at 1.

    Drawn apart, dashes of curves that start elsewhere on the line would fill each other's gaps.
    """
    guides: dict[float, list[Curve]] = {}
    for curve in panel.curves:
        for x, y in _guide_points(curve, name)[:1]:
            own = y / x ** SLOPES[name]
            near = (at for at in guides if math.isclose(at, own, rel_tol=ALIKE))
            guides.setdefault(next(near, own), []).append(curve)
    return guides


def _guide_points(curve: Curve, name: str) -> list[tuple[float, float]]:
    return [(x, y) for x, y in curve.columns("x", name) if y is not None and y > 0]


def _draw_unreached(axes: Axes, panel: Panel, height: float) -> None:
    """Mark each x at which no trial reached the goal, in a strip above the axes, a row a curve."""
    style.draw_strip(axes, 1, STRIP_GAP, height, clip_on=False, label="strip")
    for row, curve in enumerate(curve for curve in panel.curves if curve.unreached()):
        up = STRIP_GAP + height - STRIP_MARGIN - STRIP_STEP * row
        at = axes.get_xaxis_transform() + ScaledTranslation(0, up, axes.figure.dpi_scale_trans)
        look = {"clip_on": False, "zorder": 9, "label": f"unreached: {curve.name}"}
        look |= style.KEY["unreached"].look | {"color": curve.colour}
        look |= {"marker": style.CROSSES[curve.release_index % len(style.CROSSES)]}
        style.dots(axes, [(x, 1.0) for x in curve.unreached()], transform=at, **look)
