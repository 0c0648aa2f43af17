"""Rows as text for people: an aligned table, or a Markdown table."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from dbtool.cli.options import Format
from dbtool.cli.output.columns import NESTED, for_csv
from dbtool.core.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbtool.cli.output import Rows

# The widths come from this many rows; the rows after them keep the widths, so memory stays small.
ROWS_MEASURED = 1000
NARROWEST = 8
GAP = "  "
NULL = "—"
NUMBERS = frozenset(
    {"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"}
    | {"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint", "bignum"}
)


def print_rows(rows: Rows, output_format: Format) -> None:
    """Prints rows as a table or as Markdown; see `dbtool.cli.output.print_rows`."""
    names = [" ".join(printable(name).split()) for name in rows.schema.names]
    right = [kind.id in NUMBERS for kind in rows.types]
    if output_format is Format.MARKDOWN:
        _print_markdown(names, right, _cells(rows, null=""))
    else:
        _print_table(names, right, _cells(rows, null=NULL))


def _cells(rows: Rows, null: str) -> Iterator[list[str]]:
    """The cells of each row, each on one line."""
    nested = [kind.id in NESTED for kind in rows.types]
    for table in rows.converted(
        lambda columns: ", ".join(f"{for_csv(name, kind)} AS {name}" for name, kind in columns)
    ):
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            yield [
                null if value is None else _cell(json.loads(value) if is_nested else value)
                for value, is_nested in zip(row, nested, strict=True)
            ]


def _print_table(names: list[str], right: list[bool], rows: Iterator[list[str]]) -> None:
    measured = list(itertools.islice(rows, ROWS_MEASURED))
    widths = [max(map(len, column)) for column in zip(names, *measured, strict=True)]
    cut = sys.stdout.isatty()
    if cut:
        widths = _fit(widths, shutil.get_terminal_size().columns)
    for cells in itertools.chain([names, ["-" * width for width in widths]], measured, rows):
        _print_cells(cells, widths, right, cut=cut)


def _fit(widths: list[int], room: int) -> list[int]:
    """Narrows the widest columns until the table fits the room, or all are at their narrowest."""
    fitted = list(widths)
    spare = room - len(GAP) * (len(widths) - 1)
    while sum(fitted) > spare and max(fitted) > NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _print_cells(cells: Sequence[str], widths: list[int], right: list[bool], *, cut: bool) -> None:
    aligned = []
    for cell, width, to_right in zip(cells, widths, right, strict=True):
        text = cell[: width - 1] + "…" if cut and len(cell) > width else cell
        aligned.append(text.rjust(width) if to_right else text.ljust(width))
    sys.stdout.write(GAP.join(aligned).rstrip() + "\n")


def _print_markdown(names: list[str], right: list[bool], rows: Iterator[list[str]]) -> None:
    rule = ["---:" if to_right else "---" for to_right in right]
    for cells in itertools.chain([names, rule], rows):
        escaped = (cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
        sys.stdout.write("| " + " | ".join(escaped) + " |\n")


def _cell(value: Any) -> str:
    """A value on one line; numbers with six digits, for the eye and not for a program."""
    if isinstance(value, dict | list):
        return printable(json.dumps(_short(value), ensure_ascii=False))
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))


def _short(value: Any) -> Any:
    """A nested value with its numbers at six digits."""
    match value:
        case float():
            return float(f"{value:.6g}")
        case dict():
            return {key: _short(each) for key, each in value.items()}
        case list():
            return [_short(each) for each in value]
    return value
