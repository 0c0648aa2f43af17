"""Text that fits: how wide words are when drawn, and lines broken to a width."""

from __future__ import annotations

from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from dbtool.figures.style import RC

POINTS_PER_INCH = 72.0


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line in inches.

    Args:
        text: one line.
        size: of the font, in points.
        bold: whether it is drawn bold.
    """
    if not text.strip():
        return 0.0
    font = FontProperties(family=RC["font.family"], weight="bold" if bold else "normal")
    extents = TextPath((0, 0), text, size=size, prop=font, usetex=False).get_extents()
    return float(extents.x1) / POINTS_PER_INCH


def lines_of(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """The text broken at spaces into lines of `width` inches; a longer word stands alone."""
    lines: list[str] = []
    for word in text.split(" "):
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


def shortened(text: str, width: float, size: float) -> str:
    """The text, its middle replaced by an ellipsis where it is wider than `width` inches."""
    kept = len(text)
    short = text
    while width_of(short, size) > width and kept > 2:
        kept -= 1
        short = f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
    return short
