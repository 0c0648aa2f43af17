"""Words and swatches on a figure, placed in inches before scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from dbtool.figures.layout import SWATCH
from dbtool.figures.style import INK, SMALL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from dbtool.figures.layout import Box, Item

_SIZES = frozenset({"linewidth", "markersize", "markeredgewidth"})
# Swatches stand on the middle of small letters.
_MIDDLE = 0.035
_SAMPLE = SWATCH - 0.05


class Canvas:
    """Puts words and swatches on a figure by inches from its lower left corner, before scaling."""

    def __init__(self, figure: Figure, width: float, height: float, scale: float) -> None:
        self._figure = figure
        self._width = width
        self._height = height
        self._scale = scale

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
            fontsize=size * self._scale,
            color=colour,
            fontweight="bold" if bold else "normal",
            parse_math=False,
        )

    def swatch(self, left: float, base: float, text: str, look: Mapping[str, Any]) -> None:
        """A sample of a line or a mark, and the words that say what it means.

        Args:
            left: where the sample begins.
            base: what the words stand on.
            text: the words.
            look: the properties of a Line2D, at scale 1.
        """
        ends = [left, left + _SAMPLE]
        middle = sum(ends) / 2
        xs = [middle] if look.get("linestyle") == "none" else [ends[0], middle, ends[1]]
        sized = {k: v * self._scale if k in _SIZES else v for k, v in look.items()}
        self._figure.add_artist(
            Line2D(
                [x / self._width for x in xs],
                [(base + _MIDDLE) / self._height] * len(xs),
                markevery=[len(xs) // 2],
                **sized,
            )
        )
        self.words(left + SWATCH, base, text, SMALL, INK)

    def row(
        self, item: Item, left: float, top: float, line_height: float, look: Mapping[str, Any]
    ) -> None:
        """A swatch of a block of lines that begins at `left` and `top`."""
        self.swatch(left + item.left, top - line_height * (item.line + 0.75), item.text, look)
