"""Rows as text for people: an aligned table, or a Markdown table."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from dbtool.cli.messages import tell
from dbtool.cli.options import Format
from dbtool.cli.output.columns import NESTED, for_csv
from dbtool.cli.view import GAP, empty, fitting, heading_of, said_once, total_width
from dbtool.core.errors import few_of, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dbtool.cli.output import TypedRows
    from dbtool.cli.view import View

# These rows set the widths; later rows keep them, so memory stays small.
ROWS_MEASURED = 1000
NULL = "—"
WIDTH = 80
NUMBERS = frozenset(
    {"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"}
    | {"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint", "bignum"}
)


def print_text(rows: TypedRows, output_format: Format, view: View) -> None:
    """Print rows as a table or as Markdown; see `dbtool.cli.output.print_rows`."""
    names = [" ".join(printable(name).split()) for name in rows.schema.names]
    right = [kind.id in NUMBERS for kind in rows.types]
    if output_format is Format.MARKDOWN:
        _print_markdown(names, right, _cells(rows, null=""))
    else:
        _print_table(names, right, _cells(rows, null=NULL), view)


def _cells(rows: TypedRows, null: str) -> Iterator[list[str]]:
    """Yield the cells of each row, each on one line."""
    nested = [kind.id in NESTED for kind in rows.types]
    for table in rows.converted(
        lambda columns: ", ".join(f"{for_csv(name, kind)} AS {name}" for name, kind in columns)
    ):
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            yield [
                null if value is None else _cell(json.loads(value) if is_nested else value)
                for value, is_nested in zip(row, nested, strict=True)
            ]


def _print_table(
    names: list[str], right: list[bool], rows: Iterator[list[str]], view: View
) -> None:
    measured = list(itertools.islice(rows, ROWS_MEASURED))
    widths = [max(map(len, column)) for column in zip(names, *measured, strict=True)]
    shown = view.of_table(names)
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() and not view.wide else None
    heading = None
    if view.is_short or (room is not None and total_width(shown, widths) > room):
        if view.columns is None and 0 < len(measured) < ROWS_MEASURED:
            without = empty(names, measured, NULL)
            said = [each for each in said_once(names, measured) if each not in without]
            _print_once({names[position]: measured[0][position] for position in said})
            left_out = {*said, *without}
            shown = [position for position in shown if position not in left_out] or shown
        if room is not None and total_width(shown, widths) > room:
            heading = heading_of(names, shown, measured)
            shown = [position for position in shown if position != heading]
    fitted = {position: widths[position] for position in shown}
    if room is not None:
        sentences = {
            position for position in shown if any(" " in row[position] for row in measured)
        }
        fitted = fitting(shown, widths, room, sentences)
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
        sys.stdout.write(f"{textwrap.fill(' · '.join(shared), WIDTH)}\n\n")


def _print_cells(
    cells: Sequence[str], widths: Mapping[int, int], right: list[bool], *, cut: bool
) -> None:
    aligned = []
    for position, width in widths.items():
        cell = cells[position]
        if cut and len(cell) > width and " " in cell:
            cell = f"{cell[: width - 1]}…"
        aligned.append(cell.rjust(width) if right[position] else cell.ljust(width))
    sys.stdout.write(GAP.join(aligned).rstrip() + "\n")


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
