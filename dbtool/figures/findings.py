"""What an analysis found of a curve, and how it is drawn over the points.

Batch sizes lie in rows along the bottom of the axes, each with its interval as a bar.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.transforms import ScaledTranslation

from dbtool.figures import marks
from dbtool.figures.style import BAND, INK, QUIET, TINY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


@dataclass(frozen=True)
class FoundSize:
    """A batch size that an analysis estimated, with its interval.

    Attributes:
        name: what it is, in a word or two.
        is_knee: whether the curve bends there.
        value: None where only a bound is known.
        low: lower end of its interval; 0 where there is none.
        high: upper end; inf where there is none.
    """

    name: str
    is_knee: bool
    value: float | None
    low: float
    high: float


@dataclass(frozen=True)
class Findings:
    """The results of an analysis of the only curve of a panel.

    Attributes:
        curve: batch sizes and steps, as fitted; empty where no curve was.
        steps: what it was fitted to: batch sizes, and between which steps the result lies; 0 and
            inf where there is no bound.
        sizes: from the upper row to the lower.
    """

    curve: Sequence[tuple[float, float]]
    steps: Sequence[tuple[float, float, float]]
    sizes: Sequence[FoundSize]

    def columns(self) -> dict[str, float | None]:
        """Return the batch sizes and their intervals as columns; None for an unknown value."""
        found: dict[str, float | None] = {}
        for size in self.sizes:
            stem = size.name.replace(" ", "_")
            low, high = size.low or None, size.high if math.isfinite(size.high) else None
            found |= {stem: size.value, f"{stem}_low": low, f"{stem}_high": high}
        return found


# Inches from a row to the next, and from the axis to the middle of the lowest.
ROW, LOWEST = 0.115, 0.08
NOTE = (
    "The thin curve is fitted to the median of the best of equally many trials, whose steps lie "
    "between the last evaluation that missed the goal and the first that did not (upright lines). "
    "Along the bottom, with {:g} % intervals: up to where scaling is perfect, the critical batch "
    "sizes, and up to where larger ones are of use, as far as the measurements tell. An arrow "
    "leads on beyond the axes."
)


def findings_height(findings: Findings) -> float:
    """Return the height of all rows of batch sizes, in inches."""
    return LOWEST + ROW * len(findings.sizes) if findings.sizes else 0.0


def draw_findings(axes: Axes, findings: Findings) -> None:
    """Draw the findings into axes whose limits are set; artists are labelled as in `marks.KEY`."""
    if findings.curve:
        look = marks.KEY["fitted"].look | {"zorder": 8, "label": "fitted"}
        axes.plot(*zip(*findings.curve, strict=True), **look)
    for batch_size, lower, upper in findings.steps:
        if lower > 0 and math.isfinite(upper):
            axes.vlines(
                batch_size, lower, upper, INK, linewidth=0.8, alpha=0.7, zorder=7, label="bounds"
            )
    if findings.sizes:
        _draw_ground(axes, findings_height(findings))
    for row, size in enumerate(reversed(findings.sizes)):
        up = LOWEST + ROW * row
        _draw_row(axes, size, up)
        _name_row(axes, size.name, up, at_right=_leave_right(axes, findings.sizes))


def _draw_ground(axes: Axes, height: float) -> None:
    """Cover the guide lines below the rows."""
    # A line as thick as the rows are high: so it keeps its inches in axes of any size.
    axes.plot(
        [0, 1],
        [0, 0],
        transform=axes.transAxes + ScaledTranslation(0, height / 2, axes.figure.dpi_scale_trans),
        linewidth=72 * height,
        solid_capstyle="butt",
        color=BAND,
        zorder=2.4,
        label="ground",
    )


def _draw_row(axes: Axes, size: FoundSize, up: float) -> None:
    left, right = axes.get_xlim()
    shift = ScaledTranslation(0, up, axes.figure.dpi_scale_trans)
    row: dict[str, Any] = {"transform": axes.get_xaxis_transform() + shift, "zorder": 2.6}
    ends = [min(max(end, left), right) for end in (size.low, size.high)]
    axes.plot(ends, [0, 0], label="interval", **row | marks.KEY["interval"].look)
    for end, is_open, arrow in (
        (left, size.low < left, "<"),
        (right, size.high > right, ">"),
    ):
        if is_open:
            tip = {"marker": arrow, "markersize": 3.6, "color": QUIET, "markeredgewidth": 0}
            axes.plot([end], [0], clip_on=False, **row | tip)
    if size.value is not None and left <= size.value <= right:
        name = "knee" if size.is_knee else "critical"
        if size.is_knee:
            axes.axvline(size.value, zorder=2.5, label=name, **marks.KEY[name].look)
        else:
            axes.plot([size.value], [0], label=name, **row | marks.KEY[name].look | {"zorder": 9})


def _leave_right(axes: Axes, sizes: Sequence[FoundSize]) -> bool:
    """Whether more room is free at the right of the axes than at the left."""
    left, right = map(math.log, axes.get_xlim())
    shown = (end for size in sizes for end in (size.low, size.value, size.high))
    at = [math.log(end) for end in shown if end and left <= math.log(end) <= right]
    return bool(at) and min(at) - left < right - max(at)


def _name_row(axes: Axes, name: str, up: float, *, at_right: bool) -> None:
    axes.annotate(
        name,
        (float(at_right), 0),
        xytext=(-3 if at_right else 3, 72 * up),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right" if at_right else "left",
        va="center_baseline",
        size=TINY,
        color=INK,
        zorder=9,
    )
