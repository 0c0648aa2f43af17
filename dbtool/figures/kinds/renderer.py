"""What every renderer does, and the entries of the key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from matplotlib.axes import Axes

    from dbtool.figures.look import Pen
    from dbtool.figures.panels import Panel


@dataclass(frozen=True)
class KeyEntry:
    """A mark that is explained once for the whole figure.

    Attributes:
        text: what it means.
        shape: the mark in words, such as "cross"; for a caption that stands without the picture.
        look: the properties of a Line2D, at scale 1.
    """

    text: str
    shape: str
    look: Mapping[str, Any]


class Renderer(Protocol):
    """Draws the panels of one kind. What most kinds have in common is here."""

    @property
    def point(self) -> str:
        """What a point of such a panel is, a sentence."""

    @property
    def page(self) -> float:
        """The width that suits a figure whose panels stand below each other, in inches."""

    def names_curves(self, panel: Panel) -> bool:  # noqa: ARG002 (for kinds that look at it)
        """Whether a legend names the curves; where not, the key tells them apart."""
        return True

    def aspect(self, panel: Panel, columns: int) -> float:
        """Height of the panel's axes by their width, where so many are side by side."""

    def remark(self, panel: Panel) -> str:  # noqa: ARG002 (for kinds that look at it)
        """What the panel's subtitle says besides the goal; "" for nothing."""
        return ""

    def draw(self, axes: Axes, panel: Panel, pen: Pen) -> None:
        """Draws a panel into empty axes: scales, ticks, and every point."""

    def sample(self, name: str, place: int) -> Mapping[str, Any]:
        """How a series looks in the release at that place, for legends; all but its colour.

        Args:
            name: the series' name in the query; "" for what all of a release have in common.
            place: of the release among those drawn, from 0.
        """

    def key(self, panels: Sequence[Panel]) -> list[KeyEntry]:
        """The marks that occur in these panels."""

    def notes(self, rows: pl.DataFrame) -> list[str]:  # noqa: ARG002 (for kinds that look at it)
        """Sentences of the caption about points that could not be drawn."""
        return []
