"""How a figure is laid out, in inches from its lower left corner, before scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.figures.kinds import RENDERERS
from dbtool.figures.legend import names_of, needs_names
from dbtool.figures.page import RIGHT, differ_below, set_page
from dbtool.figures.style import CAPTION, LABEL, PANEL_TITLE, SMALL, TITLE
from dbtool.figures.text import balanced_lines, lines_of, shortened, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.figures.kinds import KeyEntry
    from dbtool.figures.look import Look
    from dbtool.figures.panels import Panel

TICK_LABELS, AXIS_LABEL = 0.2, 0.19
ROW_GAP = 0.14
TITLE_LINE, TITLE_GAP, TOP = 0.19, 0.12, 0.09
KEY_LINE, CAPTION_LINE = 0.17, 0.135
PANEL_TITLE_LINE, SUBTITLE_LINE, NAME_LINE = 0.155, 0.13, 0.145
HEAD_GAP, NAMES_GAP, LEGEND_GAP, FOOT_GAP, KEY_GAP = 0.07, 0.04, 0.08, 0.12, 0.05
BOTTOM = 0.1
SWATCH, ITEM_GAP = 0.26, 0.14


@dataclass(frozen=True)
class Item:
    """A swatch with its words, placed from the left edge and the first line of its block."""

    text: str
    left: float
    line: int


@dataclass(frozen=True)
class Head:
    """What stands above a panel: lines of the title and of the subtitle, and the curves' names."""

    title: Sequence[str]
    subtitle: Sequence[str]
    names: Sequence[Item]

    @property
    def height(self) -> float:
        """Inches from the axes to the top of the title."""
        return (
            len(self.title) * PANEL_TITLE_LINE
            + len(self.subtitle) * SUBTITLE_LINE
            + self.names_height
            + HEAD_GAP
        )

    @property
    def names_height(self) -> float:
        """Inches that the curves' names take, with the room above them."""
        return line_count(self.names) * NAME_LINE + (NAMES_GAP if self.names else 0.0)


@dataclass(frozen=True)
class Box:
    """The axes of one panel, in inches, and the words along them; "" where others carry those."""

    left: float
    bottom: float
    width: float
    height: float
    x_label: str
    y_label: str


@dataclass(frozen=True)
class Layout:
    """A whole figure: its size, a box and a head a panel, and the lines of words around them."""

    width: float
    height: float
    left: float
    title: Sequence[str]
    subtitle: Sequence[str]
    legend: Sequence[Item]
    boxes: Sequence[Box]
    heads: Sequence[Head]
    key: Sequence[Item]
    key_top: float
    caption: Sequence[str]
    end_labels: bool


def lay_out(
    panels: Sequence[Panel],
    title: str,
    subtitle: str,
    most_columns: int,
    legend: Sequence[KeyEntry],
    key: Sequence[KeyEntry],
    caption: Sequence[str],
    look: Look,
    *,
    names_shared: bool,
) -> Layout:
    """Places the panels row by row, as wide as the page lets them be.

    Args:
        panels: in order.
        title: the figure's.
        subtitle: what all panels have in common.
        most_columns: panels side by side where there are enough.
        legend: what is named over the panels.
        key: the marks that are explained under them.
        caption: the text under the figure, a paragraph each.
        look: the width of the page and the scale.
        names_shared: whether the legend names the curves, so that the panels need not.
    """
    page = set_page(panels, most_columns, look, names_shared=names_shared)
    names = not (names_shared or page.end_labels)
    heads = _heads(panels, title, page.columns, page.panel_width, names=names)
    tops = [
        max(head.height for head in heads[start : start + page.columns])
        for start in range(0, len(heads), page.columns)
    ]
    text_width = page.width - page.left - RIGHT
    titles = balanced_lines(title, text_width, TITLE, bold=True)
    subtitles = lines_of(subtitle, text_width, LABEL) if subtitle else []
    legend_items = flow([entry.text for entry in legend], text_width, SMALL)
    key_items = flow([entry.text for entry in key], text_width, SMALL)
    lines = [line for part in caption for line in lines_of(part, text_width, CAPTION)]
    key_height = KEY_LINE * line_count(key_items) + (KEY_GAP if key_items else 0.0)
    foot = BOTTOM + CAPTION_LINE * len(lines) + key_height + FOOT_GAP
    # Where panels of a column differ, each has its words; else the last one has them for all.
    x_words = AXIS_LABEL if differ_below(panels, page.columns) else 0.0
    between = page.panel_height + TICK_LABELS + ROW_GAP + x_words
    top_words = TOP + TITLE_LINE * len(titles) + SUBTITLE_LINE * len(subtitles) + TITLE_GAP
    if legend_items:
        top_words += KEY_LINE * line_count(legend_items) + LEGEND_GAP
    height = foot + AXIS_LABEL - x_words + sum(tops) + between * len(tops) - ROW_GAP + top_words
    boxes = []
    for index in range(len(panels)):
        row, column = divmod(index, page.columns)
        over = top_words + sum(tops[: row + 1]) + between * row
        boxes.append(
            Box(
                left=page.left + column * (page.panel_width + page.gap),
                bottom=height - over - page.panel_height,
                width=page.panel_width,
                height=page.panel_height,
                x_label=page.x_labels[index],
                y_label=page.y_labels[index],
            )
        )
    return Layout(
        width=page.width,
        height=height,
        left=page.left,
        title=titles,
        subtitle=subtitles,
        legend=legend_items,
        boxes=boxes,
        heads=heads,
        key=key_items,
        key_top=foot - FOOT_GAP,
        caption=lines,
        end_labels=page.end_labels,
    )


def flow(texts: Sequence[str], room: float, size: float) -> list[Item]:
    """Swatches with words in lines of `room` inches: one line, or as many columns as there fit."""
    short = [shortened(text, room - SWATCH, size) for text in texts]
    widths = [SWATCH + width_of(text, size) for text in short]
    if sum(widths) + ITEM_GAP * (len(widths) - 1) <= room:
        starts = [sum(widths[:index]) + ITEM_GAP * index for index in range(len(widths))]
        return [Item(text, start, 0) for text, start in zip(short, starts, strict=True)]
    for columns in range(len(short), 0, -1):
        tracks = [max(widths[column::columns]) for column in range(columns)]
        if columns == 1 or sum(tracks) + ITEM_GAP * (columns - 1) <= room:
            break
    starts = [sum(tracks[:column]) + ITEM_GAP * column for column in range(columns)]
    return [
        Item(text, starts[index % columns], index // columns) for index, text in enumerate(short)
    ]


def line_count(items: Sequence[Item]) -> int:
    """How many lines the items take."""
    return 1 + max((item.line for item in items), default=-1)


def _heads(
    panels: Sequence[Panel], title: str, columns: int, width: float, *, names: bool
) -> list[Head]:
    """What stands above the panels; what the title or the panel above says is not said again."""
    heads = []
    for index, panel in enumerate(panels):
        entries = names_of(panel) if names and needs_names(panel) else []
        above = index - columns
        if above >= 0 and _same_names(panels[above], panel):
            entries = []
        own_title = [
            shortened(line, width, PANEL_TITLE, bold=True)
            for line in balanced_lines(panel.title, width, PANEL_TITLE, bold=True)
        ]
        if panel.title == title:
            own_title = []
        remark = RENDERERS[panel.kind].remark(panel)
        subtitle = "; ".join(part for part in (panel.subtitle, remark) if part)
        heads.append(
            Head(
                title=own_title,
                subtitle=lines_of(subtitle, width, SMALL) if subtitle else [],
                names=flow([entry.text for entry in entries], width, SMALL),
            )
        )
    return heads


def _same_names(upper: Panel, lower: Panel) -> bool:
    """Whether two panels have the same curves in the same colours."""
    first, second = (
        {label: curve.colour for label, curve in panel.series().items()} for panel in (upper, lower)
    )
    return len(first) > 1 and first == second
