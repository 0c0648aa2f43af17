"""A query of somebody's own, checked before it runs."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

import duckdb

from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_READING = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})

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
    statements = connection.extract_statements(text)
    if len(statements) != 1:
        raise DbtoolError(f"the query holds {len(statements)} statements; give exactly one SELECT")
    [statement] = statements
    if statement.type not in _READING:
        raise DbtoolError(
            f"{statement.type.name} is not a query; `dbtool sql` runs SELECT and other statements "
            "that only read, and `dbtool ingest` adds rows"
        )
    return statement


def settle(connection: duckdb.DuckDBPyConnection) -> None:
    """Ends what a connection or a cursor still runs, so that it can be let go of.

    Let go of before, it would wait for its threads and keep Python from running meanwhile; those
    that read a release on a server wait for Python.
    """
    with contextlib.suppress(duckdb.Error, RuntimeError):
        connection.execute("SELECT 1").fetchall()


@contextlib.contextmanager
def batches(connection: duckdb.DuckDBPyConnection, rows: int) -> Iterator[pa.RecordBatchReader]:
    """The rows of what a connection or a cursor ran last, in batches, while the block lasts.

    A reader that outlives its connection, as the traceback of an error can make it, has DuckDB wait
    for ever when the same file is opened again (https://github.com/duckdb/duckdb/issues/25965).

    Args:
        connection: what ran it.
        rows: of a batch, at most.

    Raises:
        duckdb.Error: there is nothing to read.
    """
    reader = connection.to_arrow_reader(rows)
    try:
        yield reader
    finally:
        reader.close()


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
