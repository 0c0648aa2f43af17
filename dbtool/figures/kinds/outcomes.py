"""Trials as marks by what became of them, shared by scatter plots and grids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbtool.figures.kinds import marks
from dbtool.figures.kinds.renderer import KeyEntry
from dbtool.figures.style import INK, STAR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Curve, Panel

ACHIEVED, NOT_ACHIEVED, INFEASIBLE = "goal achieved", "goal not achieved", "infeasible"
# By the place of a release; the crosses of infeasible trials differ from its dots.
DOTS = ("o", "s", "D", "v", "P")
CROSSES = ("x", "+", "1", "2", "3")
SIZES: Mapping[str, float] = {ACHIEVED: 3.2, NOT_ACHIEVED: 2.6, INFEASIBLE: 2.9}
STAR_SIZE = 10.0


def outcome_sample(name: str, place: int) -> dict[str, Any]:
    """How the trials of an outcome look in a release, all but their colour."""
    crossed = name == INFEASIBLE
    return {
        "linestyle": "none",
        "marker": (CROSSES if crossed else DOTS)[place % len(DOTS)],
        "markersize": SIZES.get(name, SIZES[ACHIEVED]),
        "markeredgewidth": 0.8 if crossed else 0.0,
    }


def draw_trials(axes: Axes, curve: Curve, xs: Sequence[float], pen: Pen) -> None:
    """Draws the trials of one outcome, as one artist.

    Args:
        axes: to draw in.
        curve: the trials.
        xs: where each is along the horizontal axis.
        pen: the scale.
    """
    look = outcome_sample(curve.name, curve.place)
    marks.draw_marks(
        axes,
        list(zip(xs, curve.column("y"), strict=True)),
        marker=look["marker"],
        markersize=pen.pt(look["markersize"]),
        markeredgewidth=pen.pt(look["markeredgewidth"]),
        color=curve.colour,
        zorder=4 if curve.name == ACHIEVED else 3,
        label=f"trials: {curve.name}",
    )


def draw_best(axes: Axes, curve: Curve, xs: Sequence[float], pen: Pen) -> None:
    """Draws stars on the trials that reached the goal first."""
    rows = zip(xs, curve.column("y"), curve.flags("best"), strict=True)
    chosen = [(x, y) for x, y, best in rows if best]
    marks.draw_marks(
        axes,
        chosen,
        marker="*",
        markersize=pen.pt(STAR_SIZE),
        markeredgewidth=pen.pt(0.8),
        markeredgecolor=INK,
        markerfacecolor=STAR if curve.place == 0 else "white",
        zorder=6,
        clip_on=False,
        label=f"best: {curve.release}",
    )


def key_of_best(panels: Sequence[Panel]) -> list[KeyEntry]:
    """The stars, where there are any; a star a release."""
    entries = []
    curves = [curve for panel in panels for curve in panel.curves]
    for place in sorted({curve.place for curve in curves if any(curve.flags("best"))}):
        release = next(curve.release for curve in curves if curve.place == place)
        origin = f" ({release})" if panels[0].releases > 1 else ""
        look = marks.mark(
            marker="*",
            markersize=STAR_SIZE,
            markeredgewidth=0.8,
            color=INK,
            markerfacecolor=STAR if place == 0 else "white",
        )
        entries.append(KeyEntry(f"the trial that reached the goal first{origin}", "star", look))
    return entries
