"""From points to a Matplotlib figure: panels, their headings, legend, key and caption.

Matplotlib's constrained layout places the panels; how high the figure is, with what stands over and
under them, follows from the number of lines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import Bbox

from dbtool.figures.caption import facts_and_gaps, title_of
from dbtool.figures.kinds import panels_of
from dbtool.figures.legend import (
    Legend,
    Text,
    balanced_lines,
    draw_stack,
    height_of,
    key_of,
    lines_of,
    names_of,
    releases_of,
    shared_names,
)
from dbtool.figures.scales import Size
from dbtool.figures.style import (
    CAPTION,
    DOTS_PER_INCH,
    INK,
    LABEL,
    PANEL_TITLE,
    RC,
    SMALL,
    TITLE_SIZE,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.legend import Stack
    from dbtool.figures.panels import Panel
    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec
    from dbtool.figures.style import Mark


# Inches round the figure, and what stands beside and between axes at most, from which follows how
# wide these are; constrained layout sees to it that nothing overlaps.
EDGE = 0.1
LEFT, GAP, Y_LABEL = 0.62, 0.46, 0.18
# Panels narrower than this go below each other.
NARROWEST_PANEL = 1.45
# The widths that suit figures by their number of columns; that of one column is its kind's.
WIDTHS = {2: 7.0, 3: 7.0, 4: 9.2}
# What ticks and the label of an axis take, and what is between axes and their head.
TICKS, X_LABEL, HEAD_GAP = 0.214, 0.178, 0.056
# A label may be so many inches longer than its axis.
Y_LABEL_OVERHANG = 0.35
# Beyond so many panels Matplotlib takes longer to align labels than to draw the rest.
MOST_ALIGNED = 12
# Some devices draw letters a little wider than they are measured.
TEXT_ROOM = 0.98


def draw(points: Points, spec: FigureSpec, width: float | None = None) -> Figure:
    """Draw the points as a figure of a width in inches, None for one that suits its panels."""
    panels = panels_of(points, spec)
    caption = facts_and_gaps(points, panels, commands=False)
    title = title_of(points, spec)
    goal, panels = _shared_goal(panels)
    page = _page_of(panels, spec.columns, width)
    names = [names_of(panel) for panel in panels]
    shared = shared_names(names)
    heads = _heads(page, title, [[]] * len(panels) if shared else names)
    room = TEXT_ROOM * (page.width - 2 * EDGE)
    legend = Legend([*releases_of(panels), *shared], room)
    over: Stack = [
        Text(_title_lines(title, room), TITLE_SIZE, INK, "bold"),
        Text(lines_of(goal, room, LABEL), LABEL),
        EDGE if legend.entries else 0.0,
        legend,
    ]
    with rc_context(RC):
        figure = Figure(dpi=DOTS_PER_INCH)
        ratios = [height / max(page.heights) for height in page.heights]
        grid = figure.add_gridspec(page.rows, page.columns, height_ratios=ratios)
        for index, head in enumerate(heads):
            axes = figure.add_subplot(grid[divmod(index, page.columns)])
            _draw_panel(figure, axes, page, index, head)
        if len(panels) <= MOST_ALIGNED:
            figure.align_ylabels()
        key = Legend(key_of(figure, panels), room)
        lines = [line for part in caption for line in lines_of(part, room, CAPTION)]
        under: Stack = [key, 0.7 * EDGE if key.entries else 0.0, Text(lines, CAPTION)]
        above, below = height_of(over) + 2 * EDGE, height_of(under) + 2 * EDGE
        height = above + _panels_height(page, heads) + below
        figure.set_size_inches(page.width, height)
        side = EDGE / 2 / page.width
        layout = ConstrainedLayoutEngine(
            rect=(side, below / height, 1 - 2 * side, 1 - (above + below) / height),
            w_pad=EDGE / 2,
            h_pad=EDGE,
            wspace=0.04,
            hspace=0.0,
        )
        layout.execute(figure)
        for axes in figure.axes:
            # The solver's last digits depend on what the process drew before.
            axes.set_position(Bbox(axes.get_position().get_points().round(6)))
        draw_stack(figure, figure, over, EDGE, EDGE - above)
        draw_stack(figure, figure, under, EDGE, EDGE - height)
    return figure


def _title_lines(title: str, room: float) -> list[str]:
    """Break the heading into lines, after its colon where that takes no more lines."""
    whole = balanced_lines(title, room, TITLE_SIZE, "bold")
    head, colon, subject = title.partition(": ")
    if len(whole) < 2 or not colon:
        return whole
    parts = (f"{head}:", subject)
    lines = [line for part in parts for line in balanced_lines(part, room, TITLE_SIZE, "bold")]
    return lines if len(lines) == len(whole) else whole


@dataclass(frozen=True)
class _Page:
    """Panels in rows and columns, and the requested width of the figure."""

    panels: Sequence[Panel]
    columns: int
    given_width: float | None

    @property
    def rows(self) -> int:
        return -(-len(self.panels) // self.columns)

    @property
    def width(self) -> float:
        usual = WIDTHS.get(self.columns) or max(panel.renderer.page for panel in self.panels)
        return self.given_width or usual

    @cached_property
    def differ_beside(self) -> bool:
        """Whether the labels of the vertical axes differ within a row."""
        firsts = (self.panels[n - n % self.columns] for n in range(len(self.panels)))
        return any(a.labels[1] != b.labels[1] for a, b in zip(self.panels, firsts, strict=True))

    @cached_property
    def axes_width(self) -> float:
        """The width of the axes of a panel."""
        gaps = (GAP + Y_LABEL * self.differ_beside) * (self.columns - 1)
        return (self.width - LEFT - EDGE - gaps) / self.columns

    @cached_property
    def heights(self) -> list[float]:
        """The height of the axes of each row; of panels side by side all are equally high."""
        own = [each.renderer.height(each, self.columns, self.axes_width) for each in self.panels]
        return own if self.columns == 1 else [max(own)] * self.rows

    def size(self, index: int) -> Size:
        """Return the size of the axes of a panel."""
        return Size(self.axes_width, self.heights[index // self.columns])

    def has_y_label(self, index: int) -> bool:
        """Whether the vertical axis of a panel has a label."""
        return self.differ_beside or index % self.columns == 0

    def has_x_label(self, index: int) -> bool:
        """Whether the horizontal axis has a label; not where the panel below has the same."""
        below = self.panels[index + self.columns :][:1]
        return not below or below[0].labels[0] != self.panels[index].labels[0]


def _page_of(panels: Sequence[Panel], most: int, width: float | None) -> _Page:
    """Choose the number of columns, at most `most`, by the number of panels and the width."""
    columns = min(len(panels), most)
    if most == 3 and len(panels) > 9:
        columns = 4
    if most == 3 and len(panels) == 4:
        columns = 2
    while columns > 1 and _Page(panels, columns, width).axes_width < NARROWEST_PANEL:
        columns -= 1
    return _Page(panels, columns, width)


def _heads(page: _Page, title: str, names: Sequence[Sequence[Mark]]) -> list[Stack]:
    """Return the heading of each panel, without what the figure's heading says."""
    width = page.axes_width
    heads: list[Stack] = []
    for panel, marks in zip(page.panels, names, strict=True):
        own = "" if panel.title == title else panel.title
        goal = "; ".join(filter(None, (panel.goal, panel.renderer.remark(panel))))
        heads.append(
            [
                Text(balanced_lines(own, width, PANEL_TITLE, "bold"), PANEL_TITLE, INK, "bold"),
                Text(lines_of(goal, width, SMALL), SMALL),
                Legend(marks, width),
                HEAD_GAP + panel.renderer.strip(panel),
            ]
        )
    return heads


def _panels_height(page: _Page, heads: Sequence[Stack]) -> float:
    above = [height_of(head) for head in heads]
    below = [X_LABEL * page.has_x_label(index) for index in range(len(heads))]
    starts = range(0, len(heads), page.columns)
    words = sum(max(part[n : n + page.columns]) for part in (above, below) for n in starts)
    return page.rows * (fmean(page.heights) + 2.4 * EDGE + TICKS) + words


def _draw_panel(figure: Figure, axes: Axes, page: _Page, index: int, head: Stack) -> None:
    panel, size = page.panels[index], page.size(index)
    panel.renderer.draw(axes, panel, size)
    x_label, y_label = panel.labels
    if page.has_x_label(index):
        axes.set_xlabel(x_label, fontsize=LABEL, labelpad=2.5)
    if page.has_y_label(index):
        lines = balanced_lines(y_label, size.height + Y_LABEL_OVERHANG, LABEL)
        axes.set_ylabel("\n".join(lines), fontsize=LABEL, labelpad=2.5)
    draw_stack(figure, axes, head, 0.0, 0.0)


def _shared_goal(panels: Sequence[Panel]) -> tuple[str, list[Panel]]:
    """Return the goal that all panels share (or ""), and the panels without it."""
    goals = {panel.goal for panel in panels}
    if len(panels) == 1 or len(goals) > 1:
        return "", list(panels)
    return goals.pop(), [replace(panel, goal="") for panel in panels]
