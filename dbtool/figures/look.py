"""How large a figure is drawn: its width, and one factor on type, lines and distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dbtool.errors import UsageError, unknown
from dbtool.figures.style import RC, SCALED

if TYPE_CHECKING:
    from collections.abc import Mapping

Style: TypeAlias = Literal["print", "screen"]

STYLES: tuple[Style, ...] = get_args(Style)
# A slide or a page on a screen is seen from further away than a journal.
SCALES: Mapping[Style, float] = {"print": 1.0, "screen": 1.5}
# On a screen a figure has more type on less paper: it is wider, but not by the whole factor.
SCREEN_WIDENING = 1.35
NARROWEST, WIDEST = 2.5, 40.0


@dataclass(frozen=True)
class Look:
    """How large a figure is drawn.

    Attributes:
        width: of the figure in inches; None: as wide as suits its panels.
        style: print for a page of a journal, screen for slides and web pages.
    """

    width: float | None = None
    style: Style = "print"

    def __post_init__(self) -> None:
        """Checks what a person may have written.

        Raises:
            UsageError: there is no such style, or the width is out of bounds.
        """
        if self.style not in STYLES:
            raise unknown("style", self.style, STYLES, "dbtool plot --help")
        # Written so that a width that is no number fails, too.
        if self.width is not None and not NARROWEST <= self.width <= WIDEST:
            raise UsageError(
                f"a width of {self.width:g} inches is not between {NARROWEST:g} and {WIDEST:g}, "
                "such as --width 3.5 for a column of print"
            )

    @property
    def scale(self) -> float:
        """The factor on type, lines and distances."""
        return SCALES[self.style]

    def room(self, usual: float) -> float:
        """The figure's width before scaling, in inches, where `usual` suits its panels."""
        if self.width is not None:
            return self.width / self.scale
        return usual if self.style == "print" else usual * SCREEN_WIDENING / self.scale

    def rc(self) -> dict[Any, Any]:
        """Matplotlib's settings at this scale."""
        return {name: value * self.scale if name in SCALED else value for name, value in RC.items()}


@dataclass(frozen=True)
class Pen:
    """What a renderer needs to know to draw one panel.

    Attributes:
        width: of the axes before scaling, in inches.
        height: the same.
        scale: the factor on type and lines.
    """

    width: float
    height: float
    scale: float = 1.0

    def pt(self, points: float) -> float:
        """A size of type or of a line in points, scaled."""
        return points * self.scale
