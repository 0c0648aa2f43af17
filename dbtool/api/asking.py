"""Cursors that a question can be interrupted on, with DuckDB's errors as ours."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import duckdb

from dbtool.api.readers import CLOSED
from dbtool.errors import DbtoolError, first_sentence
from dbtool.store.statements import interruptible, settle

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def asking(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor of its own for the queries of the block, none of which outlives an error in it.

    Args:
        connection: the database.

    Raises:
        DbtoolError: a query failed, or the database was closed.
        KeyboardInterrupt: the person pressed Ctrl-C while a query ran.
    """
    try:
        with interruptible():
            cursor = connection.cursor()
            try:
                yield cursor
            except BaseException:
                # It still runs in other threads; letting go of the cursor would wait for it.
                cursor.interrupt()
                settle(cursor)
                raise
    except duckdb.ConnectionException as error:
        raise DbtoolError(CLOSED) from error
    except duckdb.Error as error:
        raise DbtoolError(first_sentence(error)) from error
