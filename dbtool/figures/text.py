"""Text that fits: how wide words are when drawn, and lines broken to a width."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import LoadFlags

from dbtool.figures.names import one_line
from dbtool.figures.style import RC

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

# Widths are measured once, at a size at which rounding to pixels does not matter.
_MEASURED_SIZE = 100.0
_POINTS_PER_INCH = 72.0
_SUBPIXELS = 64.0


@lru_cache(maxsize=2)
def _font(*, bold: bool) -> FT2Font:
    weight = "bold" if bold else "normal"
    font = get_font(findfont(FontProperties(family=RC["font.family"], weight=weight)))
    font.set_size(_MEASURED_SIZE, _POINTS_PER_INCH)
    return font


@lru_cache(maxsize=16384)
def _measured(word: str, *, bold: bool) -> float:
    """The width of a word in inches at a size of one point."""
    font = _font(bold=bold)
    # Other figures of the process may have left the shared font at their own size.
    font.set_size(_MEASURED_SIZE, _POINTS_PER_INCH)
    font.set_text(word, 0.0, flags=LoadFlags.NO_HINTING)
    return float(font.get_width_height()[0]) / _SUBPIXELS / _MEASURED_SIZE / _POINTS_PER_INCH


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line in inches.

    Args:
        text: one line.
        size: of the font, in points.
        bold: whether it is drawn bold.
    """
    words = one_line(text).split(" ")
    # A space alone has no ink; between two letters it has its width.
    space = _measured("a b", bold=bold) - _measured("a", bold=bold) - _measured("b", bold=bold)
    inked = sum(_measured(word, bold=bold) for word in words if word)
    return size * (inked + space * (len(words) - 1))


def lines_of(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """The text broken at spaces into lines of `width` inches; a longer word stands alone."""
    lines: list[str] = []
    for word in one_line(text).split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def balanced_lines(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """As `lines_of`, with lines of about the same width instead of a full one and a rest."""
    lines = lines_of(text, width, size, bold=bold)
    while len(lines) > 1:
        width = max(width_of(line, size, bold=bold) for line in lines) - 0.01
        narrower = lines_of(text, width, size, bold=bold)
        if len(narrower) > len(lines) or narrower == lines:
            break
        lines = narrower
    return lines


def shortened(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text, its middle replaced by an ellipsis where it is wider than `width` inches."""
    text = one_line(text)
    kept = len(text)
    short = text
    while width_of(short, size, bold=bold) > width and kept > 2:
        kept -= 1
        short = f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
    return short
