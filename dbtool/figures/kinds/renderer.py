"""What every renderer does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from dbtool.figures.panel import Panel
    from dbtool.figures.scales import Size
    from dbtool.figures.specs import Scale


class Renderer(ABC):
    """Draws the panels of one kind. What most kinds have in common is here.

    Attributes:
        point: what a point of such a panel is, a sentence.
        labels: along the axes where neither the rows nor the figure tell them; {} is the metric.
        scales: of the axes where the figure does not tell them.
        page: the width that suits a figure whose panels stand below each other, in inches.
        aspects: height of the axes by their width where one, two or more panels are side by side.
    """

    point: str
    labels: tuple[str, str]
    scales: tuple[Scale, Scale]
    page: float
    aspects: tuple[float, float, float]

    @abstractmethod
    def draw(self, axes: Axes, panel: Panel, size: Size) -> None:
        """Draws a panel into empty axes: scales, ticks, and every point."""

    @abstractmethod
    def sample(self, name: str, release_index: int) -> Mapping[str, Any]:
        """How a series looks in a release, for legends; all but its colour.

        Args:
            name: the series' name in the query; "" for what all of a release have in common.
            release_index: of the release among those drawn, from 0.
        """

    def names_curves(self, panel: Panel) -> bool:  # noqa: ARG002 (for kinds that look at it)
        """Whether a legend names the curves; where not, the key tells them apart."""
        return True

    def remark(self, panel: Panel) -> str:  # noqa: ARG002 (for kinds that look at it)
        """What the panel's subtitle says besides the goal; "" for nothing."""
        return ""

    def aspect(self, panel: Panel, columns: int) -> float:  # noqa: ARG002 (for kinds that look at it)
        """Height of a panel's axes by their width, with so many panels side by side."""
        return self.aspects[min(columns, 3) - 1]

    def strip(self, panel: Panel) -> float:  # noqa: ARG002 (for kinds that have one)
        """How far what is drawn above the panel's axes reaches, in inches."""
        return 0.0

    def notes(self, rows: pl.DataFrame) -> list[str]:
        """Sentences of the caption about points that could not be drawn."""
        inside = [
            pl.col(axis).is_between(f"{axis}_from", f"{axis}_to")
            for axis in "xy"
            if f"{axis}_from" in rows.columns
        ]
        beyond = rows.filter(~pl.all_horizontal(inside)).height if inside else 0
        points = "point lies" if beyond == 1 else "points lie"
        return [f"{beyond:,} {points} beyond the axes (see the CSV)."] if beyond else []
