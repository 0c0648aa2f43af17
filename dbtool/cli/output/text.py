"""Rows as text for people: an aligned table, or a Markdown table."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import sys
from typing import TYPE_CHECKING, Any

from dbtool.cli.options import Format
from dbtool.store.statements import batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

# The widths come from this many rows; the rows after them keep the widths, so memory stays small.
ROWS_MEASURED = 1000
NARROWEST = 8
GAP = "  "
NULL = "—"
NUMBERS = frozenset(
    {"tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal"}
    | {"utinyint", "usmallint", "uinteger", "ubigint", "uhugeint", "bignum"}
)
# DuckDB makes Python values of these only with a package that nothing else here needs.
TIME_ZONED = frozenset({"timestamp with time zone", "time with time zone"})


def print_rows(result: duckdb.DuckDBPyConnection, output_format: Format, limit: int | None) -> None:
    """Prints rows as a table or as Markdown; see `dbtool.cli.output.print_rows`."""
    names = [column[0] for column in result.description]
    right = [column[1].id in NUMBERS for column in result.description]
    rows = itertools.islice(_rows(result), limit)
    if output_format is Format.MARKDOWN:
        _print_markdown(names, right, rows)
    else:
        _print_table(names, right, rows)


def _rows(result: duckdb.DuckDBPyConnection) -> Iterator[Sequence[Any]]:
    """The rows as Python values."""
    if any(column[1].id in TIME_ZONED for column in result.description):
        with batches(result, ROWS_MEASURED) as reader:
            for batch in reader:
                cells = (each.to_pylist(maps_as_pydicts="strict") for each in batch.columns)
                yield from zip(*cells, strict=True)
        return
    while rows := result.fetchmany(ROWS_MEASURED):
        yield from rows


def _print_table(names: list[str], right: list[bool], rows: Iterator[Sequence[Any]]) -> None:
    measured = [[_cell(value) for value in row] for row in itertools.islice(rows, ROWS_MEASURED)]
    widths = [max(map(len, column)) for column in zip(_one_line(names), *measured, strict=True)]
    cut = sys.stdout.isatty()
    if cut:
        widths = _fit(widths, shutil.get_terminal_size().columns)
    _print_cells(_one_line(names), widths, right, cut=cut)
    _print_cells(["-" * width for width in widths], widths, right, cut=cut)
    for cells in itertools.chain(measured, ([_cell(value) for value in row] for row in rows)):
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


def _print_markdown(names: list[str], right: list[bool], rows: Iterator[Sequence[Any]]) -> None:
    _print_markdown_cells(_one_line(names))
    _print_markdown_cells(["---:" if to_right else "---" for to_right in right])
    for row in rows:
        _print_markdown_cells(["" if value is None else _cell(value) for value in row])


def _print_markdown_cells(cells: list[str]) -> None:
    escaped = (cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    sys.stdout.write("| " + " | ".join(escaped) + " |\n")


def _one_line(names: Sequence[str]) -> list[str]:
    return [" ".join(name.split()) for name in names]


def _cell(value: object) -> str:
    """One value on one line; numbers with six digits, for the eye and not for a program."""
    match value:
        case None:
            return NULL
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.6g}"
        case dict() | list() | tuple():
            return json.dumps(_short(value), default=str, ensure_ascii=False)
        case bytes():
            return value.hex()
    return str(value).replace("\r", "").replace("\n", "\\n")


def _short(value: object) -> object:
    """A nested value with its numbers at six digits and its keys as text."""
    match value:
        case float() if math.isfinite(value):
            return float(f"{value:.6g}")
        case float():
            return str(value)
        case dict():
            return {str(key): _short(each) for key, each in value.items()}
        case list() | tuple():
            return [_short(each) for each in value]
    return value
