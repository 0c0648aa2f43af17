"""From points to a Matplotlib figure: panels, their headings, legend, key and caption."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from matplotlib import rc_context
from matplotlib.figure import Figure

from dbtool.figures.canvas import Canvas
from dbtool.figures.caption import facts_and_gaps
from dbtool.figures.geometry import spread
from dbtool.figures.kinds import RENDERERS
from dbtool.figures.layout import (
    CAPTION_LINE,
    HEAD_GAP,
    KEY_GAP,
    KEY_LINE,
    NAME_LINE,
    PANEL_TITLE_LINE,
    SUBTITLE_LINE,
    TITLE_GAP,
    TITLE_LINE,
    TOP,
    Layout,
    lay_out,
    line_count,
)
from dbtool.figures.legend import key_of, names_of, releases_of, shared_names
from dbtool.figures.look import Look, Pen
from dbtool.figures.panels import panels_of
from dbtool.figures.style import CAPTION, INK, LABEL, PANEL_TITLE, QUIET, SMALL, TITLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.kinds import KeyEntry
    from dbtool.figures.layout import Box, Head
    from dbtool.figures.panels import Panel
    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec

LABEL_DISTANCE = 0.14
LABEL_INDENT = 0.12
# From the axes to the words along the vertical one.
Y_LABEL_DISTANCE = 0.42


def draw(points: Points, spec: FigureSpec, look: Look | None = None) -> Figure:
    """The figure of the points; nothing is drawn that the points do not say.

    Args:
        points: what the figure's query returned.
        spec: the figure.
        look: its width and style; None: as for print, as wide as suits it.
    """
    look = look or Look()
    panels = panels_of(points, spec)
    names, key = shared_names(panels), key_of(panels)
    legend = releases_of(panels) + names
    shared, panels = _shared_subtitle(panels)
    layout = lay_out(
        panels,
        spec.title,
        shared,
        spec.columns,
        legend,
        key,
        facts_and_gaps(points, panels, spec),
        look,
        names_shared=bool(names),
    )
    scale = look.scale
    with rc_context(look.rc()):
        figure = Figure(figsize=(layout.width * scale, layout.height * scale))
        canvas = Canvas(figure, layout.width, layout.height, scale)
        _write_top(canvas, layout, legend)
        for panel, box, head in zip(panels, layout.boxes, layout.heads, strict=True):
            axes = figure.add_axes(canvas.rectangle(box))
            pen = Pen(box.width, box.height, scale)
            RENDERERS[panel.kind].draw(axes, panel, pen)
            _label_axes(axes, box, pen)
            if layout.end_labels:
                _draw_end_labels(axes, panel, pen)
            _write_head(canvas, panel, box, head)
        _write_foot(canvas, layout, key)
    return figure


def _shared_subtitle(panels: Sequence[Panel]) -> tuple[str, list[Panel]]:
    """The goal that all panels have, and the panels without it; else "" and the panels."""
    goals = {panel.subtitle for panel in panels}
    if len(panels) == 1 or len(goals) > 1:
        return "", list(panels)
    return goals.pop(), [replace(panel, subtitle="") for panel in panels]


def _write_top(canvas: Canvas, layout: Layout, legend: Sequence[KeyEntry]) -> None:
    """Writes the title and the legend that all panels share."""
    top = layout.height - TOP
    for line, text in enumerate(layout.title):
        canvas.words(layout.left, top - TITLE_LINE * (line + 0.8), text, TITLE, INK, bold=True)
    top -= TITLE_LINE * len(layout.title)
    for line, text in enumerate(layout.subtitle):
        canvas.words(layout.left, top - SUBTITLE_LINE * (line + 0.8), text, LABEL, QUIET)
    top -= SUBTITLE_LINE * len(layout.subtitle) + TITLE_GAP / 2
    for item, entry in zip(layout.legend, legend, strict=True):
        canvas.row(item, layout.left, top, KEY_LINE, entry.look)


def _write_foot(canvas: Canvas, layout: Layout, key: Sequence[KeyEntry]) -> None:
    """Writes the key and the caption."""
    for item, entry in zip(layout.key, key, strict=True):
        canvas.row(item, layout.left, layout.key_top, KEY_LINE, entry.look)
    first = layout.key_top - KEY_LINE * line_count(layout.key) - (KEY_GAP if layout.key else 0.0)
    for line, text in enumerate(layout.caption):
        canvas.words(layout.left, first - CAPTION_LINE * (line + 0.8), text, CAPTION, QUIET)


def _write_head(canvas: Canvas, panel: Panel, box: Box, head: Head) -> None:
    """Writes title, subtitle and the curves' names from the axes upwards."""
    height = box.bottom + box.height + HEAD_GAP
    top = height + NAME_LINE * line_count(head.names)
    for item, entry in zip(head.names, names_of(panel), strict=False):
        canvas.row(item, box.left, top, NAME_LINE, entry.look)
    top += head.names_height - NAME_LINE * line_count(head.names)
    for text in reversed(head.subtitle):
        canvas.words(box.left, top, text, SMALL, QUIET)
        top += SUBTITLE_LINE
    for text in reversed(head.title):
        canvas.words(box.left, top, text, PANEL_TITLE, INK, bold=True)
        top += PANEL_TITLE_LINE


def _label_axes(axes: Axes, box: Box, pen: Pen) -> None:
    """Writes the words along the axes, of those that carry them."""
    if box.x_label:
        axes.set_xlabel(box.x_label, fontsize=pen.pt(LABEL), labelpad=pen.pt(2.5))
    if box.y_label:
        axes.set_ylabel(box.y_label, fontsize=pen.pt(LABEL))
        axes.yaxis.set_label_coords(-Y_LABEL_DISTANCE / box.width, 0.5)


def _draw_end_labels(axes: Axes, panel: Panel, pen: Pen) -> None:
    """Names each curve beside its last point, right of the axes; labels keep a line's distance."""
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = [
        [(x, y) for x, y in zip(c.column("x"), c.column("y"), strict=True) if y][-1]
        for c in panel.curves
    ]
    wanted = [float(to_axes.transform(end)[1]) * pen.height for end in ends]
    places = spread(wanted, LABEL_DISTANCE)
    lift = max(0.0, -min(places)) - max(0.0, max(places) - pen.height)
    for curve, end, place in zip(panel.curves, ends, places, strict=True):
        axes.annotate(
            curve.label,
            xy=end,
            xytext=(1 + LABEL_INDENT / pen.width, (place + lift) / pen.height),
            textcoords="axes fraction",
            fontsize=pen.pt(LABEL),
            color=INK,
            ha="left",
            va="center",
            annotation_clip=False,
            parse_math=False,
            arrowprops={
                "arrowstyle": "-",
                "relpos": (0, 0.5),
                "color": curve.colour,
                "lw": pen.pt(0.9),
                "shrinkA": pen.pt(2),
                "shrinkB": pen.pt(4),
            },
        )
