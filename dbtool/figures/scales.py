"""Axes: their scale, how far they reach, and where their ticks are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    ScalarFormatter,
    StrMethodFormatter,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from dbtool.figures.panels import Panel
    from dbtool.figures.specs import Scale

TICKS_PER_INCH = 2.6
# Numbers with several digits need more room along a horizontal axis than powers do.
NUMBERS_PER_INCH = 1.9
OCTAVES_A_DECADE = math.log2(10)
# Beyond this an axis would be mostly empty, and the octaves differ instead.
MOST_WIDENING = 2.0
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Size:
    """How large axes are, in inches; what constrained layout makes of it differs a little."""

    width: float
    height: float


@dataclass(frozen=True)
class Span:
    """A stretch of an axis: plain numbers of a linear one, octaves (log2) of any other."""

    low: float
    high: float

    @property
    def length(self) -> float:
        """From end to end."""
        return self.high - self.low

    def widened(self, below: float, above: float) -> Span:
        """The stretch with so much more at its ends."""
        return Span(self.low - below, self.high + above)

    def ends(self, scale: Scale) -> tuple[float, float]:
        """The numbers at its ends."""
        return (self.low, self.high) if scale == "linear" else (2.0**self.low, 2.0**self.high)


def span_of(values: Iterable[float], scale: Scale, shortest: float, margin: float = 0.0) -> Span:
    """The stretch of an axis that holds some values.

    Args:
        values: those that a logarithmic axis has no room for are passed over.
        scale: of the axis.
        shortest: the least length.
        margin: the share of the length that is added at each end.

    Example:
        >>> span_of([1, 8], "log2", shortest=2)
        Span(low=0.0, high=3.0)
    """
    found = list(values) if scale == "linear" else [math.log2(v) for v in values if v > 0]
    if not found:
        return Span(0.0, max(shortest, 1.0))
    span = Span(min(found), max(found))
    missing = max(0.0, shortest - span.length) / 2
    span = span.widened(missing, missing)
    return span.widened(margin * span.length, margin * span.length)


def given_span(panel: Panel, axis: str, scale: Scale) -> Span | None:
    """The stretch that the rows ask for, in their columns x_from and x_to or y_from and y_to."""
    low, high = panel.first(f"{axis}_from"), panel.first(f"{axis}_to")
    return None if low is None or high is None else span_of([low, high], scale, 0.0)


def equal_octaves(x: Span, y: Span, size: Size, below: float = 0.5) -> tuple[Span, Span]:
    """Both stretches, the denser one widened so that an octave is as long on either axis.

    A line of slope -1 is then drawn at 45 degrees. A stretch that would have to grow too much stays
    as it is. Matplotlib's equal aspect knows no such bound, and widens evenly.

    Args:
        x: the stretch along the horizontal axis.
        y: the stretch along the vertical axis.
        size: of the axes.
        below: the share of the vertical room that is added below.
    """
    octave = max(x.length / size.width, y.length / size.height)
    wider = octave * size.width - x.length
    taller = octave * size.height - y.length
    if wider > (MOST_WIDENING - 1) * x.length or taller > (MOST_WIDENING - 1) * y.length:
        return x, y
    return x.widened(wider / 2, wider / 2), y.widened(below * taller, (1 - below) * taller)


def set_scales(axes: Axes, scales: tuple[Scale, Scale], x: Span, y: Span, size: Size) -> None:
    """Gives axes their scales, ends and ticks.

    Args:
        axes: of that size.
        scales: of the horizontal and the vertical axis.
        x: the horizontal axis, from end to end.
        y: the vertical axis, likewise.
        size: of the axes.
    """
    _set_scale(axes, "x", scales[0], x, size.width)
    _set_scale(axes, "y", scales[1], y, size.height)


def _set_scale(axes: Axes, which: str, scale: Scale, span: Span, inches: float) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    room = max(2, round(inches * TICKS_PER_INCH))
    if scale == "linear":
        count = max(2, round(inches * NUMBERS_PER_INCH)) if which == "x" else room
        axis.set_major_locator(MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(ScalarFormatter(useOffset=False))
    else:
        base = 2 if scale == "log2" else 10
        (axes.set_xscale if which == "x" else axes.set_yscale)("log", base=base)
        low, high = (end / OCTAVES_A_DECADE for end in (span.low, span.high))
        decades = high - low
        if base == 10 and math.floor(high) <= math.ceil(low):
            axis.set_major_locator(LogLocator(10, subs=_digits(decades), numticks=99))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        else:
            exponents = _exponents(base, span, room)
            axis.set_major_locator(FixedLocator([float(base) ** each for each in exponents]))
            axis.set_major_formatter(FixedFormatter([power(base, each) for each in exponents]))
        # Small ticks cost more time than all else of an axis, and tell little between octaves.
        between = LogLocator(10, subs="all", numticks=99) if base == 10 and decades < 2.5 else None
        axis.set_minor_locator(between or NullLocator())
        axis.set_minor_formatter(NullFormatter())
    (axes.set_xlim if which == "x" else axes.set_ylim)(span.ends(scale))


def power(base: int, exponent: int) -> str:
    """A power as plain text, since Matplotlib takes long to parse a formula.

    Example:
        >>> power(10, -3)
        '10⁻³'
    """
    return f"{base}{str(exponent).translate(_SUPERSCRIPTS)}"


def _exponents(base: int, span: Span, room: int) -> list[int]:
    """Exponents of the powers to mark along a stretch, at most `room`, evenly spaced from 0 on.

    Matplotlib's own locator spaces them from any: of batch sizes it would mark 2, 8, 32, …
    """
    octaves = math.log2(base)
    for step in (1, 2, 4, 8, 16, 32):
        first = math.ceil(span.low / octaves / step)
        last = math.floor(span.high / octaves / step)
        if last - first < room:
            break
    return [step * index for index in range(first, last + 1)]


def _digits(decades: float) -> tuple[float, ...]:
    """The first digits of numbers to mark along so many decades, which hold few powers of ten."""
    if decades > 1:
        return (1, 2, 5)
    return (1, 2, 3, 5, 7) if decades > 0.6 else tuple(range(1, 10))
