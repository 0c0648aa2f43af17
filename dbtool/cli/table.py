"""The columns of rows that are printed, and rows as text: an aligned or a Markdown table."""

from __future__ import annotations

import itertools
import json
import operator
import shutil
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.cli.messages import tell
from dbtool.cli.options import Format
from dbtool.core.errors import UsageError, closest, few_of, printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from dbtool.cli.output import TypedRows

# These rows set the widths; later rows keep them, so memory stays small.
_ROWS_MEASURED = 1000
_NULL = "—"
_WIDTH = 80
_NUMBERS = frozenset(
    {"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"}
    | {"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint", "bignum"}
)
_GAP = "  "
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


def print_text(rows: TypedRows, output_format: Format, view: View) -> None:
    """Print rows as a table or as Markdown; see `dbtool.cli.output.print_rows`."""
    names = [" ".join(printable(name).split()) for name in rows.schema.names]
    right = [kind.id in _NUMBERS for kind in rows.types]
    if output_format is Format.MARKDOWN:
        _print_markdown(names, right, _cells(rows, null=""))
    else:
        _print_table(names, right, _cells(rows, null=_NULL), view)


def _cells(rows: TypedRows, null: str) -> Iterator[list[str]]:
    """Yield the cells of each row, each on one line."""
    nested = rows.nested
    for table in rows.plain():
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            yield [
                null if value is None else _cell(json.loads(value) if is_nested else value)
                for value, is_nested in zip(row, nested, strict=True)
            ]


def _print_table(
    names: list[str], right: list[bool], rows: Iterator[list[str]], view: View
) -> None:
    measured = list(itertools.islice(rows, _ROWS_MEASURED))
    widths = [max(map(len, column)) for column in zip(names, *measured, strict=True)]
    shown = view.of_table(names)
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() and not view.wide else None
    heading = None
    if view.is_short or (room is not None and _total_width(shown, widths) > room):
        if view.columns is None and 0 < len(measured) < _ROWS_MEASURED:
            without = _empty(names, measured, _NULL)
            said = [each for each in _said_once(names, measured) if each not in without]
            _print_once({names[position]: measured[0][position] for position in said})
            left_out = {*said, *without}
            shown = [position for position in shown if position not in left_out] or shown
        if room is not None and _total_width(shown, widths) > room:
            heading = _heading_of(names, shown, measured)
            shown = [position for position in shown if position != heading]
    fitted = {position: widths[position] for position in shown}
    if room is not None:
        sentences = {
            position for position in shown if any(" " in row[position] for row in measured)
        }
        fitted = _fitting(shown, widths, room, sentences)
    rule = ["-" * fitted.get(position, 0) for position in range(len(names))]
    for cells in (names, rule):
        _print_cells(cells, fitted, right, cut=room is not None)
    said_before = None
    for cells in itertools.chain(measured, rows):
        if heading is not None and cells[heading] != said_before:
            said_before = cells[heading]
            sys.stdout.write(f"{said_before}\n")
        _print_cells(cells, fitted, right, cut=room is not None)
    without_room = [names[position] for position in shown if position not in fitted]
    if without_room:
        tell(f"left out for want of room: {few_of(without_room, 5)}; see them with --wide")


def _print_once(values: Mapping[str, str]) -> None:
    """Print what all rows of a table share, above it."""
    if values:
        shared = (f"goal {value}" if name == "goal" else value for name, value in values.items())
        sys.stdout.write(f"{textwrap.fill(' · '.join(shared), _WIDTH)}\n\n")


def _print_cells(
    cells: Sequence[str], widths: Mapping[int, int], right: list[bool], *, cut: bool
) -> None:
    aligned = []
    for position, width in widths.items():
        cell = cells[position]
        if cut and len(cell) > width and " " in cell:
            cell = f"{cell[: width - 1]}…"
        aligned.append(cell.rjust(width) if right[position] else cell.ljust(width))
    sys.stdout.write(_GAP.join(aligned).rstrip() + "\n")


def _print_markdown(names: list[str], right: list[bool], rows: Iterator[list[str]]) -> None:
    rule = ["---:" if to_right else "---" for to_right in right]
    for cells in itertools.chain([names, rule], rows):
        escaped = (cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
        sys.stdout.write("| " + " | ".join(escaped) + " |\n")


def _cell(value: Any) -> str:
    """Return a value on one line, with numbers at six digits: for people, not for programs."""
    if isinstance(value, dict | list):
        return printable(json.dumps(_short(value), ensure_ascii=False))
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))


def _short(value: Any) -> Any:
    """Return a nested value with its numbers at six digits."""
    match value:
        case float():
            return float(f"{value:.6g}")
        case dict():
            return {key: _short(each) for key, each in value.items()}
        case list():
            return [_short(each) for each in value]
    return value


def _said_once(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the positions of the names that are equal in all rows, such as one release."""
    return [
        names.index(name)
        for name in _CONTEXT
        if name in names and len({row[names.index(name)] for row in rows}) == 1
    ]


def _empty(names: Sequence[str], rows: Sequence[Sequence[str]], null: str) -> list[int]:
    """Return the positions of columns whose values are all missing, except `steps`.

    Missing steps are information: no trial reached the goal.
    """
    return [
        position
        for position, name in enumerate(names)
        if name != "steps" and {row[position] for row in rows} == {null}
    ]


def _heading_of(
    names: Sequence[str], positions: Sequence[int], rows: Sequence[Sequence[str]]
) -> int | None:
    """Return the column of long names that a narrow table shows once above the rows of each name.

    It is the workload or model; None where neither is shown, or most rows have a name of their own.
    """
    for position in positions:
        if names[position] in {"workload", "model"}:
            changes = len(list(itertools.groupby(rows, operator.itemgetter(position))))
            return position if 2 * changes <= len(rows) else None
    return None


def _total_width(positions: Sequence[int], widths: Sequence[int]) -> int:
    """Return the letters of a line with these columns."""
    return sum(widths[position] for position in positions) + len(_GAP) * (len(positions) - 1)


def _fitting(
    positions: Sequence[int], widths: Sequence[int], room: int, sentences: Collection[int]
) -> dict[int, int]:
    """Return the columns that fit beside each other, at least one, and their widths in letters.

    The first columns have priority. Sentences are cut where the rest of them still tells something.
    Names and numbers, which are there to be copied, are complete or dropped.

    Args:
        positions: positions of the columns, the most important first.
        widths: widths of all columns.
        room: letters of a line.
        sentences: positions of columns whose cells are text with spaces.
    """
    fitted: dict[int, int] = {}
    for position in positions:
        left = room - (len(_GAP) if fitted else 0)
        width = widths[position]
        if position in sentences and left >= _LEAST_OF_SENTENCE:
            width = min(width, left)
        if width <= left or not fitted:
            fitted[position] = width
            room = left - width
    return fitted
