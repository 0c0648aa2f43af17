"""One look for every figure: colours, sizes, and Matplotlib's settings.

A name of names.toml has the same colour in every figure; others take theirs from OTHER_COLOURS or,
where they differ in a number, from SEQUENCE.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from matplotlib.colors import LinearSegmentedColormap, to_hex

from dbtool.figures.names import NAMES, Name, form_a_sequence

if TYPE_CHECKING:
    from collections.abc import Sequence

INK = "#1f2328"
QUIET = "#5c6470"
FAINT = "#e4e7eb"
PERFECT = "#7a828e"

# In the order that names occur in a panel.
OTHER_COLOURS = ("#1565a9", "#d8572a", "#12806a", "#b93170", "#e8a202", "#4d3aa0", "#6cc3a0")
# From light to dark, so that more is darker in grey as well.
SEQUENCE = ("#eeb12f", "#e8762c", "#cc3f5c", "#8f3487", "#4d3aa0", "#16164f")

STAR = "#f2b01e"
RING = "#b3261e"
BAND = "#eef0f3"
ACCENT = "#1565a9"

# Points; a figure is 7 inches wide, the width of two columns of print.
TITLE_SIZE = 10.5
PANEL_TITLE = 8.5
LABEL = 8.0
SMALL = 7.0
TINY = 6.0
CAPTION = 6.8

DOTS_PER_INCH = 200

# Matplotlib types the keys as literals, which a mapping made elsewhere cannot be.
RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "font.size": LABEL,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "dbtool",
    "pdf.fonttype": 42,
} | {
    f"{axis}tick.{setting}": value
    for axis in "xy"
    for setting, value in {
        "color": QUIET,
        "labelcolor": INK,
        "labelsize": SMALL,
        "major.size": 3.0,
        "minor.size": 1.6,
        "major.width": 0.7,
        "minor.width": 0.5,
        "major.pad": 2.5,
    }.items()
}


def colours(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each name of a panel; names are in the order of its curves."""
    known = {name: NAMES.get(name, Name()).colour for name in names}
    if form_a_sequence(names) and not all(known.values()):
        return dict(zip(names, sequence(len(names)), strict=True))
    free = [colour for colour in OTHER_COLOURS if colour not in known.values()] or OTHER_COLOURS
    others = itertools.cycle(free)
    return {name: colour or next(others) for name, colour in known.items()}


def sequence(count: int) -> list[str]:
    """Return colours from light to dark, evenly spaced along SEQUENCE."""
    colour_at = LinearSegmentedColormap.from_list("sequence", SEQUENCE)
    return [to_hex(colour_at(index / max(count - 1, 1))) for index in range(count)]
