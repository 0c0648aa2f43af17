"""The points as what a renderer draws: panels of curves, in order, with their words and colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.figures.names import readable
from dbtool.figures.style import colours

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from dbtool.figures.points import Points
    from dbtool.figures.specs import Kind

# The columns that hold a line to compare with, and how each is drawn and named.
GUIDES: Mapping[Kind, Mapping[str, str]] = {
    "steps_to_result": {"perfect": "perfect scaling"},
    "normalised": {"perfect": "perfect scaling"},
    "metaparameter": {"linear": "linear scaling", "square_root": "square-root scaling"},
}


@dataclass(frozen=True)
class Curve:
    """One curve: parallel sequences, sorted by batch size.

    Attributes:
        name: the series' name in the query.
        label: how the curve is called on paper.
        colour: of line and markers.
        x: batch sizes.
        y: None where there is no point.
        reached: whether any trial reached the goal.
        fewer: whether the study has fewer trials than the figure asks for.
        at_border: whether the best trial lies at the border of its range.
        guides: the lines to compare with, by column name.
        range: lowest and highest value that was searched, where y is a metaparameter.
    """

    name: str
    label: str
    colour: str
    x: Sequence[int]
    y: Sequence[float | None]
    reached: Sequence[bool]
    fewer: Sequence[bool]
    at_border: Sequence[bool]
    guides: Mapping[str, Sequence[float | None]]
    range: tuple[float, float] | None

    def points(self) -> list[tuple[int, float, bool, bool]]:
        """(x, y, fewer, at_border) of every point that can be drawn on a logarithmic axis."""
        return [
            (x, y, fewer, border)
            for x, y, fewer, border in zip(self.x, self.y, self.fewer, self.at_border, strict=True)
            if y is not None and y > 0
        ]

    def unreached(self) -> list[int]:
        """The batch sizes at which no trial reached the goal."""
        return [x for x, reached in zip(self.x, self.reached, strict=True) if not reached]


@dataclass(frozen=True)
class Panel:
    """One panel: its heading, a line below it, and its curves."""

    title: str
    subtitle: str
    curves: Sequence[Curve]

    def batch_sizes(self) -> list[int]:
        """Every batch size of the panel, sorted."""
        return sorted({x for curve in self.curves for x in curve.x})

    def values(self) -> list[float]:
        """Every y that is drawn."""
        return [y for curve in self.curves for _, y, _, _ in curve.points()]


def panels_of(points: Points, kind: Kind) -> list[Panel]:
    """The panels that have data, in the query's order."""
    frames = points.rows.partition_by("panel_order", maintain_order=True)
    return [_panel(frame, kind) for frame in frames]


def _panel(frame: pl.DataFrame, kind: Kind) -> Panel:
    parts = frame.partition_by("series_order", maintain_order=True)
    colour_of = colours([part.item(0, "series") for part in parts])
    curves = [_curve(part, colour_of, kind) for part in parts]
    goals = list(dict.fromkeys(frame["goal_text"].to_list()))
    if len(goals) == 1:
        subtitle = goals[0]
    else:
        subtitle = "; ".join(
            f"{readable(part.item(0, 'series'))}: {part.item(0, 'goal_text')}" for part in parts
        )
    if kind == "normalised":
        subtitle += f"; relative to batch size {frame.item(0, 'normalise_at')}"
    return Panel(readable(frame.item(0, "panel")), subtitle, curves)


def _curve(part: pl.DataFrame, colour_of: Mapping[str, str], kind: Kind) -> Curve:
    name = part.item(0, "series")
    none = [False] * part.height
    low, high = (
        (part.item(0, "low"), part.item(0, "high")) if kind == "metaparameter" else (None, None)
    )
    return Curve(
        name=name,
        label=readable(name),
        colour=colour_of[name],
        x=part["x"].to_list(),
        y=part["y"].to_list(),
        reached=part["steps"].is_not_null().to_list(),
        fewer=(part["trials"] < part["asked_trials"]).to_list(),
        at_border=part["at_border"].to_list() if kind == "metaparameter" else none,
        guides={column: part[column].to_list() for column in GUIDES[kind]},
        range=None if low is None or high is None else (low, high),
    )
