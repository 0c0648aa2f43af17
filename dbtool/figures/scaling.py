"""The figure of how far larger batches help: steps to result with the results of the analysis.

Batch sizes lie in rows along the bottom of the axes, each with its interval as a bar.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from matplotlib.transforms import ScaledTranslation

from dbtool.analysis.interval import NOTHING_KNOWN, finite
from dbtool.figures.points import NoDataError, Points, Request, read_points
from dbtool.figures.scales import set_scale, span_of
from dbtool.figures.specs import find_figure
from dbtool.figures.style import BAND, INK, KEY, QUIET, TINY, draw_strip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.analysis.answers import Answer
    from dbtool.analysis.interval import Interval
    from dbtool.analysis.scaling import Scaling, Settings
    from dbtool.figures.specs import PanelKind
    from dbtool.store.releases import Releases

STEPS_FIGURE = find_figure("steps")
SCALING_FIGURE = msgspec.structs.replace(
    STEPS_FIGURE, name="scaling", query=STEPS_FIGURE.name, title="How far larger batches help"
)
"""The figure of steps as it is drawn with the results of the analysis."""
BY_GOAL = msgspec.structs.replace(
    SCALING_FIGURE, title="Critical batch size against the goal", kind="critical", query="scaling"
)
"""The figure of critical batch sizes to several goals."""
NOTE = (
    "The thin curve is fitted to the median of the best of equally many trials, whose steps lie "
    "between the last evaluation that missed the goal and the first that did not (upright lines). "
    "Along the bottom, with {:g} % intervals: up to where scaling is perfect, the critical batch "
    "sizes, and up to where larger ones are of use, as far as the measurements tell. An arrow "
    "leads on beyond the axes."
)
_KNEES = ("perfect to", "useful to")  # batch sizes where the curve bends
_POINTS = 200  # a curve is drawn through so many points
_TWO_SIDED = 1.96  # of a normal median, 95 % lie within as many standard errors
_ALIKE = 0.01  # critical batch sizes nearer to each other than this are drawn once
# Inches from a row to the next, and from the axis to the middle of the lowest.
_ROW, _LOWEST = 0.115, 0.08


@dataclass(frozen=True)
class Findings:
    """The results of the analysis of the only curve of a panel.

    Attributes:
        curve: batch sizes and steps, as fitted; empty where no curve was.
        steps: what it was fitted to: batch sizes, and between which steps the result lies; 0 and
            inf where there is no bound.
        sizes: batch sizes by name, from the upper row to the lower.
    """

    curve: Sequence[tuple[float, float]]
    steps: Sequence[tuple[float, float, float]]
    sizes: Mapping[str, Interval]

    @property
    def height(self) -> float:
        """The height of all rows of batch sizes, in inches."""
        return _LOWEST + _ROW * len(self.sizes) if self.sizes else 0.0


def goal_points(answers: Sequence[Answer], settings: Settings) -> Points:
    """Return critical batch sizes (tradeoff) against goals, a panel a workload.

    Raises:
        NoDataError: none is identified.
    """
    panels: dict[tuple[str | None, str | None], int] = {}
    rows = []
    for answer in answers:
        order = panels.setdefault((answer.release, answer.workload), len(panels) + 1)
        found = answer.scaling.tradeoff or NOTHING_KNOWN
        rows.append(
            _row(answer, order, "critical")
            | {"x": answer.goal, "y": found.value, "series": "tradeoff"}
            | {"band_low": found.low or None, "band_high": finite(found.high)}
            | {"trials": answer.scaling.trials}
            | {"choice": f"Intervals of {100 * settings.level:g} %."}
        )
    rows = [row for row in rows if row["y"] is not None]
    if not rows:
        raise NoDataError("at no goal a critical batch size is identified")
    frame = pl.DataFrame(rows, infer_schema_length=None).sort("panel_order", "x")
    releases = [release for release, _ in panels if release is not None]
    return Points(frame, frame.clear(), {}, list(dict.fromkeys(releases)), "")


def _row(answer: Answer, order: int, kind: PanelKind) -> dict[str, object]:
    """Return what all points of an answer have in common."""
    name = answer.workload or "steps"
    return (
        {"panel": name, "series": name, "panel_order": order, "series_order": 1, "kind": kind}
        | {"release": answer.release, "release_order": 1, "workload": name, "metric": answer.metric}
        | {"goal": answer.goal if kind != "critical" else None, "goal_inclusive": False}
        | {"trials": None, "asked_trials": None}
    )


def _points_of_table(answer: Answer, order: int) -> Points:
    """Return the steps of a table as points, with the line of perfect scaling."""
    known = [each for each in answer.scaling.steps if math.isfinite(each.upper)]
    if not known:
        raise NoDataError(f"{answer.workload or 'the table'} has no steps to draw")
    fewest = min(each.batch_size * each.upper for each in known)
    rows = [
        _row(answer, order, "table")
        | {"x": each.batch_size, "y": each.upper, "steps": each.upper}
        | {"batch_size": each.batch_size, "perfect": fewest / each.batch_size, "is_unknown": False}
        for each in known
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return Points(frame, frame.clear(), {}, [], "")


def scaling_points(
    db: Releases | None,
    answers: Sequence[Answer],
    settings: Settings,
    on_left_out: Callable[[str], None] = lambda _reason: None,
) -> Points:
    """Return the points of the figure of steps, a panel a workload, with the results of analysis.

    db is None for answers of a table; on_left_out gets the reason why a workload has no panel.

    Raises:
        NoDataError: no study has steps to result.
    """
    panels: list[Points] = []
    for answer in answers:
        try:
            panels.append(_panel(db, answer, settings, len(panels) + 1))
        except NoDataError as error:
            on_left_out(f"left out: {error}")
    if not panels:
        raise NoDataError("no study has steps to result to draw")
    releases = list(dict.fromkeys(panel.release for panel in panels if panel.releases))
    orders = {name: order for order, name in enumerate(releases, 1)}
    rows = pl.concat([panel.rows for panel in panels], how="diagonal_relaxed")
    if orders:
        rows = rows.with_columns(pl.col("release").replace_strict(orders).alias("release_order"))
    return replace(
        panels[0],
        rows=rows,
        left_out=rows.clear(),
        missing={},
        releases=releases,
        has_replicates=any(panel.has_replicates for panel in panels),
        sql=";\n".join(panel.sql for panel in panels),
        findings={order: panel.findings[order] for order, panel in enumerate(panels, 1)},
    )


def _panel(db: Releases | None, answer: Answer, settings: Settings, order: int) -> Points:
    """Return the points of a workload, with the results of its analysis as columns."""
    request = Request(
        answer.release,
        settings.trials,
        answer.goal,
        (str(answer.workload),),
        metric=answer.metric,
        through="first",
        sustained=settings.sustained,
    )
    points = read_points(db, STEPS_FIGURE, request) if db else _points_of_table(answer, order)
    curve = answer.scaling.curve
    fitted = curve.at if curve else None
    findings = _findings(answer.scaling, fitted)
    steps = [fitted(float(size)) if fitted else None for size in points.rows["x"]]
    columns: dict[str, float | None] = {}
    for name, size in findings.sizes.items():
        stem = name.replace(" ", "_")
        columns |= size.columns(stem, f"{stem}_low", f"{stem}_high")
    if db:
        # With a level the caption tells of searches.
        columns["level"] = settings.level
    rows = points.rows.with_columns(
        pl.lit(order).alias("panel_order"),
        *(pl.lit(value, pl.Float64).alias(name) for name, value in columns.items()),
        pl.Series("fitted", steps, pl.Float64),
    )
    if curve:
        ends = curve.fewest_examples.columns("perfect", "perfect_low", "perfect_high")
        rows = rows.with_columns(
            pl.lit(value, pl.Float64).truediv(pl.col("x")).alias(name)
            for name, value in ends.items()
        )
    return replace(points, rows=rows, findings={order: findings})


def _findings(scaling: Scaling, fitted: Callable[[float], float] | None) -> Findings:
    curve: list[tuple[float, float]] = []
    if fitted:
        ends = scaling.steps[0].batch_size, scaling.steps[-1].batch_size
        curve = [(size, fitted(size)) for size in np.geomspace(*ends, _POINTS).tolist()]
    tradeoff, overhead = scaling.tradeoff, scaling.overhead
    if tradeoff and overhead:
        one, other = ((each.value or 0.0, each.low, each.high) for each in (tradeoff, overhead))
        overhead = None if np.allclose(one, other, _ALIKE, 0) else overhead
    named = {
        "perfect to": scaling.perfect_to,
        "tradeoff": tradeoff,
        "overhead": overhead,
        "useful to": scaling.useful_to,
    }
    sizes = {n: size for n, size in named.items() if size and size.verdict != "not_identified"}
    known = [
        (each.batch_size, each.lower * math.exp(-off), each.upper * math.exp(off))
        for each in scaling.steps
        for off in (_TWO_SIDED * each.error,)
    ]
    return Findings(curve, known, sizes)


def draw_findings(axes: Axes, findings: Findings, height: float) -> None:
    """Draw the findings into axes of a height in inches whose limits are set.

    Artists are labelled as in `KEY`.
    """
    if findings.curve:
        look = KEY["fitted"].look | {"zorder": 8, "label": "fitted"}
        axes.plot(*zip(*findings.curve, strict=True), **look)
    for batch_size, lower, upper in findings.steps:
        if lower > 0 and math.isfinite(upper):
            look = {"linewidth": 0.8, "alpha": 0.7, "zorder": 7, "label": "bounds"}
            axes.vlines(batch_size, lower, upper, INK, **look)
    if findings.sizes:
        draw_strip(axes, 0, 0, findings.height, zorder=2.4, label="ground")
        # Below the top of the rows the axis of steps tells nothing.
        bottom, top = axes.get_ylim()
        above = span_of([bottom, top], "log2", 0.0)
        above = above.widened(-above.length * findings.height / height, 0.0)
        set_scale(axes, "y", "log2", above, height - findings.height)
        axes.set_ylim(bottom, top)
    for row, (name, size) in enumerate(reversed([*findings.sizes.items()])):
        _draw_row(axes, name, size, _LOWEST + _ROW * row)


def _draw_row(axes: Axes, name: str, size: Interval, up: float) -> None:
    """Draw a batch size with its interval, named at the side on which more room is free."""
    left, right = axes.get_xlim()
    at_right = max(size.low, left) / left < right / min(size.high, right)
    shift = ScaledTranslation(0, up, axes.figure.dpi_scale_trans)
    row: dict[str, Any] = {"transform": axes.get_xaxis_transform() + shift, "zorder": 2.6}
    ends = [min(max(end, left), right) for end in (size.low, size.high)]
    axes.plot(ends, [0, 0], label="interval", **row | KEY["interval"].look)
    for end, is_open, arrow in ((left, size.low < left, "<"), (right, size.high > right, ">")):
        if is_open:
            tip = {"marker": arrow, "markersize": 3.6, "color": QUIET, "markeredgewidth": 0}
            axes.plot([end], [0], clip_on=False, **row | tip)
    if size.value is not None and left <= size.value <= right:
        if name in _KNEES:
            axes.axvline(size.value, zorder=2.5, label="knee", **KEY["knee"].look)
        else:
            look = row | KEY["critical"].look | {"zorder": 9}
            axes.plot([size.value], [0], label="critical", **look)
    ground = {"facecolor": BAND, "linewidth": 0, "pad": 0.5}
    side, inwards = ("right", -3) if at_right else ("left", 3)
    words: dict[str, Any] = {"size": TINY, "color": INK, "ha": side, "va": "center_baseline"}
    words |= {"zorder": 9, "bbox": ground}
    axes.annotate(
        name, (float(at_right), 0), (inwards, 72 * up), "axes fraction", "offset points", **words
    )
