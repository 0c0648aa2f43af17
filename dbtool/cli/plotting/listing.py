"""The list of figures, with how much of each the database can fill."""

from __future__ import annotations

import shutil
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
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
THREADS = 2


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
    # Most of the time goes into planning the queries, which DuckDB does in one thread each.
    with ThreadPoolExecutor(THREADS) as pool:
        fillings = list(pool.map(lambda spec: filling_of(connection, spec, request), FIGURES))
    if sys.stdout.isatty():
        sys.stdout.write(_for_people(fillings, shutil.get_terminal_size().columns))
    else:
        sys.stdout.write(_for_programs(fillings))


def filling_of(
    connection: duckdb.DuckDBPyConnection, spec: FigureSpec, request: Request
) -> Filling:
    """Counts a figure's panels by its own query, which without trials reads no measurements."""
    # What a trial measured only its measurements tell; for the rest it is enough that a study is
    # there, which then leaves a row that counts 0 trials.
    measured = spec.kind == "curves"
    query = filled_query(spec, replace(request, trials=1 if measured else 0))
    held = "x IS NOT NULL" if measured else "x IS NOT NULL OR trials IS NOT NULL"
    found = (
        connection.cursor()
        .execute(
            "SELECT count(*) FILTER (held), count(*) FROM ("  # noqa: S608 (a query of ours)
            f"SELECT panel, bool_or({held}) AS held "
            f"FROM (\n{query.rstrip().removesuffix(';')}\n) GROUP BY panel)"
        )
        .fetchall()
    )
    [(filled, panels)] = found
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
