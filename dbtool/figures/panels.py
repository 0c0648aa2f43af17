"""The points as what a renderer draws: panels of curves, in order, with their words and colours."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from dbtool.figures.names import readable
from dbtool.figures.style import colours

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec, Kind

# Goals of more curves than this would be a paragraph over the panel.
MOST_GOALS = 4


@dataclass(frozen=True)
class Curve:
    """The points of one series in one release, sorted by x.

    Attributes:
        name: the series' name in the query.
        label: how the series is called on paper.
        colour: of its line and markers; that of the series, in every release.
        release: where the points are from.
        place: of the release among those drawn, from 0; line and markers go by it.
        rows: the points, with the columns of their kind.
    """

    name: str
    label: str
    colour: str
    release: str
    place: int
    rows: pl.DataFrame

    def column(self, name: str) -> list[Any]:
        """A column's values; all None where the query has no such column."""
        return self.rows[name].to_list() if name in self.rows.columns else [None] * self.rows.height

    def flags(self, name: str) -> list[bool]:
        """A column of booleans, False where it says nothing."""
        return [bool(value) for value in self.column(name)]

    def fewer(self) -> list[bool]:
        """Whether each study has fewer trials than the figure asks for."""
        return [
            trials is not None and asked is not None and trials < asked
            for trials, asked in zip(
                self.column("trials"), self.column("asked_trials"), strict=True
            )
        ]

    def unreached(self) -> list[float]:
        """The x at which no trial reached the goal."""
        return [x for x, y in zip(self.column("x"), self.column("steps"), strict=True) if y is None]


@dataclass(frozen=True)
class Panel:
    """One panel: what it holds, its heading, a line below it, its words, and its curves.

    Attributes:
        kind: which renderer draws it.
        title: the heading.
        subtitle: the goal.
        x_label: the words along the horizontal axis.
        y_label: the words along the vertical axis.
        curves: in the query's order.
        releases: how many releases the figure is drawn from.
    """

    kind: Kind
    title: str
    subtitle: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    releases: int

    def series(self) -> dict[str, Curve]:
        """One curve of each series, by the series' label."""
        found: dict[str, Curve] = {}
        for curve in self.curves:
            found.setdefault(curve.label, curve)
        return found

    def values(self, column: str) -> list[float]:
        """Every number of a column, of all curves, that is finite."""
        return [
            value
            for curve in self.curves
            for value in curve.column(column)
            if value is not None and math.isfinite(value)
        ]

    def first(self, column: str) -> Any:
        """The first value of a column that is not null; None where there is none."""
        found = (v for curve in self.curves for v in curve.column(column) if v is not None)
        return next(found, None)


def panels_of(points: Points, spec: FigureSpec) -> list[Panel]:
    """The panels that have data, in the query's order."""
    names: dict[int, dict[str, int]] = {}
    for frame in (points.rows, points.left_out):
        for panel, series, order in frame.select(
            "panel_order", "series", "series_order"
        ).iter_rows():
            names.setdefault(panel, {})[series] = order
    panels = []
    for frame in points.rows.partition_by("panel_order", maintain_order=True):
        colour_of = _colours(frame.item(0, "panel_order"), names)
        curves = [
            Curve(
                name=part.item(0, "series"),
                label=readable(part.item(0, "series")),
                colour=colour_of[part.item(0, "series")],
                release=part.item(0, "release"),
                place=part.item(0, "release_order") - 1,
                rows=part,
            )
            for part in frame.partition_by("series_order", "release_order", maintain_order=True)
        ]
        panels.append(
            Panel(
                kind=cast("Kind", frame.item(0, "kind")),
                title=readable(frame.item(0, "panel")),
                subtitle=_goals(curves),
                x_label=_sentence(_word(frame, "x_label") or spec.x_label),
                y_label=_sentence(_word(frame, "y_label") or spec.y_label),
                curves=curves,
                releases=len(points.releases),
            )
        )
    return panels


def _colours(panel: int, names: Mapping[int, Mapping[str, int]]) -> dict[str, str]:
    """The colours of a panel's series.

    Curves that are left out keep their colours, so that two releases' figures agree; and where
    another panel has all of its series and more, those of that panel hold.

    Args:
        panel: its place.
        names: by place, the series of every panel with their places.
    """
    known = max((other for other in names.values() if names[panel].keys() <= other.keys()), key=len)
    return colours(sorted(known, key=lambda name: known[name]))


def _word(frame: pl.DataFrame, column: str) -> str | None:
    """The first value of an optional column of words."""
    if column not in frame.columns:
        return None
    words = frame[column].drop_nulls()
    return None if words.is_empty() else str(words.item(0))


def _sentence(words: str) -> str:
    """The words with a capital letter first."""
    return words[:1].upper() + words[1:]


def _goals(curves: Sequence[Curve]) -> str:
    """The panel's goal, or the goal of each curve where they differ."""
    goals = {curve.label: curve.column("goal_text")[0] or "" for curve in curves}
    texts = list(dict.fromkeys(goals.values()))
    if len(texts) == 1:
        return texts[0]
    if len(texts) <= MOST_GOALS and not any(_says(name, goal) for name, goal in goals.items()):
        return "; ".join(f"{name}: {goal}" for name, goal in goals.items())
    # The curves are named by their goals, so that only what they have in common is to be said.
    columns = zip(*(text.split(" ") for text in texts), strict=False)
    shared = [words[0] for words in itertools.takewhile(lambda w: len(set(w)) == 1, columns)]
    return f"{' '.join(shared)} the goal" if shared else ""


def _says(name: str, goal: str) -> bool:
    """Whether a curve's name holds the number that its goal ends with."""
    return goal.rsplit(" ", maxsplit=1)[-1] in name.split(" ")
