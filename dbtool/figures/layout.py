"""How a figure is laid out, in inches from its lower left corner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.figures.style import CAPTION, LABEL, PANEL_TITLE, SMALL
from dbtool.figures.text import balanced_lines, lines_of, shortened, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.figures.panels import Panel

LEFT, RIGHT, GAP = 0.62, 0.14, 0.46
TICK_LABELS, AXIS_LABEL = 0.2, 0.19
ROW_GAP = 0.14
TITLE_HEIGHT = 0.36
# Height of the axes by width, by the number of columns.
HEIGHTS = {1: 0.76, 2: 0.82}
KEY_LINE, CAPTION_LINE = 0.17, 0.135
TITLE_LINE, SUBTITLE_LINE, NAME_LINE = 0.155, 0.13, 0.145
HEAD_GAP = 0.07
FOOT_GAP = 0.12
BOTTOM = 0.1
SWATCH, ITEM_GAP = 0.26, 0.14
LABEL_GUTTER = 0.16


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
        name_lines = 1 + max((item.line for item in self.names), default=-1)
        return (
            len(self.title) * TITLE_LINE
            + len(self.subtitle) * SUBTITLE_LINE
            + name_lines * NAME_LINE
            + HEAD_GAP
        )


@dataclass(frozen=True)
class Box:
    """The axes of one panel, in inches, and whether they carry the axes' words."""

    left: float
    bottom: float
    width: float
    height: float
    has_x_label: bool
    has_y_label: bool


@dataclass(frozen=True)
class Layout:
    """A whole figure: its size, a box and a head a panel, and the lines of key and caption."""

    width: float
    height: float
    boxes: Sequence[Box]
    heads: Sequence[Head]
    key: Sequence[Item]
    key_top: float
    caption: Sequence[str]
    end_labels: bool


def lay_out(
    panels: Sequence[Panel], most_columns: int, key: Sequence[str], caption: Sequence[str]
) -> Layout:
    """Places the panels row by row, as wide as the page lets them be.

    Args:
        panels: in order.
        most_columns: panels side by side where there are enough.
        key: the words of the marks explained once for all panels.
        caption: the text under the figure, a paragraph each.
    """
    columns = _columns(len(panels), most_columns)
    width = {1: 5.4, 4: 9.2}.get(columns, 7.0)
    end_labels = columns == 1 and _end_together(panels[0])
    names = [curve.label for curve in panels[0].curves]
    gutter = LABEL_GUTTER + max(width_of(name, LABEL) for name in names) if end_labels else 0.0
    room = width - LEFT - RIGHT - gutter - GAP * (columns - 1)
    panel_width = room / columns
    panel_height = panel_width * HEIGHTS.get(columns, 0.9)
    heads = [
        _head(panel, panel_width, names=_needs_names(panel) and not end_labels) for panel in panels
    ]
    rows = [heads[start : start + columns] for start in range(0, len(heads), columns)]
    tops = [max(head.height for head in row) for row in rows]
    text_width = width - LEFT - RIGHT
    key_items = flow(key, text_width, SMALL)
    lines = [line for part in caption for line in lines_of(part, text_width, CAPTION)]
    key_lines = 1 + max((item.line for item in key_items), default=-1)
    foot = BOTTOM + CAPTION_LINE * len(lines) + KEY_LINE * key_lines + FOOT_GAP
    between = panel_height + TICK_LABELS + ROW_GAP
    height = foot + AXIS_LABEL + sum(tops) + between * len(rows) - ROW_GAP + TITLE_HEIGHT
    boxes = []
    top = height - TITLE_HEIGHT
    for index in range(len(panels)):
        row, column = divmod(index, columns)
        bottom = top - sum(tops[: row + 1]) - between * row - panel_height
        boxes.append(
            Box(
                left=LEFT + column * (panel_width + GAP),
                bottom=bottom,
                width=panel_width,
                height=panel_height,
                has_x_label=index + columns >= len(panels),
                has_y_label=column == 0,
            )
        )
    key_top = foot - FOOT_GAP
    return Layout(width, height, boxes, heads, key_items, key_top, lines, end_labels)


def flow(texts: Sequence[str], room: float, size: float) -> list[Item]:
    """Swatches with words, one after the other, in as many lines of `room` inches as they need."""
    items: list[Item] = []
    left, line = 0.0, 0
    for whole in texts:
        text = shortened(whole, room - SWATCH, size)
        width = SWATCH + width_of(text, size)
        if items and left + width > room:
            left, line = 0.0, line + 1
        items.append(Item(text, left, line))
        left += width + ITEM_GAP
    return items


def _columns(panels: int, most: int) -> int:
    if panels > 9:
        return 4
    if panels == 4:
        return 2
    return min(panels, most)


def _needs_names(panel: Panel) -> bool:
    """Whether the panel's title does not say which curve it shows."""
    return any(curve.label not in panel.title for curve in panel.curves) or len(panel.curves) > 1


def _end_together(panel: Panel) -> bool:
    """Whether there are several curves and all have their last point at the same batch size."""
    ends = [curve.points()[-1][0] if curve.points() else math.nan for curve in panel.curves]
    return len(ends) > 1 and len(set(ends)) == 1


def _head(panel: Panel, width: float, *, names: bool) -> Head:
    return Head(
        title=balanced_lines(panel.title, width, PANEL_TITLE, bold=True),
        subtitle=lines_of(panel.subtitle, width, SMALL),
        names=flow([curve.label for curve in panel.curves], width, SMALL) if names else [],
    )
