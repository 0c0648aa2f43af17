"""Checks and runs a query of the user's own."""

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
    # DuckDB reports types that annotations keep as leaked, where a process that draws ends.
    from collections.abc import Iterator, Mapping, Sequence

    from duckdb.sqltypes import DuckDBPyType

# DuckDB 1's `sql` blocks Python while it collects the rows of a query with values, and does so for
# ever where the threads that read them wait for Python; DuckDB 2 copies the rows of `execute`.
IS_1 = duckdb.__version__.startswith("1.")
_ANALYZE = re.compile(rb"\banaly[sz]e\b", re.IGNORECASE)
# The functions in a query that DuckDB parsed. In its JSON, quotes within texts are escaped.
_FUNCTION = re.compile(r'"function_name":"((?:[^"\\]|\\.)*)"')
# Functions that SELECT can call and that do more than read. Logs and profiles would mix with the
# rows on standard output, and DuckDB 1 ends the process where it may not write them. Others run a
# query that is built at run time, or read an address of memory.
_DOES_MORE = re.compile(
    r"(?:en|dis)able_\w+|truncate_duckdb_logs|write_log|query|json_execute_serialized_sql"
    r"|(?:force_)?checkpoint|(?:copy|import)_database|add_parquet_key|\w+_external_resource\w*"
    r"|(?:python_)?(?:arrow|pandas)_scan\w*|python_map_function|seq_scan",
    re.IGNORECASE,
)
_PIVOT = re.compile(r"\bpivot(?:_wider)?\b", re.IGNORECASE)
_READING = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})
_SECONDS_BETWEEN_LOOKS = 0.1
# The type of an error in Python code that DuckDB called is in the message, and only there.
_INTERRUPTED = re.compile(r"(?:^|: )KeyboardInterrupt(?:$|: )", re.MULTILINE)


def one_query(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """Return the only statement of a text, or raise a DbtoolError unless it only reads."""
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
    kind = _kind(statement)
    if kind not in _READING:
        # Python's names lack some kinds, such as UPDATE EXTENSIONS: none, or ??? with DuckDB 1.5.
        name = kind.name if kind else ""
        word = name if name.isidentifier() else statement.query.split()[0].upper()
        raise DbtoolError(
            f"{word} is not a query; `dbtool sql` runs SELECT and other statements "
            "that only read, and `dbtool ingest` adds rows"
        )
    query = statement.query
    if kind == duckdb.StatementType.EXPLAIN:
        query = _explained(connection, query)
    _refuse_functions(connection, query)
    return statement


def _kind(statement: duckdb.Statement) -> duckdb.StatementType | None:
    try:
        return statement.type
    except ValueError:
        return None


def _explained(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return the query that an EXPLAIN explains; raise an error where that would run it."""
    content = query.encode()
    starts = [at for at, kind in duckdb.tokenize(query) if kind != duckdb.token_type.comment]
    first = 1
    whole = content[starts[first] :].decode()
    # What is not a query in parentheses begins with options in some.
    if whole.startswith("(") and _parsed(connection, whole) is None:
        first = 1 + next(at for at in range(len(starts)) if content[starts[at] :].startswith(b")"))
    following = content[starts[first] :]
    if _ANALYZE.search(content[: starts[first]]) or _ANALYZE.match(following):
        raise DbtoolError(
            "EXPLAIN ANALYZE runs what it explains, which may write; ask for EXPLAIN alone"
        )
    return following.decode()


def _refuse_functions(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Refuse what is not a SELECT, or calls what does more than read, wherever in it."""
    parsed = _parsed(connection, query)
    if parsed is None:
        raise DbtoolError("EXPLAIN explains SELECT alone; leave out what writes")
    for name in _FUNCTION.findall(parsed):
        if _DOES_MORE.fullmatch(name):
            raise DbtoolError(f"{name} does more than read; leave it out of the query")


def _parsed(connection: duckdb.DuckDBPyConnection, query: str) -> str | None:
    """Return a SELECT as DuckDB's JSON; None where the query is not one."""
    found = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()
    parsed: str = found[0][0]
    return None if parsed.startswith('{"error":true') else parsed


def _looks_values_up(statements: Sequence[duckdb.Statement]) -> bool:
    """Whether DuckDB would first query a column's values for a type, and then run another query."""
    if IS_1:
        return len(statements) > 1 and _kind(statements[0]) == duckdb.StatementType.CREATE
    return any(_kind(statement) == duckdb.StatementType.MULTI for statement in statements)


def sql_text(value: str) -> str:
    """Return a text as a SQL literal.

    Example:
        >>> sql_text("it's")
        "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def require_text(text: str, what: str) -> None:
    """Raise a UsageError for half of a surrogate pair, which stands for a byte that was no text."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is not UTF-8 text") from error


def table_of(
    cursor: duckdb.DuckDBPyConnection, query: str | duckdb.Statement, values: Mapping[str, object]
) -> pa.Table:
    """Return the rows of a statement with values of its parameters, or raise a duckdb.Error."""

    def run() -> pa.Table:
        if IS_1:
            return cursor.execute(query, dict(values)).to_arrow_table()
        return cursor.sql(query, params=dict(values) or None).to_arrow_table()

    with ThreadPoolExecutor(1) as thread:
        return _result(cursor, thread.submit(run))


@dataclass(frozen=True)
class RowStream:
    """The rows of a query in batches, with the columns' types in Arrow and in DuckDB."""

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
    """Yield the rows of a query in batches of so many rows at most, for the time of the block.

    A reader can outlive its connection, for instance in the traceback of an error. DuckDB then
    waits for ever when the same file is opened again
    (https://github.com/duckdb/duckdb/issues/25965).

    Raises:
        duckdb.Error: the query fails, perhaps after some rows.
    """

    def begin() -> tuple[pa.RecordBatchReader, Sequence[DuckDBPyType]]:
        if IS_1:
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
    """Return the result of a thread, unless the user presses Ctrl-C before."""
    # Python handles Ctrl-C while it waits for another thread, but not while it waits for rows.
    try:
        # The system may deliver the signal to another thread, which does not wake this one.
        while not wait([future], _SECONDS_BETWEEN_LOOKS).done:
            pass
    except KeyboardInterrupt:
        # DuckDB loses an interrupt between two batches, and waits for ever where a
        # reader is closed while a thread reads.
        cursor.interrupt()
        while not wait([future], _SECONDS_BETWEEN_LOOKS).done:
            cursor.interrupt()
        raise
    try:
        return future.result()
    except (OSError, pa.ArrowException) as error:
        # Arrow reports a failure after the first rows in this way.
        raise duckdb.Error(str(error)) from error


def end_queries(connection: duckdb.DuckDBPyConnection) -> None:
    """End the queries of a connection or a cursor, so that it can be deleted.

    Deleting it earlier would wait for its threads and block Python meanwhile. Threads that read a
    release on a server wait for Python in turn.
    """
    with contextlib.suppress(duckdb.Error, RuntimeError):
        connection.interrupt()
        connection.execute("SELECT 1").fetchall()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Convert DuckDB's errors for Ctrl-C in the block to a KeyboardInterrupt.

    DuckDB raises a RuntimeError for a Ctrl-C that it notices itself. It raises an error of its own
    for one that comes while Python works for a query, such as during the transfer of a table's
    rows.
    """
    try:
        yield
    except (RuntimeError, duckdb.Error) as error:
        if str(error) == "Query interrupted" or _INTERRUPTED.search(str(error)):
            raise KeyboardInterrupt from error
        raise
