"""A query of somebody's own, checked before it runs."""

from __future__ import annotations

import contextlib
import re
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from dbtool.core.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from duckdb.sqltypes import DuckDBPyType

# DuckDB 1 keeps Python from running while its `sql` collects the rows of a query that has values,
# for ever where the threads that read them wait for Python; DuckDB 2 copies what `execute` gives.
_IS_1 = duckdb.__version__.startswith("1.")
_ANALYZE = re.compile(r"\banaly[sz]e\b", re.IGNORECASE)
# Table functions, so that SELECT runs them: logs and profiles come between the rows of standard
# output, and DuckDB 1 ends the process where it may not write. `query` runs a text that is put
# together later.
_SETTING = re.compile(
    r"\b((?:en|dis)able_(?:logging|profiling)|truncate_duckdb_logs|query(?=\"?\s*(?:(?:/\*|--).*)?\())",
    re.IGNORECASE | re.DOTALL,
)
_PIVOT = re.compile(r"\bpivot(?:_wider)?\b", re.IGNORECASE)
_READING = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})

_SECONDS_BETWEEN_LOOKS = 0.1

# An error that Python raised while DuckDB called it has its name in the message, and only there.
_INTERRUPTED = re.compile(r"(?:^|: )KeyboardInterrupt(?:$|: )", re.MULTILINE)


def one_query(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """The one statement of a text, which only reads.

    Args:
        connection: the database.
        text: SQL.

    Raises:
        DbtoolError: it holds more statements or none, or one that does more than read.
        duckdb.Error: it is no SQL.
    """
    require_text(text, "the query")
    statements = connection.extract_statements(text)
    if _PIVOT.search(text) and _looks_values_up(statements):
        raise DbtoolError(
            "PIVOT needs the values that become columns: write them, as in "
            "`PIVOT trials ON batch_size IN (64, 256) USING count(*)`"
        )
    if not statements:
        raise DbtoolError(
            "the query is empty: give one SELECT, or the name of an analysis (see `dbtool sql "
            "--help`)"
        )
    if len(statements) != 1:
        raise DbtoolError(f"the query holds {len(statements)} statements; give exactly one SELECT")
    [statement] = statements
    if statement.type not in _READING:
        raise DbtoolError(
            f"{statement.type.name} is not a query; `dbtool sql` runs SELECT and other statements "
            "that only read, and `dbtool ingest` adds rows"
        )
    if statement.type == duckdb.StatementType.EXPLAIN and _ANALYZE.search(text):
        raise DbtoolError(
            "EXPLAIN ANALYZE runs what it explains, which may write; ask for EXPLAIN alone"
        )
    if found := _SETTING.search(text):
        raise DbtoolError(f"{found[1]} does more than read; leave it out of the query")
    return statement


def _looks_values_up(statements: Sequence[duckdb.Statement]) -> bool:
    """Whether DuckDB would make a type of a column's values, and then a query of it."""
    if _IS_1:
        return len(statements) > 1 and statements[0].type == duckdb.StatementType.CREATE
    return any(statement.type == duckdb.StatementType.MULTI for statement in statements)


def sql_text(value: str) -> str:
    """A text as SQL writes it.

    Example:
        >>> sql_text("it's")
        "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def require_text(text: str, what: str) -> None:
    """Refuses half of a surrogate pair, which stands for a byte that was not text.

    Raises:
        UsageError: there is one.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is not UTF-8 text") from error


def table_of(
    cursor: duckdb.DuckDBPyConnection,
    query: str | duckdb.Statement,
    values: Mapping[str, object],
) -> pa.Table:
    """The rows of a query.

    Args:
        cursor: what runs it.
        query: one statement.
        values: of its parameters.

    Raises:
        duckdb.Error: it fails.
    """

    def run() -> pa.Table:
        if _IS_1:
            return cursor.execute(query, dict(values)).to_arrow_table()
        return cursor.sql(query, params=dict(values) or None).to_arrow_table()

    with ThreadPoolExecutor(1) as thread:
        return _result(cursor, thread.submit(run))


@dataclass(frozen=True)
class RowStream:
    """The rows of a query as they come.

    Attributes:
        schema: the columns.
        types: DuckDB's types of the columns.
        batches: the rows.
    """

    schema: pa.Schema
    types: Sequence[DuckDBPyType]
    batches: Iterator[pa.RecordBatch]


@contextlib.contextmanager
def streamed(
    cursor: duckdb.DuckDBPyConnection,
    query: str | duckdb.Statement,
    values: Mapping[str, object],
    rows: int,
) -> Iterator[RowStream]:
    """The rows of a query in batches, while the block lasts.

    A reader that outlives its connection, as the traceback of an error can make it, has DuckDB wait
    for ever when the same file is opened again (https://github.com/duckdb/duckdb/issues/25965).

    Args:
        cursor: what runs it.
        query: one statement.
        values: of its parameters.
        rows: of a batch, at most.

    Raises:
        duckdb.Error: it fails, maybe after some rows.
    """

    def begin() -> tuple[pa.RecordBatchReader, Sequence[DuckDBPyType]]:
        if _IS_1:
            cursor.execute(query, dict(values))
            types = [column[1] for column in cursor.description or []]
            return cursor.to_arrow_reader(rows), types
        relation = cursor.sql(query, params=dict(values) or None)
        return relation.to_arrow_reader(rows), relation.types

    with ThreadPoolExecutor(1) as thread:
        reader, types = _result(cursor, thread.submit(begin))

        def batches() -> Iterator[pa.RecordBatch]:
            while (batch := _result(cursor, thread.submit(next, reader, None))) is not None:
                yield batch

        try:
            yield RowStream(reader.schema, types, batches())
        finally:
            reader.close()


def _result(cursor: duckdb.DuckDBPyConnection, future: Future[Any]) -> Any:
    """What a thread makes, unless the person presses Ctrl-C before."""
    # Python notices Ctrl-C while it waits for another thread, and not while it waits for rows.
    try:
        # The system may hand the signal to another thread, which does not wake this one.
        while not wait([future], _SECONDS_BETWEEN_LOOKS).done:
            pass
    except KeyboardInterrupt:
        # DuckDB forgets an interrupt that comes between two batches, and waits for ever where a
        # reader is closed while a thread reads.
        cursor.interrupt()
        while not wait([future], _SECONDS_BETWEEN_LOOKS).done:
            cursor.interrupt()
        raise
    try:
        return future.result()
    except (OSError, pa.ArrowException) as error:
        # So Arrow passes on what fails after the first rows.
        raise duckdb.Error(str(error)) from error


def end_queries(connection: duckdb.DuckDBPyConnection) -> None:
    """Ends what a connection or a cursor still runs, so that it can be let go of.

    Let go of before, it would wait for its threads and keep Python from running meanwhile; those
    that read a release on a server wait for Python.
    """
    with contextlib.suppress(duckdb.Error, RuntimeError):
        connection.interrupt()
        connection.execute("SELECT 1").fetchall()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turns DuckDB's words for Ctrl-C into Python's.

    DuckDB raises a RuntimeError for one that it notices itself, and an error of its own for one
    that comes while Python works for a query, as when it hands over the rows of a table.

    Raises:
        KeyboardInterrupt: the person pressed Ctrl-C while a query of the block ran.
    """
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise
    except duckdb.Error as error:
        if _INTERRUPTED.search(str(error)):
            raise KeyboardInterrupt from error
        raise
