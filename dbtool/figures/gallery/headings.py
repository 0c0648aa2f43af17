"""What a figure is called in lists, and under which heading it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbtool.figures.specs import FigureSpec

# After these words a source says which figure of it this is.
_PLACE = re.compile(r", figure |; ")


def heading_of(spec: FigureSpec) -> str:
    """The source a figure shares with others: the paper, its appendix, or this project."""
    source = _PLACE.split(spec.source, maxsplit=1)[0]
    return f"{source[:1].upper()}{source[1:]}"


def label_of(spec: FigureSpec) -> str:
    """The figure's number in its source, or its name."""
    return f"Figure {spec.number}" if spec.number else spec.name


def full_name(spec: FigureSpec) -> str:
    """The figure's title, after its number where it has one."""
    return f"Figure {spec.number}: {spec.title}" if spec.number else spec.title


def command_of(spec: FigureSpec) -> str:
    """The command that draws the figure."""
    return f"dbtool plot {spec.number or spec.name}"
