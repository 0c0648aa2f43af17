"""Opens the database for a command, and reads the commands' own queries."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import duckdb

from dbtool.cli.loading import loading_bar
from dbtool.errors import DbtoolError, first_sentence
from dbtool.store.loading import loading
from dbtool.store.locate import database_to_write
from dbtool.store.reading import open_to_read
from dbtool.store.statements import interruptible, settle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def reading(option: Path | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that can only read the chosen database or release, and nothing else.

    Args:
        option: the value of --db; None: the default database.

    Raises:
        DbtoolError: the database cannot be opened, or a query in the block fails.
        KeyboardInterrupt: the person pressed Ctrl-C while a query ran.
    """
    with loading_bar("loading the release that ships with dbtool") as on_progress:
        opened, _ = open_to_read(option, on_progress)
    with opened as connection:
        try:
            with answering(connection):
                yield connection
        finally:
            settle(connection)


@contextlib.contextmanager
def writing(option: Path | None, command: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that can add rows to the chosen database, which is made when absent.

    Others can read the database meanwhile, and see what is new once the block has ended.

    Args:
        option: the value of --db; None: the default database.
        command: what goes on where it stopped when it is given again.

    Raises:
        DbtoolError: the database cannot be opened, or a query in the block fails.
        KeyboardInterrupt: the person pressed Ctrl-C while a query ran.
    """
    with loading(database_to_write(option), command) as connection, answering(connection):
        yield connection


@contextlib.contextmanager
def answering(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Turns DuckDB's errors into ours, and its word for an interrupt into Python's."""
    try:
        with interruptible():
            yield
    except duckdb.Error as error:
        raise DbtoolError(first_sentence(error)) from error
    finally:
        # A query that was left half-way still runs in other threads, and closing waits for it.
        connection.interrupt()
