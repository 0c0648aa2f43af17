"""The columns of rows that are printed."""

from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError, closest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

GAP = "  "
_LEAST_OF_SENTENCE = 20
# Names that a table shows once above it where they are equal in all of its rows.
_CONTEXT = ("release", "workload", "metric", "goal")


@dataclass(frozen=True)
class View:
    """The columns that are printed.

    Attributes:
        first: the columns of a table, the most important first; empty: all.
        columns: the requested columns, in any format; None: all, or for a table those of `first`.
        wide: whether a table shows all columns, however wide the terminal is.
    """

    first: Sequence[str] = ()
    columns: Sequence[str] | None = None
    wide: bool = False

    @property
    def is_short(self) -> bool:
        """Whether a table shows only the columns of `first`."""
        return bool(self.first) and self.columns is None and not self.wide

    def positions(self, names: Sequence[str]) -> list[int]:
        """Return the positions of the columns that are printed in any format.

        Raises:
            UsageError: a requested column does not exist.
        """
        if self.columns is None:
            return list(range(len(names)))
        for name in self.columns:
            if name not in names:
                near = ", ".join(closest(name, names))
                raise UsageError(
                    f"no column {name!r}; closest: {near} (all are {', '.join(names)})"
                )
        return [names.index(name) for name in self.columns]

    def of_table(self, names: Sequence[str]) -> list[int]:
        """Return the positions of the columns that a table shows if it has enough room."""
        chosen = self.first if self.is_short else names
        return [names.index(name) for name in chosen if name in names]


def chosen_view(first: Sequence[str], columns: str | None, *, wide: bool) -> View:
    """Return the view that the options request.

    Args:
        first: the columns of a table, the most important first.
        columns: names separated by commas.
        wide: whether a table shows all.
    """
    names = None if columns is None else [name.strip() for name in columns.strip(",").split(",")]
    return View(first, names, wide)


def said_once(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the positions of the names that are equal in all rows, such as one release."""
    return [
        names.index(name)
        for name in _CONTEXT
        if name in names and len({row[names.index(name)] for row in rows}) == 1
    ]


def empty(names: Sequence[str], rows: Sequence[Sequence[str]], null: str) -> list[int]:
    """Return the positions of columns whose values are all missing, except `steps`.

    Missing steps are information: no trial reached the goal.
    """
    return [
        position
        for position, name in enumerate(names)
        if name != "steps" and {row[position] for row in rows} == {null}
    ]


def heading_of(
    names: Sequence[str], positions: Sequence[int], rows: Sequence[Sequence[str]]
) -> int | None:
    """Return the column of long names that a narrow table shows once above the rows of each name.

    Args:
        names: of all columns.
        positions: of the columns that are shown.
        rows: the first ones.

    Returns:
        The position of the workload or model; None where neither is shown, or where most rows have
        a name of their own.
    """
    for position in positions:
        if names[position] in {"workload", "model"}:
            changes = len(list(itertools.groupby(rows, operator.itemgetter(position))))
            return position if 2 * changes <= len(rows) else None
    return None


def total_width(positions: Sequence[int], widths: Sequence[int]) -> int:
    """Return the letters of a line with these columns."""
    return sum(widths[position] for position in positions) + len(GAP) * (len(positions) - 1)


def fitting(
    positions: Sequence[int], widths: Sequence[int], room: int, sentences: Collection[int]
) -> dict[int, int]:
    """Return the columns that fit beside each other, at least one, and their widths in letters.

    The first columns have priority. Sentences are cut where the rest of them still tells something.
    Names and numbers, which are there to be copied, are complete or dropped.

    Args:
        positions: of the columns, the most important first.
        widths: of all columns.
        room: letters of a line.
        sentences: positions of columns whose cells are text with spaces.
    """
    fitted: dict[int, int] = {}
    for position in positions:
        left = room - (len(GAP) if fitted else 0)
        width = widths[position]
        if position in sentences and left >= _LEAST_OF_SENTENCE:
            width = min(width, left)
        if width <= left or not fitted:
            fitted[position] = width
            room = left - width
    return fitted
