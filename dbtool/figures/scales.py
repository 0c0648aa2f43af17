"""Axes: their scale, how far they reach, and where their ticks are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib import ticker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from dbtool.figures.panels import Panel
    from dbtool.figures.specs import Scale

TICKS_PER_INCH = 2.6
# Numbers with several digits need more room along a horizontal axis than powers do.
NUMBERS_PER_INCH = 1.9
OCTAVES_A_DECADE = math.log2(10)
# Beyond these an axis would be too empty, and the octaves differ instead.
MOST_WIDER, MOST_TALLER = 1.3, 2.0
# Ends of axes, in octaves and in plain numbers, beyond which Matplotlib overflows.
_FURTHEST = {"log2": 1020.0, "log10": 1020.0, "linear": 1e300}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Size:
    """The planned size of axes in inches; constrained layout may change it a little."""

    width: float
    height: float


@dataclass(frozen=True)
class Span:
    """An interval of an axis: in octaves (log2), or in plain numbers where it is linear."""

    low: float
    high: float

    @property
    def length(self) -> float:
        """Its length."""
        return self.high - self.low

    def widened(self, below: float, above: float) -> Span:
        """Return the interval, longer by these lengths."""
        return Span(self.low - below, self.high + above)

    def drawable(self, scale: Scale) -> Span:
        """Return what of the interval an axis has room for."""
        most = _FURTHEST[scale]
        return Span(*(min(max(end, -most), most) for end in (self.low, self.high)))

    def ends(self, scale: Scale) -> tuple[float, float]:
        """Return its limits as numbers."""
        return (self.low, self.high) if scale == "linear" else (2.0**self.low, 2.0**self.high)


def span_of(values: Iterable[float], scale: Scale, shortest: float, margin: float = 0.0) -> Span:
    """Return the interval of an axis that contains some values.

    Those that a logarithmic axis has no room for are passed over. The interval has at least the
    length `shortest`, and grows by the share `margin` of its length at each end.

    Example:
        >>> span_of([1, 8], "log2", shortest=2)
        Span(low=0.0, high=3.0)
    """
    found = list(values) if scale == "linear" else [math.log2(v) for v in values if v > 0]
    if not found:
        return Span(0.0, max(shortest, 1.0))
    span = Span(min(found), max(found)).drawable(scale)
    missing = max(0.0, shortest - span.length) / 2
    span = span.widened(missing, missing)
    return span.widened(margin * span.length, margin * span.length).drawable(scale)


def given_span(panel: Panel, axis: str, scale: Scale) -> Span | None:
    """Return the interval in the columns x_from and x_to or y_from and y_to; None without them."""
    low, high = panel.first(f"{axis}_from"), panel.first(f"{axis}_to")
    return None if low is None or high is None else span_of([low, high], scale, 0.0)


def equal_octaves(x: Span, y: Span, size: Size, below: float = 0.5) -> tuple[Span, Span]:
    """Widen one of two intervals, so that an octave is equally long on both axes.

    A line of slope -1 is then drawn at 45 degrees; `below` is the share of the vertical room that
    is added below. A stretch that would have to grow too much stays as it is. Matplotlib's equal
    aspect knows no such bound, and widens evenly.
    """
    octave = max(x.length / size.width, y.length / size.height)
    wider = octave * size.width - x.length
    taller = octave * size.height - y.length
    if wider > (MOST_WIDER - 1) * x.length or taller > (MOST_TALLER - 1) * y.length:
        return x, y
    return x.widened(wider / 2, wider / 2), y.widened(below * taller, (1 - below) * taller)


def set_scales(axes: Axes, scales: tuple[Scale, Scale], x: Span, y: Span, size: Size) -> None:
    """Set the scales, limits and ticks of axes of a size, for stretches from end to end."""
    set_scale(axes, "x", scales[0], x, size.width)
    set_scale(axes, "y", scales[1], y, size.height)


def set_scale(axes: Axes, which: str, scale: Scale, span: Span, inches: float) -> None:
    """Set the scale, limits and ticks of an axis, "x" or "y", of a length in inches."""
    span = span.drawable(scale)
    axis = axes.xaxis if which == "x" else axes.yaxis
    room = max(3, round(inches * TICKS_PER_INCH))
    count = max(2, round(inches * NUMBERS_PER_INCH)) if which == "x" else room
    even = ticker.MaxNLocator(count, steps=[1, 2, 2.5, 5, 10])
    if scale == "linear":
        axis.set_major_locator(even)
        axis.set_major_formatter(ticker.ScalarFormatter(useOffset=False))
    else:
        base = 2 if scale == "log2" else 10
        (axes.set_xscale if which == "x" else axes.set_yscale)("log", base=base)
        low, high = (end / OCTAVES_A_DECADE for end in (span.low, span.high))
        decades = high - low
        if base == 10 and math.floor(high) <= math.ceil(low):
            few = (1, 2, 3, 5, 7) if decades > 0.6 else tuple(range(1, 10))
            digits = (1, 2, 5) if decades > 1 else few
            locator = ticker.LogLocator(10, subs=digits, numticks=99)
            ends = span.ends(scale)
            ticks = [tick for tick in locator.tick_values(*ends) if ends[0] <= tick <= ends[1]]
            axis.set_major_locator(locator if len(ticks) > 2 else even)
            axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        else:
            exponents = _exponents(base, span, room)
            axis.set_major_locator(ticker.FixedLocator([float(base) ** each for each in exponents]))
            names = [power(base, each) for each in exponents]
            axis.set_major_formatter(ticker.FixedFormatter(names))
        # Small ticks cost more time than all else of an axis, and tell little between octaves.
        axis.set_minor_locator(ticker.NullLocator())
        if base == 10 and decades < 2.5:
            axis.set_minor_locator(ticker.LogLocator(10, subs="all", numticks=99))
        axis.set_minor_formatter(ticker.NullFormatter())
    (axes.set_xlim if which == "x" else axes.set_ylim)(span.ends(scale))


def power(base: int, exponent: int) -> str:
    """Return a power as plain text, since Matplotlib takes long to parse a formula.

    Example:
        >>> power(10, -3)
        '10⁻³'
    """
    return f"{base}{str(exponent).translate(_SUPERSCRIPTS)}"


def _exponents(base: int, span: Span, room: int) -> list[int]:
    """Return the exponents of at most `room` ticks, multiples of one number.

    Matplotlib's own locator spaces them from any: of batch sizes it would mark 2, 8, 32, …
    """
    octaves = math.log2(base)
    for step in (1, 2, 4, 8, 16, 32):
        first = math.ceil(span.low / octaves / step)
        last = math.floor(span.high / octaves / step)
        if last - first < room:
            break
    return [step * index for index in range(first, last + 1)]
