"""Legends and text: what is explained where, and how it is stacked over and under the axes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D, ScaledTranslation

from dbtool.figures.names import one_line
from dbtool.figures.style import (
    FIRST,
    KEY,
    MIDDLE,
    OF_MANY,
    QUIET,
    RC,
    SMALL,
    Mark,
    star_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

    from dbtool.figures.panels import Curve, Panel


POINTS_PER_INCH = 72
# One legend of more entries is read less easily than one a panel, unless all would be the same.
MOST_SHARED, MOST_SAME = 12, 24
MOST_WHOLE = 12  # of more entries that begin alike, such as batch sizes, the first alone is whole
# A line of text, and what of it is below the baseline, in sizes of its type.
LINE_HEIGHT, DESCENT = 1.35, 0.35
# Of legends, in sizes of their type, as Matplotlib measures them.
HANDLE, HANDLE_GAP, COLUMN_GAP, ROW, ROW_GAP = 2.2, 0.6, 1.6, 1.25, 0.3
_BREAK = re.compile("(?<![<≤>≥]) (?![<≤>≥])")


@lru_cache(maxsize=16384)
def _measured(text: str, weight: str) -> float:
    """Return the width of a text in inches at a size of one point."""
    font = FontProperties(family=RC["font.family"], weight=weight, size=100)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 100 / POINTS_PER_INCH


def width_of(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a line of text in inches, in a font of `size` points."""
    return size * _measured(one_line(text), weight)


def lines_of(text: str, width: float, size: float, weight: str = "normal") -> list[str]:
    """Break a text into lines of at most `width` inches, at spaces outside of goals if possible."""
    lines: list[str] = []
    for word in _BREAK.split(one_line(text)) if text else ():
        if lines and width_of(f"{lines[-1]} {word}", size, weight) <= width:
            lines[-1] += f" {word}"
            continue
        lines.append("")
        for letter in word:
            if lines[-1] and width_of(lines[-1] + letter, size, weight) > width:
                lines.append("")
            lines[-1] += letter
    return lines


def balanced_lines(text: str, width: float, size: float, weight: str = "normal") -> list[str]:
    """Break a text as `lines_of` does, into lines of similar width."""
    lines = lines_of(text, width, size, weight)
    even = width_of(text, size, weight) / max(len(lines), 1)
    tried = (lines_of(text, min(even * n / 20, width), size, weight) for n in range(20, 40))
    return next((each for each in tried if len(each) == len(lines)), lines)


@dataclass(frozen=True)
class Text:
    """Lines of text in one font and colour."""

    lines: Sequence[str]
    size: float
    colour: str = QUIET
    weight: str = "normal"

    @property
    def inches(self) -> float:
        """Its height."""
        return len(self.lines) * self.size * LINE_HEIGHT / POINTS_PER_INCH

    def draw(self, part: Figure | Axes, corner: Transform) -> None:
        """Write it with its lower left corner at the origin of a transform.

        Line by line, by their baselines: Matplotlib places several by the heights of their letters.
        """
        figure = part.figure if isinstance(part, Axes) else part
        font = {"size": self.size, "color": self.colour, "weight": self.weight, "va": "baseline"}
        for row, line in enumerate(reversed(self.lines)):
            up = (row * LINE_HEIGHT + DESCENT) * self.size / POINTS_PER_INCH
            at = corner + ScaledTranslation(0, up, figure.dpi_scale_trans)
            if line:
                part.text(0, 0, line, font, transform=at, parse_math=False)


@dataclass(frozen=True)
class Legend:
    """A legend without a frame, at most `room` inches wide; without entries, nothing."""

    entries: Sequence[Mark]
    room: float

    @cached_property
    def texts(self) -> list[str]:
        """The words of the entries."""
        first, *others = texts = [entry.text for entry in self.entries]
        alike = first.rpartition(" ")[0] + " "
        if len(texts) <= MOST_WHOLE or not all(text.startswith(alike) for text in others):
            return texts
        return [first, *(text.removeprefix(alike) for text in others)]

    @cached_property
    def columns(self) -> int:
        """The number of columns: as many as fit, since few rows are best."""
        widths = [width_of(text, SMALL) for text in self.texts] if self.entries else []
        handle, gap = (ems * SMALL / POINTS_PER_INCH for ems in (HANDLE + HANDLE_GAP, COLUMN_GAP))
        for columns in range(len(widths), 1, -1):
            # As Matplotlib spreads them.
            tracks = [track.max() for track in np.array_split(widths, columns)]
            if sum(tracks) + handle * columns + gap * (columns - 1) <= self.room:
                rows = -(-len(widths) // columns)
                return -(-len(widths) // rows)
        return 1

    @property
    def inches(self) -> float:
        """Its height."""
        rows = -(-len(self.entries) // self.columns)
        return rows * SMALL * (ROW + ROW_GAP) / POINTS_PER_INCH

    def draw(self, part: Figure | Axes, corner: Transform) -> None:
        """Draw it with its lower left corner at the origin of a transform."""
        if not self.entries:
            return
        legend = part.legend(
            [Line2D([], [], **entry.look) for entry in self.entries],
            self.texts,
            loc="lower left",
            bbox_to_anchor=(0, 0),
            bbox_transform=corner,
            ncols=self.columns,
            fontsize=SMALL,
            frameon=False,
            borderpad=0,
            borderaxespad=0,
            handlelength=HANDLE,
            handletextpad=HANDLE_GAP,
            columnspacing=COLUMN_GAP,
            handleheight=ROW,
            labelspacing=ROW_GAP,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)


Stack: TypeAlias = "Sequence[Text | Legend | float]"
"""Blocks from top to bottom; a number is a gap of so many inches."""


def height_of(stack: Stack) -> float:
    """Return the height of stacked blocks in inches."""
    return sum(block if isinstance(block, float) else block.inches for block in stack)


def draw_stack(figure: Figure, part: Figure | Axes, stack: Stack, right: float, up: float) -> None:
    """Draw blocks one above another.

    Their lower left corner is so many inches right and up from the upper left one of `part`: the
    figure, or some of its axes.
    """
    inches = figure.dpi_scale_trans
    upper_left = part.transAxes if isinstance(part, Axes) else part.transFigure
    upper_left = Affine2D().translate(0, 1) + upper_left
    for block in reversed(stack):
        if isinstance(block, float):
            up += block
        else:
            block.draw(part, upper_left + ScaledTranslation(right, up, inches))
            up += block.inches


def names_of(panel: Panel) -> list[Mark]:
    """Return the legend entries of a panel's series; none where its title names the only one."""
    renderer = panel.renderer
    series: dict[str, Curve] = {}
    for curve in panel.curves:
        first = curve if panel.is_by_release else replace(curve, release_index=0)
        series.setdefault(curve.label, first)
    in_title = len(series) == 1 and _words(next(iter(series))) <= _words(panel.title)
    if in_title or not renderer.names_curves(panel):
        return []
    return [
        Mark(label, {"color": curve.colour, **renderer.sample(curve)})
        for label, curve in series.items()
    ]


def _words(text: str) -> set[str]:
    return set(text.casefold().replace(",", "").split())


def shared_names(named: Sequence[Sequence[Mark]]) -> Sequence[Mark]:
    """Return the entries of all panels, so that one legend serves the figure; or none.

    It can where a series looks the same in each panel, and the entries are few.
    """
    found: dict[str, Mark] = {}
    alike = all(found.setdefault(mark.text, mark) == mark for marks in named for mark in marks)
    same = all(len(marks) == len(found) for marks in named)
    few = len(found) <= (MOST_SAME if same else MOST_SHARED)
    return list(found.values()) if alike and few else []


def releases_of(panels: Sequence[Panel]) -> list[Mark]:
    """Return a legend entry for each release, where there are several that are not the series."""
    if panels[0].releases < 2 or panels[0].is_by_release:
        return []
    curves = [replace(each, name="", place=0) for _, each in sorted(_releases(panels).items())]
    return [
        Mark(f"release {each.release}", {"color": QUIET, **panels[0].renderer.sample(each)})
        for each in curves
    ]


def _releases(panels: Sequence[Panel]) -> dict[int, Curve]:
    return {curve.release_index: curve for panel in panels for curve in panel.curves}


def key_of(figure: Figure, panels: Sequence[Panel], *, has_replicates: bool = False) -> list[Mark]:
    """Return the key: each mark that is drawn, once; stars differ by release.

    A band has the colour of the only series with bands; a guide tells where it is that of a curve.
    """
    drawn: dict[str, set[str]] = {}
    for axes in figure.axes:
        for artist in axes.get_children():
            name, _, curve = str(artist.get_label()).partition(": ")
            drawn.setdefault(name, set()).add(curve)
    found = {
        name: [replace(mark, text=f"{mark.text} {OF_MANY}") if OF_MANY in drawn[name] else mark]
        for name, mark in KEY.items()
        if name in drawn
    }
    for name in found.keys() & {"band", "interval_band"}:
        curves = (curve for panel in panels for curve in panel.curves)
        colours = {curve.colour for curve in curves if curve.name in drawn[name]}
        own = {"color": colours.pop()} if len(colours) == 1 else {}
        found[name] = [Mark(KEY[name].text, KEY[name].look | own)]
    if has_replicates:
        found |= {n: [replace(KEY[n], text=MIDDLE)] for n in found if KEY[n].text == FIRST}
    releases = sorted(_releases(panels).items())
    if "best" in found and len(releases) > 1:
        text = found["best"][0].text
        found["best"] = [Mark(f"{text} ({each.release})", star_of(i)) for i, each in releases]
    return [mark for marks in found.values() for mark in marks]
