"""Every trial of a search at its learning rate and momentum, by what became of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from dbtool.figures.kinds.outcomes import draw_best, draw_trials, key_of_best, outcome_sample
from dbtool.figures.kinds.renderer import KeyEntry, Renderer
from dbtool.figures.kinds.scales import power, set_scale, span_for
from dbtool.figures.names import readable
from dbtool.figures.style import PERFECT, QUIET, TINY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.geometry import Span
    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Panel

FEWEST_DECADES = 1.0
ASPECT_OF_A_LINE = 0.3
MARGIN = 0.08
# More contours than this a panel would be a hatching.
MOST_CONTOURS = 6
BORDER_DASHES = (0, (1, 1.6))
# A contour's words stand in from the edge that it runs into.
WORDS_INSET = 0.015
LEAST_ROOM_FOR_WORDS = 0.3


@dataclass(frozen=True)
class ScatterRenderer(Renderer):
    """Dots on two logarithmic axes over contours of constant effective learning rate."""

    point: str = "A point is one trial, complete or infeasible, of the search at one batch size."
    page: float = 4.8

    def aspect(self, panel: Panel, columns: int) -> float:
        """Nearly square; low where there is but one axis to search along."""
        if not _searches_momentum(panel):
            return ASPECT_OF_A_LINE
        return {1: 0.76, 2: 0.8}.get(columns, 0.95)

    def remark(self, panel: Panel) -> str:
        """The budget, where there is one."""
        most_steps = panel.first("most_steps")
        return "" if most_steps is None else f"within {most_steps:,} steps"

    def draw(self, axes: Axes, panel: Panel, pen: Pen) -> None:
        """Draws search space, contours and trials, and a star on the first to get there."""
        x_borders = [*panel.values("x_low"), *panel.values("x_high")]
        y_borders = [*panel.values("y_low"), *panel.values("y_high")]
        x = span_for([*panel.values("x"), *x_borders], "log10", FEWEST_DECADES, MARGIN)
        fewest = FEWEST_DECADES if _searches_momentum(panel) else 0.0
        y = span_for([*panel.values("y"), *y_borders], "log10", fewest, MARGIN)
        set_scale(axes, "x", "log10", x, pen)
        set_scale(axes, "y", "log10", y, pen)
        axes.grid(visible=False)
        if x_borders and y_borders:
            _draw_borders(axes, x_borders, y_borders, pen)
        if _searches_momentum(panel):
            _draw_contours(axes, x, y, pen)
        else:
            only = panel.values("y")[0]
            axes.set_yticks([only], labels=[f"{only:g}"])
        for curve in reversed(panel.curves):
            draw_trials(axes, curve, curve.column("x"), pen)
        for curve in panel.curves:
            draw_best(axes, curve, curve.column("x"), pen)

    def sample(self, name: str, place: int) -> Mapping[str, Any]:
        """A dot or a cross."""
        return outcome_sample(name, place)

    def key(self, panels: Sequence[Panel]) -> list[KeyEntry]:
        """The star, the contours, the search space."""
        entries = key_of_best(panels)
        if any(_searches_momentum(panel) for panel in panels):
            look = {"linestyle": "-", "color": PERFECT, "linewidth": 0.6}
            entries.append(KeyEntry("constant effective learning rate", "thin line", look))
        if any(panel.values("x_low") and panel.values("y_low") for panel in panels):
            look = {"linestyle": BORDER_DASHES, "color": QUIET, "linewidth": 0.8}
            entries.append(KeyEntry("search space", "dotted frame", look))
        return entries

    def notes(self, rows: pl.DataFrame) -> list[str]:
        """Panels in which no trial reached the goal."""
        reached = rows.group_by("panel", "release", maintain_order=True).agg(
            pl.col("series").eq("goal achieved").any().alias("any")
        )
        several = rows["release"].n_unique() > 1
        panels = [
            readable(panel) + (f" in {release}" if several else "")
            for panel, release, any_reached in reached.iter_rows()
            if not any_reached
        ]
        return [f"No trial reached the goal: {'; '.join(panels)}."] if panels else []


def _searches_momentum(panel: Panel) -> bool:
    return len(set(panel.values("y"))) > 1


def _draw_borders(
    axes: Axes, x_borders: Sequence[float], y_borders: Sequence[float], pen: Pen
) -> None:
    """Frames the search space; of several, the one that holds all."""
    left, bottom = min(x_borders), min(y_borders)
    axes.add_patch(
        Rectangle(
            (left, bottom),
            max(x_borders) - left,
            max(y_borders) - bottom,
            fill=False,
            edgecolor=QUIET,
            linewidth=pen.pt(0.8),
            linestyle=BORDER_DASHES,
            zorder=1.5,
            label="search space",
        )
    )


def _draw_contours(axes: Axes, x: Span, y: Span, pen: Pen) -> None:
    """Draws lines of constant learning rate / (1 - momentum), a decade or more apart, with words.

    Args:
        axes: whose scales are set.
        x: decades of the learning rate from edge to edge.
        y: decades of 1 - momentum.
        pen: the size of the axes.
    """
    low, high = math.ceil(x.low - y.high + 0.2), math.floor(x.high - y.low - 0.2)
    every = max(1, math.ceil((high - low + 1) / MOST_CONTOURS))
    exponents = [e for e in range(low, high + 1) if e % every == 0]
    # On the axes, log10(1 - momentum) = log10(learning rate) - exponent.
    ends = []
    for exponent in exponents:
        left, right = max(x.low, y.low + exponent), min(x.high, y.high + exponent)
        ends.append(((left, left - exponent), (right, right - exponent)))
    axes.add_collection(
        LineCollection(
            [[(10**a, 10**b) for a, b in line] for line in ends],
            colors=PERFECT,
            linewidths=pen.pt(0.6),
            zorder=1,
            label="contours",
        ),
        autolim=False,
    )
    slope = (pen.height / y.length) / (pen.width / x.length)
    angle = math.degrees(math.atan(slope))
    for exponent, (start, end) in zip(exponents, ends, strict=True):
        length = (end[0] - start[0]) / x.length * pen.width
        if length < LEAST_ROOM_FOR_WORDS:
            continue
        inset = WORDS_INSET * x.length
        axes.text(
            10 ** (end[0] - inset),
            10 ** (end[1] - inset),
            power(10, exponent),
            fontsize=pen.pt(TINY),
            color=QUIET,
            rotation=angle,
            rotation_mode="anchor",
            ha="right",
            va="bottom",
            zorder=5,
            bbox={"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": pen.pt(0.4)},
        )
