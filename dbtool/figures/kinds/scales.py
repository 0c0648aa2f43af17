"""Axes: their scale, how far they reach, and where their ticks are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT, MarkerStyle

from dbtool.figures.geometry import SUPERSCRIPTS, Span, linear_ticks, powers, round_numbers
from dbtool.figures.style import QUIET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Panel

Scale: TypeAlias = Literal["log2", "log10", "linear"]
BASES = {"log2": 2.0, "log10": 10.0}
TICKS_PER_INCH = 2.6
# Numbers with several digits need more room along a horizontal axis than powers do.
NUMBERS_PER_INCH = 1.9
# Below so many marked powers of ten, the numbers between them are marked instead.
FEWEST_POWERS = 2
MARGIN = 0.05


def scale_of(panel: Panel, axis: Literal["x", "y"]) -> Scale:
    """The scale that the rows ask for; linear where they do not say."""
    asked = panel.first(f"{axis}_scale")
    return cast("Scale", asked) if asked in {*BASES, "linear"} else "linear"


def span_for(values: Sequence[float], scale: Scale, shortest: float, margin: float) -> Span:
    """The stretch of an axis for these values, in octaves, decades or plain numbers.

    Args:
        values: that are to be on the axis; those that have no place on it are passed over.
        scale: of the axis.
        shortest: the least length, in the units of the stretch.
        margin: the share of the length that is added at each end.
    """
    if scale == "linear":
        placed = list(values)
    else:
        base = BASES[scale]
        placed = [math.log(value, base) for value in values if value > 0]
    if not placed:
        return Span(0.0, max(shortest, 1.0))
    span = Span(min(placed), max(placed))
    missing = max(0.0, shortest - span.length) / 2
    span = span.widened(missing, missing)
    room = margin * (span.length or 1.0)
    return span.widened(room, room)


def set_scale(axes: Axes, which: Literal["x", "y"], scale: Scale, span: Span, pen: Pen) -> None:
    """Gives an axis its scale, its ends and its ticks.

    Args:
        axes: that the axis belongs to.
        which: the horizontal or the vertical one.
        scale: a step of 1 of `span` is an octave, a decade, or 1.
        span: from end to end.
        pen: the size of the axes.
    """
    axis = axes.xaxis if which == "x" else axes.yaxis
    limits = axes.set_xlim if which == "x" else axes.set_ylim
    length = pen.width if which == "x" else pen.height
    room = max(2, round(length * TICKS_PER_INCH))
    if scale == "linear":
        limits(span.low, span.high)
        count = max(2, round(length * (NUMBERS_PER_INCH if which == "x" else TICKS_PER_INCH)))
        marks, words = linear_ticks(span, count)
        axis.set_ticks(marks, labels=words)
        return
    base = BASES[scale]
    (axes.set_xscale if which == "x" else axes.set_yscale)("log", base=base)
    limits(base**span.low, base**span.high)
    marked = powers(span, room)
    whole = range(math.ceil(span.low), math.floor(span.high) + 1)
    if scale == "log10" and len(marked) < FEWEST_POWERS:
        numbers, words = round_numbers(span, room)
        axis.set_ticks(numbers, labels=words)
    else:
        axis.set_ticks([base**e for e in marked], labels=[power(base, e) for e in marked])
    between = [base**e for e in whole]
    if scale == "log10" and len(whole) < 6:
        decades = range(math.floor(span.low), math.ceil(span.high) + 1)
        between = [digit * base**e for e in decades for digit in range(1, 10)]
    ends = (base**span.low, base**span.high)
    _small_ticks(axes, which, [mark for mark in between if ends[0] <= mark <= ends[1]], pen)
    # Matplotlib would put its own small ticks there, each an artist of its own.
    axis.set_ticks([], minor=True)


def power(base: float, exponent: int) -> str:
    """A power as one reads it, in characters that every font has: math text takes far longer."""
    return f"{base:g}{str(exponent).translate(SUPERSCRIPTS)}"


def _small_ticks(axes: Axes, which: Literal["x", "y"], marks: Sequence[float], pen: Pen) -> None:
    """Draws all small ticks of an axis as one artist."""
    edge = [0.0] * len(marks)
    axes.add_artist(
        Line2D(
            marks if which == "x" else edge,
            edge if which == "x" else marks,
            transform=axes.get_xaxis_transform() if which == "x" else axes.get_yaxis_transform(),
            linestyle="none",
            marker=MarkerStyle(TICKDOWN if which == "x" else TICKLEFT),
            markersize=pen.pt(1.6),
            markeredgewidth=pen.pt(0.5),
            color=QUIET,
            clip_on=False,
            label="small ticks",
        )
    )
