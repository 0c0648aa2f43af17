"""From points to a Matplotlib figure: panels, their headings, the key and the caption."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dbtool.figures.axes import DASHES, MARKER, UNREACHED, draw_end_labels, draw_panel
from dbtool.figures.caption import caption_of
from dbtool.figures.layout import (
    CAPTION_LINE,
    HEAD_GAP,
    KEY_LINE,
    LEFT,
    NAME_LINE,
    SUBTITLE_LINE,
    SWATCH,
    TITLE_LINE,
    Box,
    Head,
    lay_out,
)
from dbtool.figures.panels import GUIDES, Panel, panels_of
from dbtool.figures.style import (
    CAPTION,
    INK,
    LABEL,
    PANEL_TITLE,
    PERFECT,
    QUIET,
    RC,
    SMALL,
    TITLE,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec


def draw(points: Points, spec: FigureSpec) -> Figure:
    """The figure of the points; nothing is drawn that the points do not say."""
    panels = panels_of(points, spec.kind)
    key = _key(panels, spec)
    layout = lay_out(panels, spec.columns, [text for text, _ in key], caption_of(points, spec))
    with rc_context(dict(RC)):
        figure = Figure(figsize=(layout.width, layout.height))
        canvas = _Canvas(figure, layout.width, layout.height)
        canvas.words(LEFT, layout.height - 0.24, spec.title, TITLE, INK, bold=True)
        for panel, box, head in zip(panels, layout.boxes, layout.heads, strict=True):
            axes = figure.add_axes(canvas.rectangle(box))
            draw_panel(axes, panel, box.width, box.height)
            if box.has_x_label:
                axes.set_xlabel(spec.x_label, fontsize=LABEL, labelpad=2.5)
            if box.has_y_label:
                axes.set_ylabel(spec.y_label, fontsize=LABEL)
                axes.yaxis.set_label_coords(-0.42 / box.width, 0.5)
            if layout.end_labels:
                draw_end_labels(axes, panel, box.width, box.height)
            _write_head(canvas, panel, box, head)
        for item, (_, look) in zip(layout.key, key, strict=True):
            height = layout.key_top - KEY_LINE * (item.line + 0.6)
            canvas.swatch(LEFT + item.left, height, item.text, look)
        first = layout.key_top - KEY_LINE * (1 + max((i.line for i in layout.key), default=-1))
        for line, text in enumerate(layout.caption):
            height = first - CAPTION_LINE * (line + 0.8)
            canvas.words(LEFT, height, text, CAPTION, QUIET)
    return figure


class _Canvas:
    """Puts words and swatches on a figure by inches from its lower left corner."""

    def __init__(self, figure: Figure, width: float, height: float) -> None:
        self._figure = figure
        self._width = width
        self._height = height

    def rectangle(self, box: Box) -> tuple[float, float, float, float]:
        """The box as fractions of the figure."""
        return (
            box.left / self._width,
            box.bottom / self._height,
            box.width / self._width,
            box.height / self._height,
        )

    def words(
        self, left: float, base: float, text: str, size: float, colour: str, *, bold: bool = False
    ) -> None:
        """One line of text from `left`, standing on `base`."""
        self._figure.text(
            left / self._width,
            base / self._height,
            text,
            fontsize=size,
            color=colour,
            fontweight="bold" if bold else "normal",
            parse_math=False,
        )

    def swatch(self, left: float, base: float, text: str, look: Mapping[str, Any]) -> None:
        """A sample of a line or a mark, and the words that say what it means."""
        middle = base + 0.035
        ends = [left, left + SWATCH - 0.06]
        middle_x = sum(ends) / 2
        xs = [middle_x] if look.get("linestyle") == "none" else [ends[0], middle_x, ends[1]]
        self._figure.add_artist(
            Line2D(
                [x / self._width for x in xs],
                [middle / self._height] * len(xs),
                **look,
            )
        )
        self.words(left + SWATCH, base, text, SMALL, INK)


def _write_head(canvas: _Canvas, panel: Panel, box: Box, head: Head) -> None:
    """Writes title, subtitle and the curves' names from the axes upwards."""
    height = box.bottom + box.height + HEAD_GAP
    name_lines = 1 + max((item.line for item in head.names), default=-1)
    for item, curve in zip(head.names, panel.curves, strict=False):
        base = height + NAME_LINE * (name_lines - 1 - item.line)
        look = {"color": curve.colour, "marker": MARKER, "markevery": [1]}
        canvas.swatch(box.left + item.left, base, item.text, look)
    height += NAME_LINE * name_lines
    for text in reversed(head.subtitle):
        canvas.words(box.left, height, text, SMALL, QUIET)
        height += SUBTITLE_LINE
    for text in reversed(head.title):
        canvas.words(box.left, height, text, PANEL_TITLE, INK, bold=True)
        height += TITLE_LINE


def _key(panels: Sequence[Panel], spec: FigureSpec) -> list[tuple[str, Mapping[str, Any]]]:
    """The marks that occur in the figure, each with its words and its look."""
    curves = [curve for panel in panels for curve in panel.curves]
    mark = {"linestyle": "none", "color": QUIET}
    key: list[tuple[str, Mapping[str, Any]]] = [
        (words, {"linestyle": DASHES[name], "color": PERFECT, "linewidth": 1.0})
        for name, words in GUIDES[spec.kind].items()
        if any(sum(y is not None for y in curve.guides[name]) > 1 for curve in curves)
    ]
    if any(fewer for curve in curves for _, _, fewer, _ in curve.points()):
        key.append(
            ("fewer trials than asked for", {**mark, "marker": MARKER, "markerfacecolor": "white"})
        )
    if any(curve.unreached() for curve in curves):
        key.append(
            ("no trial reached the goal", {**mark, "marker": UNREACHED, "markeredgewidth": 1.2})
        )
    if any(border for curve in curves for _, _, _, border in curve.points()):
        look = {**mark, "marker": "o", "markersize": 8, "markerfacecolor": "none"}
        key.append(("within 5 % of the border of the searched range (shaded beyond)", look))
    return key
