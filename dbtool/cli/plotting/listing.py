"""The list of figures, with how much of each the database can fill."""

from __future__ import annotations

import shutil
import sys
import textwrap
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from dbtool.figures.gallery.headings import heading_of
from dbtool.figures.points import Request, filled_query
from dbtool.figures.specs import FIGURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from dbtool.figures.specs import FigureSpec

GAP = "  "
INDENT = "  "
NARROWEST_TITLE = 20
NO_NUMBER = "-"


@dataclass(frozen=True)
class Filling:
    """How much of a figure the database can fill.

    Attributes:
        spec: the figure.
        filled: panels with data.
        panels: panels in all.
    """

    spec: FigureSpec
    filled: int
    panels: int

    @property
    def words(self) -> str:
        """Such as "3 of 9 panels"."""
        if self.panels == 0:
            return "no panels"
        return f"{self.filled} of {self.panels} panel{'' if self.panels == 1 else 's'}"


def print_list(connection: duckdb.DuckDBPyConnection, request: Request) -> None:
    """Prints a line a figure: for a terminal in groups as wide as it is, else one line each.

    Args:
        connection: the database whose data is counted.
        request: the release to look in; how many trials it asks for plays no part.
    """
    fillings = [filling_of(connection, spec, request) for spec in FIGURES]
    if sys.stdout.isatty():
        sys.stdout.write(_for_people(fillings, shutil.get_terminal_size().columns))
    else:
        sys.stdout.write(_for_programs(fillings))


def filling_of(
    connection: duckdb.DuckDBPyConnection, spec: FigureSpec, request: Request
) -> Filling:
    """Counts a figure's panels by its own query, without a trial and so without measurements."""
    query = filled_query(spec, replace(request, trials=0)).rstrip().removesuffix(";")
    # Without trials a study that is there leaves a row that counts 0 of them; a missing one, NULL.
    found = connection.execute(
        "SELECT count(*) FILTER (held), count(*) FROM ("  # noqa: S608 (a query of ours)
        "SELECT panel, bool_or(x IS NOT NULL OR trials IS NOT NULL) AS held "
        f"FROM (\n{query}\n) GROUP BY panel)"
    ).fetchone()
    filled, panels = found or (0, 0)
    return Filling(spec, filled, panels)


def _for_people(fillings: Sequence[Filling], width: int) -> str:
    """The figures under their sources, titles broken into lines that fit."""
    names = max(len(each.spec.name) for each in fillings)
    words = max(len(each.words) for each in fillings)
    before = len(INDENT) + names + len(GAP) + words + len(GAP)
    room = max(NARROWEST_TITLE, width - before)
    parts = []
    for source, group in groupby(fillings, key=lambda each: heading_of(each.spec)):
        parts.append("\n".join(textwrap.wrap(source, max(width, NARROWEST_TITLE))) + "\n")
        for each in group:
            first, *rest = textwrap.wrap(each.spec.title, room)
            line = f"{INDENT}{each.spec.name:<{names}}{GAP}{each.words:<{words}}{GAP}{first}\n"
            parts.append(line + "".join(f"{'':{before}}{more}\n" for more in rest))
    return "".join(parts)


def _for_programs(fillings: Sequence[Filling]) -> str:
    """One line a figure: name, number, panels, title and source in columns."""
    rows = [
        (each.spec.name, each.spec.number or NO_NUMBER, each.words, each.spec.title)
        for each in fillings
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        + f"{GAP}{each.spec.source}\n"
        for row, each in zip(rows, fillings, strict=True)
    )
