"""The registry of figures: what each is called, what it asks, and the query that answers it."""

from __future__ import annotations

import re

from dbtool.errors import unknown
from dbtool.figures.specs.appendix import APPENDIX_FIGURES
from dbtool.figures.specs.general import GENERAL_FIGURES
from dbtool.figures.specs.paper import PAPER_FIGURES
from dbtool.figures.specs.sparsity import SPARSITY_FIGURES
from dbtool.figures.specs.spec import FigureSpec, Kind

__all__ = ["FIGURES", "FORMATS", "FigureSpec", "Kind", "find_figure"]

FORMATS = ("png", "pdf", "svg")

FIGURES: tuple[FigureSpec, ...] = (
    *PAPER_FIGURES,
    *APPENDIX_FIGURES,
    *SPARSITY_FIGURES,
    *GENERAL_FIGURES,
)

_NUMBER = re.compile(r"(?:fig(?:ure)?\.?[ _-]?)?0*([1-9][0-9]*[a-z]?)", re.IGNORECASE)


def find_figure(word: str) -> FigureSpec:
    """The figure that a word names: its name, or its number in the paper ("1", "01", "9a").

    Raises:
        UsageError: no figure is called that.
    """
    number = _NUMBER.fullmatch(word.strip())
    name = word.strip().lower().replace("_", "-")
    for spec in FIGURES:
        if spec.name.replace("_", "-") == name:
            return spec
        if number is not None and spec.number == number[1].lower():
            return spec
    raise unknown("figure", word, [spec.name for spec in FIGURES], "dbtool plot --list")
