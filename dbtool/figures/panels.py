"""The points as what a renderer draws: panels of curves, in order, with labels and colours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.figures.kinds import RENDERERS
from dbtool.figures.names import goal_words, readable, sentence
from dbtool.figures.style import colours

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from dbtool.figures.findings import Findings
    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec, Kind, Scale

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
        release_index: of the release among those drawn, from 0; line and markers go by it.
        rows: the points, with the columns of their kind.
    """

    name: str
    label: str
    colour: str
    release: str
    release_index: int
    rows: pl.DataFrame

    def column(self, name: str) -> list[Any]:
        """A column's values; all None where the query has no such column."""
        return self.rows[name].to_list() if name in self.rows.columns else [None] * self.rows.height

    def columns(self, *names: str) -> list[tuple[Any, ...]]:
        """Several columns' values, a tuple a row."""
        return list(zip(*map(self.column, names), strict=True))

    def marked(self, flag: str) -> list[tuple[float, float]]:
        """The points with a y where a column of booleans is true."""
        rows = self.columns("x", "y", flag)
        return [(x, y) for x, y, marked in rows if marked and y is not None]

    def unreached(self) -> list[float]:
        """The x at which no trial reached the goal."""
        return [x for x, steps in self.columns("x", "steps") if steps is None]


@dataclass(frozen=True)
class Panel:
    """One panel: what it holds, its heading, a line below it, its labels, and its curves.

    Attributes:
        kind: which renderer draws it.
        title: the heading.
        goal: the goal, or those of the curves, in words; "" where there is none.
        spec: the figure.
        curves: in the query's order.
        releases: how many releases the figure is drawn from.
        findings: what an analysis found of its curve.
    """

    kind: Kind
    title: str
    goal: str
    spec: FigureSpec
    curves: Sequence[Curve]
    releases: int
    findings: Findings | None = None

    @property
    def labels(self) -> tuple[str, str]:
        """Of the axes: the rows tell them, or else the figure or its kind."""
        metric = readable(self.first("metric") or "")
        x, y = (label.format(metric) for label in RENDERERS[self.kind].labels)
        return (
            sentence(self.first("x_label") or self.spec.x_label or x),
            sentence(self.first("y_label") or self.spec.y_label or y),
        )

    @property
    def scales(self) -> tuple[Scale, Scale]:
        """Of the axes: the figure tells them, or else its kind."""
        x, y = RENDERERS[self.kind].scales
        return self.spec.x_scale or x, self.spec.y_scale or y

    def series(self) -> dict[str, Curve]:
        """One curve of each series, by the series' label."""
        found: dict[str, Curve] = {}
        for curve in self.curves:
            found.setdefault(curve.label, curve)
        return found

    def values(self, *names: str) -> list[float]:
        """Every number of some columns, of all curves, that is finite."""
        return [
            value
            for name in names
            for curve in self.curves
            for value in curve.column(name)
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
    return [
        _panel(frame, spec, points, _colours(frame.item(0, "panel_order"), names))
        for frame in points.rows.partition_by("panel_order", maintain_order=True)
    ]


def _panel(
    frame: pl.DataFrame, spec: FigureSpec, points: Points, colour_of: Mapping[str, str]
) -> Panel:
    curves = [
        Curve(
            name=part.item(0, "series"),
            label=readable(part.item(0, "series")),
            colour=colour_of[part.item(0, "series")],
            release=part.item(0, "release"),
            release_index=part.item(0, "release_order") - 1,
            rows=part,
        )
        for part in frame.partition_by("series_order", "release_order", maintain_order=True)
    ]
    return Panel(
        kind=frame.item(0, "kind"),
        title=sentence(readable(frame.item(0, "panel"))),
        goal=_goals(curves),
        spec=spec,
        curves=curves,
        releases=len(points.releases),
        findings=points.findings.get(frame.item(0, "panel_order")),
    )


def _colours(panel: int, names: Mapping[int, Mapping[str, int]]) -> dict[str, str]:
    """The colours of a panel's series.

    Curves that are left out keep their colours, so that two releases' figures agree; and where
    another panel has all of its series and more, those of that panel hold.

    Args:
        panel: its number.
        names: by number, the series of every panel with their numbers.
    """
    known = max((other for other in names.values() if names[panel].keys() <= other.keys()), key=len)
    return colours(sorted(known, key=lambda name: known[name]))


def goal_of(row: Mapping[str, Any]) -> str:
    """The goal of a row in words; "" where it has none."""
    if row["goal"] is None:
        return ""
    metric = row.get("goal_metric") or row["metric"]
    return goal_words(metric, row["goal"], inclusive=bool(row["goal_inclusive"]))


def _goals(curves: Sequence[Curve]) -> str:
    goals = {curve.label: goal_of(curve.rows.row(0, named=True)) for curve in curves}
    texts = set(goals.values())
    if len(texts) == 1:
        return texts.pop()
    if len(texts) <= MOST_GOALS and not any(_names(label, goal) for label, goal in goals.items()):
        return "; ".join(f"{label}: {goal}" for label, goal in goals.items())
    # The curves are named by their goals, so that only what they have in common is named.
    shared = {text.rpartition(" ")[0] for text in texts}
    return f"{shared.pop()} the goal" if len(shared) == 1 else ""


def _names(label: str, goal: str) -> bool:
    """Whether a curve's name holds the number that its goal ends with."""
    return goal.rpartition(" ")[2] in label.split(" ")
