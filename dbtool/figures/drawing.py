"""From points to a Matplotlib figure: panels, their headings, legend, key and caption.

Matplotlib's constrained layout places the panels; how high the figure is, with what stands over and
under them, follows from the number of lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import Bbox, ScaledTranslation

from dbtool.figures import style
from dbtool.figures.caption import short_caption, title_of
from dbtool.figures.kinds import panels_of
from dbtool.figures.legend import (
    Legend,
    Stack,
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
from dbtool.figures.panels import Panel
from dbtool.figures.points import Points
from dbtool.figures.scales import Size
from dbtool.figures.specs import FigureLayout, FigureSpec

# Inches round the figure, and what stands beside and between axes at most, from which follows how
# wide these are; constrained layout sees to it that nothing overlaps.
EDGE = 0.1
LEFT, GAP, Y_LABEL = 0.62, 0.46, 0.18
NARROWEST_PANEL = 1.45  # panels narrower than this go below each other
# The widths that suit figures by their number of columns; that of one column is its kind's.
WIDTHS = {2: 7.0, 3: 7.0, 4: 9.2, 5: 10.0}
# What ticks and the label of an axis take, and what is between axes and their head.
TICKS, X_LABEL, HEAD_GAP = 0.214, 0.178, 0.056
FOOT_GAP = 0.05  # between an axis with its label and the legend under it
Y_LABEL_OVERHANG = 0.35  # a label may be so many inches longer than its axis
# Beyond so many panels Matplotlib takes longer to align labels than to draw the rest.
MOST_ALIGNED = 12
# A caption is looked at rather than read; the CSV and `caption_of` have the rest.
MOST_CAPTION_LINES = 3
COLUMN_HEIGHT = 3.5  # inches, of a picture of one panel for a column of print
TEXT_ROOM = 0.98  # some devices draw letters a little wider than they are measured


def draw_parts(points: Points, spec: FigureSpec, layout: FigureLayout | None) -> list[Figure]:
    """Draw the points; for a column of print a figure for each panel, or part that it holds."""
    if layout is None or not layout.is_of_column:
        return [draw(points, spec, layout)]
    panels = panels_of(points, spec)
    width = _Page(panels, 1, layout.width).axes_width
    parts = [part for panel in panels for part in panel.renderer.parts(panel, width)]
    return [draw(points, spec, layout, part if parts[1:] else None) for part in parts]


def draw(
    points: Points,
    spec: FigureSpec,
    layout: FigureLayout | None = None,
    part: Panel | None = None,
    most: float | None = None,
) -> Figure:
    """Draw the points: a heading over the panels, and legend, key and caption under them.

    Without a layout, width and words are those that suit the panels, and without a part all panels
    are drawn; `most` is the height in inches that axes have at most.
    """
    layout = layout or FigureLayout()
    panels = [part] if part else panels_of(points, spec)
    title = title_of(points, spec)
    sentences = short_caption(points, spec, panels) if layout.has_caption else []
    goals = {panel.goal for panel in panels}
    goal = goals.pop() if len(panels) > 1 and len(goals) == 1 else ""
    if goal:
        panels = [replace(panel, goal="") for panel in panels]
    page = replace(_page_of(panels, spec.columns, layout.width), most=most)
    alone = layout.is_of_column and len(panels) == 1
    names = [names_of(panel) for panel in panels]
    shared = shared_names(names)
    room = TEXT_ROOM * (page.width - 2 * EDGE)
    over: Stack = [Text(lines_of(goal, room, style.LABEL), style.LABEL)]
    if layout.has_title:
        over = [Text(_title_lines(title, room), style.TITLE_SIZE, style.INK, "bold"), *over]
    heads = _heads(page, title, bare=alone and not part and not layout.has_title)
    feet = [Legend([] if shared else marks, page.axes_width) for marks in names]
    with rc_context(style.RC):
        figure = Figure(dpi=style.DOTS_PER_INCH)
        ratios = [height / max(page.heights) for height in page.heights]
        grid = figure.add_gridspec(page.rows, page.columns, height_ratios=ratios)
        for index, (head, foot) in enumerate(zip(heads, feet, strict=True)):
            axes = figure.add_subplot(grid[divmod(index, page.columns)])
            _draw_panel(figure, axes, page, index, head, foot)
        if len(panels) <= MOST_ALIGNED:
            figure.align_ylabels()
        key = key_of(figure, panels, has_replicates=points.has_replicates)
        entries = [*releases_of(panels), *shared], key
        under: Stack = []
        for legend in (Legend(marks, room) for marks in entries if marks):
            under = [*under, legend, 0.7 * EDGE]
        under = [*under, Text(_caption_lines(sentences, room), style.CAPTION)]
        above, below = (height_of(stack) + 1.2 * EDGE for stack in (over, under))
        height = above + _panels_height(page, heads, feet) + below
        if alone and most is None and height > COLUMN_HEIGHT:
            # How much the words take is known once all marks are drawn.
            room = max(page.heights[0] + COLUMN_HEIGHT - height, 1.0)
            return draw(points, spec, layout, part, room)
        figure.set_size_inches(page.width, height)
        side = EDGE / 2 / page.width
        engine = ConstrainedLayoutEngine(
            rect=(side, below / height, 1 - 2 * side, 1 - (above + below) / height),
            w_pad=EDGE / 2,
            h_pad=EDGE,
            wspace=0.04,
            hspace=0.0,
        )
        engine.execute(figure)
        for axes in figure.axes:
            # The solver's last digits depend on what the process drew before.
            axes.set_position(Bbox(axes.get_position().get_points().round(6)))
        draw_stack(figure, figure, over, EDGE, 0.2 * EDGE - above)
        draw_stack(figure, figure, under, EDGE, EDGE - height)
    return figure


def _caption_lines(sentences: Sequence[str], room: float) -> list[str]:
    """Break the caption into lines, with as many of its sentences as so many lines hold."""
    lines: list[str] = []
    for sentence in sentences:
        longer = lines_of(" ".join([*lines, sentence]), room, style.CAPTION)
        if len(longer) <= MOST_CAPTION_LINES:
            lines = longer
    return lines


def _title_lines(title: str, room: float) -> list[str]:
    """Break the heading into lines, after its colon where that takes no more lines."""
    whole = balanced_lines(title, room, style.TITLE_SIZE, "bold")
    head, colon, subject = title.partition(": ")
    if len(whole) < 2 or not colon:
        return whole
    parts = (f"{head}:", subject)
    size = style.TITLE_SIZE
    lines = [line for part in parts for line in balanced_lines(part, room, size, "bold")]
    return lines if len(lines) == len(whole) else whole


@dataclass(frozen=True)
class _Page:
    """Panels in rows and columns, the requested width of the figure, and the most of its axes."""

    panels: Sequence[Panel]
    columns: int
    given_width: float | None
    most: float | None = None

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
        own = own if self.most is None else [min(each, self.most) for each in own]
        return own if self.columns == 1 else [max(own)] * self.rows

    def size(self, index: int) -> Size:
        """Return the size of the axes of a panel."""
        return Size(self.axes_width, self.heights[index // self.columns])

    def has_x_label(self, index: int) -> bool:
        """Whether the horizontal axis has a label; not where the panel below has the same."""
        below = self.panels[index + self.columns :][:1]
        return not below or below[0].labels[0] != self.panels[index].labels[0]


def _page_of(panels: Sequence[Panel], most: int, width: float | None) -> _Page:
    """Choose the number of columns by the number of panels, the width, and what fits.

    That is `most`, or one more of many panels; fewer, or one more, where that saves a panel from
    being alone in the last row.
    """
    count = len(panels)
    most = min(count, most + (most == 3 and count > 9))
    choices = [
        columns
        for columns in (*range(most, 0, -1), most + 1 if most > 2 else most)
        if columns == 1 or _Page(panels, columns, width).axes_width >= NARROWEST_PANEL
    ]
    full = [columns for columns in choices if columns > 1 and count % columns != 1]
    return _Page(panels, full[0] if full else choices[0], width)


def _heads(page: _Page, title: str, *, bare: bool) -> list[Stack]:
    """Return the heading of each panel, without what the figure's heading says.

    Those of a row begin at one height. `bare` panels have none.
    """
    width = page.axes_width
    heads: list[Stack] = []
    for first in range(0, len(page.panels), page.columns):
        titles, goals = [], []
        row = page.panels[first : first + page.columns]
        for panel in row:
            own = "" if bare or panel.title == title else panel.title
            goal = "; ".join(filter(None, (panel.goal, panel.renderer.remark(panel))))
            titles.append(balanced_lines(own, width, style.PANEL_TITLE, "bold"))
            goals.append(lines_of("" if bare else goal, width, style.SMALL))
        gap = HEAD_GAP + max(panel.renderer.strip(panel) for panel in row)
        heads += [
            [Text(own, style.PANEL_TITLE, style.INK, "bold"), Text(goal, style.SMALL), gap]
            for own, goal in zip(_equally_high(titles), _equally_high(goals), strict=True)
        ]
    return heads


def _equally_high(texts: Sequence[list[str]]) -> list[list[str]]:
    most = max(map(len, texts))
    return [[*lines, *[""] * (most - len(lines))] for lines in texts]


def _panels_height(page: _Page, heads: Sequence[Stack], feet: Sequence[Legend]) -> float:
    above = [height_of(head) for head in heads]
    below = [
        X_LABEL * page.has_x_label(index) + foot.inches + FOOT_GAP * bool(foot.entries)
        for index, foot in enumerate(feet)
    ]
    starts = range(0, len(heads), page.columns)
    words = sum(max(part[n : n + page.columns]) for part in (above, below) for n in starts)
    return page.rows * (fmean(page.heights) + 2.4 * EDGE + TICKS) + words


def _draw_panel(
    figure: Figure, axes: Axes, page: _Page, index: int, head: Stack, foot: Legend
) -> None:
    panel, size = page.panels[index], page.size(index)
    x_label, y_label = panel.labels
    if page.has_x_label(index):
        axes.set_xlabel(x_label, fontsize=style.LABEL, labelpad=2.5)
    panel.renderer.draw(axes, panel, size)
    # An axis of one value has no ticks, and needs no name.
    if (page.differ_beside or index % page.columns == 0) and len(axes.get_yticks()):
        lines = balanced_lines(y_label, size.height + Y_LABEL_OVERHANG, style.LABEL)
        axes.set_ylabel("\n".join(lines), fontsize=style.LABEL, labelpad=2.5)
    draw_stack(figure, axes, head, 0.0, 0.0)
    down = TICKS + X_LABEL * page.has_x_label(index) + FOOT_GAP + foot.inches
    foot.draw(axes, axes.transAxes + ScaledTranslation(0, -down, figure.dpi_scale_trans))
