"""How wide a figure is, and which words it has besides labels and legend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from dbtool.core.checks import require_number
from dbtool.core.errors import unknown

Caption: TypeAlias = Literal["figure", "none", "file"]
NARROWEST, WIDEST = 2.5, 40.0
# Narrower pictures are for a column of print, which has a caption of its own.
COLUMN = 4.5


@dataclass(frozen=True)
class FigureLayout:
    """The layout of a figure.

    Attributes:
        width: in inches; None: as wide as suits its panels.
        title: whether there is a heading; None: not in a picture for a column, below 4.5 inches.
        caption: whether there is a caption in the figure, none, or one in a text file beside it;
            None: in the figure, but none in a picture for a column.

    Raises:
        UsageError: no picture is so wide, or there is no such caption.
    """

    width: float | None = None
    title: bool | None = None
    caption: Caption | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        if self.width is not None:
            require_number("width in inches", self.width, NARROWEST, WIDEST)
        if self.caption is not None and self.caption not in get_args(Caption):
            raise unknown("caption", self.caption, get_args(Caption), "dbtool plot --help")

    @property
    def is_of_column(self) -> bool:
        """Whether the figure is for a column of print."""
        return self.width is not None and self.width < COLUMN

    @property
    def has_title(self) -> bool:
        """Whether there is a heading."""
        return not self.is_of_column if self.title is None else self.title

    @property
    def has_caption(self) -> bool:
        """Whether there is a caption in the figure."""
        return not self.is_of_column if self.caption is None else self.caption == "figure"
