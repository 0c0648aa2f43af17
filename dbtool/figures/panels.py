"""What is drawn, a panel with its curves, and what draws it, a renderer."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from dbtool.core.errors import counted
from dbtool.figures.points import first_of
from dbtool.figures.specs import PanelKind, Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dbtool.figures.scales import Size
    from dbtool.figures.scaling import Findings


@dataclass(frozen=True)
class Curve:
    """The points of one series in one release, sorted by x, with the columns of their kind.

    The name is that in the query, and the label that on paper. The place of the series, from 0, has
    a shape of markers; the index of the release among those drawn, from 0, has dashes and fill.
    """

    name: str
    label: str
    colour: str
    place: int
    release: str
    release_index: int
    rows: pl.DataFrame

    def column(self, name: str) -> list[Any]:
        """Return the values of a column; all None where the query has no such column."""
        return self.rows[name].to_list() if name in self.rows.columns else [None] * self.rows.height

    def columns(self, *names: str) -> list[tuple[Any, ...]]:
        """Return the values of several columns, a tuple a row."""
        return list(zip(*map(self.column, names), strict=True))

    def marked(self, flag: str) -> list[tuple[float, float]]:
        """Return the points with a y at which a column of booleans is true."""
        rows = self.columns("x", "y", flag)
        return [(x, y) for x, y, marked in rows if marked and y is not None]

    def unreached(self) -> list[float]:
        """Return each x at which no trial is known to have reached the goal."""
        rows = self.columns("x", "steps", "is_unknown")
        return [x for x, steps, is_unknown in rows if steps is None and not is_unknown]


@dataclass(frozen=True)
class Panel:
    """A panel: its heading and subtitle, its axes, and its curves in the query's order.

    Attributes:
        goal: the goal, or those of the curves, in words; "" where there is none.
        releases: how many releases the figure is drawn from.
        hidden: labels of series whose points are those of another of the same workload.
        findings: what an analysis found of its curve.
    """

    kind: PanelKind
    renderer: "Renderer"
    title: str
    goal: str
    labels: tuple[str, str]
    scales: tuple[Scale, Scale]
    curves: Sequence[Curve]
    releases: int
    hidden: Sequence[str] = ()
    findings: "Findings | None" = None

    @property
    def is_by_release(self) -> bool:
        """Whether its series are the releases."""
        return all(curve.name == curve.release for curve in self.curves)

    def values(self, *names: str) -> list[float]:
        """Return the finite numbers of some columns of all curves."""
        return [
            value
            for name in names
            for curve in self.curves
            for value in curve.column(name)
            if value is not None and math.isfinite(value)
        ]

    def first(self, column: str) -> Any:
        """Return the first value of a column that is not null; None where there is none."""
        found = (first_of(curve.rows, column) for curve in self.curves)
        return next((value for value in found if value is not None), None)


class Renderer(ABC):
    """Draws the panels of one kind. What most kinds have in common is here.

    Attributes:
        point: what a point of such a panel is, a sentence; {} is a trial, or a setting by the
            median of its replicates.
        labels: along the axes where neither the rows nor the figure tell them; {} is the metric.
        scales: of the axes where the figure does not tell them.
        page: the width that suits a figure whose panels stand below each other, in inches.
        aspects: height of the axes by their width where one, two or more panels are side by side.
        counts_diverged: whether the numbers of trials in the rows are with those that diverged.
    """

    point: str
    labels: tuple[str, str]
    scales: tuple[Scale, Scale]
    page: float
    aspects: tuple[float, float, float]
    counts_diverged: ClassVar[bool] = False

    @abstractmethod
    def draw(self, axes: "Axes", panel: Panel, size: "Size") -> None:
        """Draw a panel into empty axes: scales, ticks, and every point."""

    @abstractmethod
    def sample(self, curve: Curve) -> Mapping[str, Any]:
        """Return the look of a curve, for legends, without its colour."""

    def names_curves(self, panel: Panel) -> bool:  # noqa: ARG002 (for kinds that look at it)
        """Whether a legend names the curves, rather than the key."""
        return True

    def remark(self, panel: Panel) -> str:  # noqa: ARG002 (for kinds that look at it)
        """Return what the subtitle says besides the goal; "" for nothing."""
        return ""

    def height(self, panel: Panel, columns: int, width: float) -> float:  # noqa: ARG002 (for kinds that look at it)
        """Return the height of axes of a width in inches, for a number of columns."""
        return self.aspects[min(columns, 3) - 1] * width

    def parts(self, panel: Panel, width: float) -> Sequence[Panel]:  # noqa: ARG002 (for kinds that divide it)
        """Return the panel in parts that axes of a width have room for in a column of print."""
        return [panel]

    def strip(self, panel: Panel) -> float:  # noqa: ARG002 (for kinds that have one)
        """Return the height of what is drawn above the axes, in inches."""
        return 0.0

    def meanings(self, rows: pl.DataFrame, unit: str) -> list[str]:  # noqa: ARG002 (for kinds that have some)
        """Return sentences for the full caption on what is drawn besides points.

        The unit of a search is a trial, or where there are replicates a setting.
        """
        return []

    def gaps(self, rows: pl.DataFrame) -> list[str]:
        """Return sentences for the full caption on points that could not be drawn."""
        inside = [
            pl.col(axis).is_between(f"{axis}_from", f"{axis}_to")
            for axis in "xy"
            if f"{axis}_from" in rows.columns
        ]
        beyond = rows.filter(~pl.all_horizontal(inside)).height if inside else 0
        points = counted(beyond, "point lies", "points lie")
        return [f"{points} beyond the axes (see the CSV)."] if beyond else []
