"""How many panels stand side by side, how large they are, and which carry the axes' words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from dbtool.figures.kinds import RENDERERS
from dbtool.figures.style import LABEL
from dbtool.figures.text import lines_of, shortened, width_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.figures.look import Look
    from dbtool.figures.panels import Panel

LEFT, RIGHT, GAP = 0.62, 0.14, 0.46
Y_LABEL = 0.18
# Words along an axis may be so much longer than it.
Y_LABEL_OVERHANG = 0.35
# The second line of such words.
Y_LABEL_LINE = 0.13
LABEL_GUTTER = 0.16
# Panels narrower than this go below each other.
NARROWEST_PANEL = 1.45
# The widths that suit figures by their number of columns; that of one column is its kind's.
PAGES = {2: 7.0, 3: 7.0, 4: 9.2}
END_LABELLED = frozenset({"steps_to_result", "normalised", "metaparameter", "best", "against"})


@dataclass(frozen=True)
class Page:
    """The widths of a figure, in inches before scaling.

    Attributes:
        width: of the whole figure.
        left: from its edge to the first panel's axes.
        columns: panels side by side.
        gap: between them.
        panel_width: of each panel's axes.
        panel_height: the same.
        x_labels: a panel's words along the horizontal axis; "" where another panel carries them.
        y_labels: the same along the vertical axis, on at most two lines.
        end_labels: whether the curves are named beside their last points.
    """

    width: float
    left: float
    columns: int
    gap: float
    panel_width: float
    panel_height: float
    x_labels: Sequence[str]
    y_labels: Sequence[str]
    end_labels: bool


def set_page(panels: Sequence[Panel], most_columns: int, look: Look, *, names_shared: bool) -> Page:
    """Makes the panels as wide as the page lets them be.

    Args:
        panels: in order.
        most_columns: panels side by side where there are enough.
        look: the width of the page and the scale.
        names_shared: whether a legend over the panels names the curves.
    """
    columns, gap = _columns(panels, most_columns, look)
    width = look.room(_page(panels, columns))
    gutter = 0.0
    if columns == 1 and not names_shared and _end_together(panels):
        gutter = LABEL_GUTTER + max(width_of(name, LABEL) for name in panels[0].series())
        # Names that would take the panel's room stand over it.
        gutter = gutter if gutter < width / 3 else 0.0
    left = LEFT
    # Words on two lines need room, which makes the panels a little lower, once.
    for _ in range(2):
        panel_width = (width - left - RIGHT - gutter - gap * (columns - 1)) / columns
        panel_height = panel_width * max(
            RENDERERS[panel.kind].aspect(panel, columns) for panel in panels
        )
        y_labels = [_y_label(panels, index, columns, panel_height) for index in range(len(panels))]
        left = LEFT + (Y_LABEL_LINE if any("\n" in label for label in y_labels) else 0.0)
    return Page(
        width=width,
        left=left,
        columns=columns,
        gap=gap,
        panel_width=panel_width,
        panel_height=panel_height,
        x_labels=[_x_label(panels, index, columns) for index in range(len(panels))],
        y_labels=y_labels,
        end_labels=gutter > 0,
    )


def _page(panels: Sequence[Panel], columns: int) -> float:
    """The width that suits the figure, in inches."""
    return PAGES.get(columns) or max(RENDERERS[panel.kind].page for panel in panels)


def _columns(panels: Sequence[Panel], most: int, look: Look) -> tuple[int, float]:
    """Panels side by side, fewer on a narrow page; and the room between them."""
    columns = min(len(panels), most)
    if most == 3 and len(panels) > 9:
        columns = 4
    if most == 3 and len(panels) == 4:
        columns = 2
    while True:
        gap = GAP + (Y_LABEL if _differ_beside(panels, columns) else 0.0)
        room = look.room(_page(panels, columns)) - LEFT - RIGHT - gap * (columns - 1)
        if columns == 1 or room / columns >= NARROWEST_PANEL:
            return columns, gap
        columns -= 1


def _differ_beside(panels: Sequence[Panel], columns: int) -> bool:
    """Whether two panels of a row have other words along the vertical axis."""
    return any(
        panel.y_label != panels[index - index % columns].y_label
        for index, panel in enumerate(panels)
    )


def differ_below(panels: Sequence[Panel], columns: int) -> bool:
    """Whether a panel has other words along the horizontal axis than the one below it."""
    pairs = zip(panels, panels[columns:], strict=False)
    return any(upper.x_label != lower.x_label for upper, lower in pairs)


def _x_label(panels: Sequence[Panel], index: int, columns: int) -> str:
    """The words along the horizontal axis, unless the panel below has the same."""
    words = panels[index].x_label
    lower = index + columns
    return "" if lower < len(panels) and panels[lower].x_label == words else words


def _y_label(panels: Sequence[Panel], index: int, columns: int, height: float) -> str:
    """The words along the vertical axis, unless the first panel of the row says them for all."""
    if index % columns and not _differ_beside(panels, columns):
        return ""
    room = height + Y_LABEL_OVERHANG
    first, *rest = lines_of(panels[index].y_label, room, LABEL)
    return "\n".join(shortened(line, room, LABEL) for line in (first, " ".join(rest)) if line)


def _end_together(panels: Sequence[Panel]) -> bool:
    """Whether all curves of the only panel have their last point at the same x."""
    if len(panels) > 1 or panels[0].releases > 1 or panels[0].kind not in END_LABELLED:
        return False
    ends = []
    for curve in panels[0].curves:
        xs = [x for x, y in zip(curve.column("x"), curve.column("y"), strict=True) if y]
        ends.append(xs[-1] if xs else None)
    return len(ends) > 1 and None not in ends and all(a == b for a, b in pairwise(ends))
