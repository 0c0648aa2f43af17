"""One look for every figure: colours, sizes, Matplotlib's settings, and marks with their meaning.

A name of names.toml has the same colour in every figure; others take theirs from OTHER_COLOURS or,
where they differ in a number, from SEQUENCE. An artist's label is the name of its mark in KEY, and
after a colon the curve it belongs to: so the key explains what is drawn, and nothing else.
"""

import colorsys
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.markers import MarkerStyle
from matplotlib.transforms import ScaledTranslation

from dbtool.figures.names import NAMES, Name, form_a_sequence

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

# By the place of a series, and where there are no series by the index of a release.
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", "p", ">")
# By the index of a release, as are the crosses.
DASHES: Sequence[Any] = ("-", (0, (2.6, 1.1)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)), (0, (8, 2)))
CROSSES = ("x", "+", "1", "2", "3")
DASHED, DOTTED, FRAME = (0, (4, 2.2)), (0, (1, 1.8)), (0, (1, 1.6))
MARKER_SIZE, CURVE_WIDTH, RING_SIZE = 4.6, 1.2, 5.5  # points
FAINT_LINE = "#b4bcc6"


@dataclass(frozen=True)
class Mark:
    """A line or a mark by the properties of a Line2D, and what it means in a legend or the key."""

    text: str
    look: dict[str, Any]


def _line(text: str, **look: Any) -> Mark:
    return Mark(text, {"linestyle": "-", "color": PERFECT, "linewidth": 1.0} | look)


def _dot(text: str, marker: str, size: float, **look: Any) -> Mark:
    dot = {"linestyle": "none", "marker": marker, "markersize": size, "color": QUIET}
    return Mark(text, dot | look)


_HOLLOW = {"markerfacecolor": "none", "color": RING}
_THIN = {"color": INK, "linewidth": 0.9}
_TINT = {"linewidth": 6.0, "solid_capstyle": "butt"}
OF_MANY = "of the middle curve where there are many"
FIRST = "the trial that reached the goal first"
MIDDLE = "the middle replicate of the setting that reached the goal first"
KEY: Mapping[str, Mark] = {
    "perfect": _line("perfect scaling", linestyle=DASHED),
    "perfect_band": _line("its 95 % interval", color="#e7e9ec", **_TINT),
    "band": _line("95 % band at equal trials", color=QUIET, alpha=0.25, **_TINT),
    "interval_band": _line("interval of the batch size", color=QUIET, alpha=0.25, **_TINT),
    "fitted": _line("fitted curve", color=INK, linewidth=0.8),
    "knee": _line("perfect to, useful to", linestyle=DOTTED, **_THIN),
    "critical": _dot("critical batch size", "D", 3.6, color=INK),
    "interval": _line("interval of a batch size", color="#cdd3da", **_TINT | {"linewidth": 4.5}),
    "hyperbola": _line("1 + 1 / x", **_THIN),
    "linear": _line("linear scaling", linestyle=DASHED),
    "square_root": _line("square-root scaling", linestyle=DOTTED),
    "unreached": _dot("no trial reached the goal", CROSSES[0], 4.2, markeredgewidth=1.2),
    "ring": _dot("in the outer tenth of the searched range", "o", 8.5, **_HOLLOW),
    "beyond": _line("beyond the searched range", color=FAINT, **_TINT),
    "best": _dot(FIRST, "*", 10.0, markeredgewidth=0.8, color=INK, markerfacecolor=STAR),
    "contours": _line("constant effective learning rate", linewidth=0.6),
    "search space": _line("search space", linestyle=FRAME, color=QUIET, linewidth=0.8),
    "searched range": _line("searched range", color=BAND, **_TINT),
    "first": _line(FIRST, color=ACCENT, linewidth=CURVE_WIDTH),
    "others": _line("the other trials of the study", color=FAINT_LINE, linewidth=0.8),
    "study": _line("the trials of the study", color=FAINT_LINE, linewidth=0.8),
    "goal": _line("goal", linestyle=DASHED),
    "read off": _dot("where steps to result are read off", "o", RING_SIZE, markerfacecolor="white"),
}


def star_of(release_index: int) -> dict[str, Any]:
    """Return the look of the stars of a release."""
    return KEY["best"].look | {"markerfacecolor": "white" if release_index else STAR}


def dots(axes: Axes, points: Iterable[tuple[float, float]], **look: Any) -> None:
    """Draw marks without a line, as one artist; without points, nothing."""
    found = list(points)
    if found:
        axes.plot(*zip(*found, strict=True), **{"linestyle": "none"} | look)


def draw_strip(axes: Axes, edge: float, up: float, height: float, **look: Any) -> None:
    """Draw a strip along the lower edge of axes, 0, or the upper one, 1, in inches.

    It is a line as thick as the strip is high, so that it keeps its inches in axes of any size.
    """
    at = axes.transAxes + ScaledTranslation(0, up + height / 2, axes.figure.dpi_scale_trans)
    look |= {"linewidth": 72 * height, "solid_capstyle": "butt", "color": BAND}
    axes.plot([0, 1], [edge, edge], transform=at, **look)


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


def page_looks() -> dict[str, Any]:
    """Return the colours and markers of series for a page in the browser, as JSON values.

    A marker is the polygons of which it consists, in units of its size.
    """
    shapes = {marker: MarkerStyle(marker) for marker in MARKERS}
    return {
        "colours": {name: page_colour(each.colour) for name, each in NAMES.items() if each.colour},
        "others": [page_colour(colour) for colour in OTHER_COLOURS],
        "markers": {
            marker: [
                np.asarray(polygon).round(3).tolist()
                for polygon in shape.get_path().transformed(shape.get_transform()).to_polygons()
            ]
            for marker, shape in shapes.items()
        },
    }


def page_colour(colour: str) -> str:
    """Return a colour as CSS: as it is on light ground, and lighter on dark ground.

    Example:
        >>> page_colour("#173f8a")
        'light-dark(#173f8a, #5f8de4)'
    """
    hue, light, saturation = colorsys.rgb_to_hls(*to_rgb(colour))
    lighter = to_hex(colorsys.hls_to_rgb(hue, max(light, 0.53 + 0.33 * light), saturation))
    return f"light-dark({colour}, {lighter})"
