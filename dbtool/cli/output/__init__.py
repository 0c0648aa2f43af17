"""Prints the rows of a query on standard output, in any of the formats, as they arrive."""

from __future__ import annotations

import contextlib
import itertools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from dbtool.cli.options import BINARY, Format
from dbtool.cli.output.columns import quoted
from dbtool.cli.view import View
from dbtool.core.errors import UsageError
from dbtool.store.questions import Question
from dbtool.store.statements import streamed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from duckdb.sqltypes import DuckDBPyType

ALL = View()
# A quarter of a row group of DuckDB's, since rows of text take a lot of memory.
_ROWS_OF_A_BATCH = 30_720


@dataclass(frozen=True)
class TypedRows:
    """Rows as they arrive.

    Attributes:
        schema: the columns, no two of the same name.
        types: DuckDB's types of the columns.
        batches: the rows.
    """

    schema: pa.Schema
    types: Sequence[DuckDBPyType]
    batches: Iterator[pa.RecordBatch]

    def of(self, positions: Sequence[int]) -> TypedRows:
        """Return the rows with only these columns."""
        return TypedRows(
            pa.schema([self.schema.field(position) for position in positions]),
            [self.types[position] for position in positions],
            (batch.select(list(positions)) for batch in self.batches),
        )

    def converted(
        self, select: Callable[[Sequence[tuple[str, DuckDBPyType]]], str]
    ) -> Iterator[pa.Table]:
        """Yield the result of a SELECT on the rows, a batch at a time.

        Args:
            select: returns the list of what to select, from the columns' names as identifiers and
                their types.
        """
        names = map(quoted, self.schema.names)
        query = f"SELECT {select(list(zip(names, self.types, strict=True)))} FROM incoming"  # noqa: S608 (quoted)
        # One query over all batches would run ahead of a slow reader and keep its rows in memory.
        with duckdb.connect() as converter:
            for batch in self.batches:
                converter.register("incoming", pa.Table.from_batches([batch]))
                yield converter.sql(query).to_arrow_table()


def require_printable(output_format: Format) -> None:
    """Refuse a binary format on a terminal; call this before a query runs.

    Raises:
        UsageError: the format is parquet or arrow, and standard output is a terminal.
    """
    if output_format in BINARY and sys.stdout.isatty():
        raise UsageError(
            f"--format {output_format} is not for a terminal; "
            f"send it to a file with `> rows.{output_format}`"
        )


def print_rows(
    cursor: duckdb.DuckDBPyConnection,
    question: Question,
    output_format: Format,
    limit: int | None = None,
    on_rows: Callable[[], None] = lambda: None,
    view: View = ALL,
) -> None:
    """Run a query and print its rows, a batch at a time.

    Args:
        cursor: runs the query.
        question: the query.
        output_format: how its rows are printed.
        limit: print at most this many rows; None: all.
        on_rows: called before the first row is printed.
        view: which columns are printed.

    Raises:
        UsageError: the format is binary and standard output is a terminal, or a requested column
            does not exist.
        DbtoolError: the format cannot store a column.
        duckdb.Error: the query fails, maybe after some rows.
    """
    require_printable(output_format)
    with _running(cursor, question, limit, on_rows) as running:
        rows = running.of(view.positions(running.schema.names))
        if output_format in (Format.TABLE, Format.MARKDOWN):
            from dbtool.cli.output import text

            text.print_text(rows, output_format, view)
        else:
            # Polars takes a while to import.
            from dbtool.cli.output import records

            records.print_records(rows, output_format)


def print_table(
    rows: pa.Table,
    output_format: Format,
    limit: int | None = None,
    columns: str = "*",
    view: View = ALL,
) -> None:
    """Print rows from memory; see `print_rows`.

    Args:
        rows: the rows.
        output_format: how they are printed.
        limit: print at most this many; None: all.
        columns: SQL of what to print of each row.
        view: which of these columns are printed.
    """
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        question = Question(f"SELECT {columns} FROM rows", {})  # noqa: S608 (ours)
        print_rows(connection, question, output_format, limit, view=view)


@contextlib.contextmanager
def _running(
    cursor: duckdb.DuckDBPyConnection,
    question: Question,
    limit: int | None,
    on_rows: Callable[[], None],
) -> Iterator[TypedRows]:
    with streamed(cursor, question.sql, question.values, _ROWS_OF_A_BATCH) as stream:
        names = _distinct(stream.schema.names)
        schema = pa.schema(
            [field.with_name(name) for field, name in zip(stream.schema, names, strict=True)]
        )
        batches = _first(stream.batches, schema, limit)
        first = next(batches, None)
        on_rows()
        yield TypedRows(
            schema, stream.types, itertools.chain([] if first is None else [first], batches)
        )


def _first(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, limit: int | None
) -> Iterator[pa.RecordBatch]:
    left = limit
    while left is None or left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        batch = batch.slice(0, left)
        left = None if left is None else left - batch.num_rows
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names that differ even if case is ignored; repeated names get a number."""
    taken: set[str] = set()
    distinct = []
    for name in names:
        candidates = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(1)))
        free = next(each for each in candidates if each.lower() not in taken)
        taken.add(free.lower())
        distinct.append(free)
    return distinct
