"""Where things go: axes whose octaves are equally long, ticks, labels that keep their distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# From digits to raised ones.
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TICK_STEPS = (1, 2, 4, 8, 16, 32)
# Beyond this an axis would be mostly empty, and the octaves differ instead.
MOST_WIDENING = 2.0


@dataclass(frozen=True)
class Span:
    """A stretch of an axis in octaves: the base-2 logarithms of its ends."""

    low: float
    high: float

    @property
    def length(self) -> float:
        """Octaves from end to end."""
        return self.high - self.low

    def widened(self, below: float, above: float) -> Span:
        """The stretch with that many octaves more at its ends."""
        return Span(self.low - below, self.high + above)


def span_of(values: Iterable[float], shortest: float) -> Span:
    """The stretch that holds the positive values, at least so many octaves long."""
    octaves = [math.log2(value) for value in values if value > 0]
    if not octaves:
        return Span(0.0, shortest)
    span = Span(min(octaves), max(octaves))
    missing = max(0.0, shortest - span.length) / 2
    return span.widened(missing, missing)


def equal_octaves(
    x: Span, y: Span, width: float, height: float, below: float = 0.5
) -> tuple[Span, Span]:
    """Both stretches, the denser one widened so that an octave is as long on either axis.

    A line of slope -1 is then drawn at 45 degrees. A stretch that would have to grow too much stays
    as it is.

    Args:
        x: the stretch along the horizontal axis.
        y: the stretch along the vertical axis.
        width: of the axes, in inches.
        height: of the axes, in inches.
        below: the share of the vertical room that is added below.
    """
    octave = max(x.length / width, y.length / height)
    wider = octave * width - x.length
    taller = octave * height - y.length
    if wider > (MOST_WIDENING - 1) * x.length or taller > (MOST_WIDENING - 1) * y.length:
        return x, y
    return x.widened(wider / 2, wider / 2), y.widened(below * taller, (1 - below) * taller)


def powers(span: Span, room: int) -> list[int]:
    """The exponents to mark along a stretch, evenly spaced, at most `room` where possible."""
    for step in TICK_STEPS:
        marks = [
            exponent
            for exponent in range(math.ceil(span.low), math.floor(span.high) + 1)
            if exponent % step == 0
        ]
        if len(marks) <= room:
            break
    return marks


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Positions as near to the wanted ones as a distance of `gap` between any two allows.

    Args:
        wanted: positions in any order; the result is in the same order.
        gap: the least distance.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    # Groups of labels that touch, each as (first index in `order`, count, position of the lowest).
    groups: list[tuple[list[int], float]] = []
    for index in order:
        members, low = [index], wanted[index]
        while groups and groups[-1][1] + gap * len(groups[-1][0]) > low:
            members = groups.pop()[0] + members
            middle = sum(wanted[member] for member in members) / len(members)
            low = middle - gap * (len(members) - 1) / 2
        groups.append((members, low))
    places = {
        member: low + gap * place for members, low in groups for place, member in enumerate(members)
    }
    return [places[index] for index in range(len(wanted))]


def linear_ticks(span: Span, room: int) -> tuple[list[float], list[str]]:
    """Round numbers to mark along a linear stretch, about `room` of them, and their words."""
    rough = span.length / max(room, 1)
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(s * magnitude for s in (1, 2, 2.5, 5, 10) if s * magnitude >= rough * (1 - 1e-9))
    first = math.ceil(span.low / step - 1e-9)
    marks = [index * step for index in range(first, math.floor(span.high / step + 1e-9) + 1)]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if round(step * 10**decimals, 6) % 1:
        decimals += 1
    return marks, [
        # Adding 0 turns a negative zero into a plain one.
        f"{round(mark, decimals) + 0.0:,.{decimals}f}".replace("-", "\N{MINUS SIGN}")
        for mark in marks
    ]


def round_numbers(span: Span, room: int) -> tuple[list[float], list[str]]:
    """Numbers to mark along a stretch in decades that holds too few powers of ten.

    Args:
        span: in decades.
        room: how many marks fit.
    """
    decades = range(math.floor(span.low), math.ceil(span.high) + 1)
    fitting = []
    for digits in (range(1, 10), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        fitting = [
            (digit, decade)
            for decade in decades
            for digit in digits
            if span.low <= math.log10(digit) + decade <= span.high
        ]
        if len(fitting) <= room:
            break
    return [digit * 10.0**decade for digit, decade in fitting], [
        _number(digit, decade) for digit, decade in fitting
    ]


def _number(digit: int, decade: int) -> str:
    """A number with one digit that counts, as one reads it."""
    if -4 <= decade <= 4:
        return f"{digit * 10.0**decade:,.{max(0, -decade)}f}"
    return f"{digit}\N{MULTIPLICATION SIGN}10{str(decade).translate(SUPERSCRIPTS)}"
