"""From what somebody names to an open database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.api.database import Database
from dbtool.errors import UsageError
from dbtool.store.database import open_for_reading
from dbtool.store.locate import database_to_read

if TYPE_CHECKING:
    import os

    import duckdb


def open_database(
    source: str | os.PathLike[str] | None = None, *, release: str | None = None
) -> Database:
    """Opens a database to read; see `dbtool.open`.

    Args:
        source: its file; None: as the command line.
        release: the release that questions are about unless they name another; None: all.

    Raises:
        UsageError: there is no such database or release.
        DbtoolError: the database cannot be opened.
    """
    connection, name = _connect(source)
    try:
        return Database(connection, name=name, release=release)
    except BaseException:
        connection.close()
        raise


def _connect(source: str | os.PathLike[str] | None) -> tuple[duckdb.DuckDBPyConnection, str]:
    """A connection that can only read, and what to call the database.

    Whatever gives the schema's views and macros can be opened here; `Database` does not care.

    Raises:
        UsageError: there is no such database, or it is on another machine.
        DbtoolError: it cannot be opened.
    """
    if isinstance(source, str) and "://" in source:
        raise UsageError(
            f"{source} is no file on this machine, and only such databases can be opened: "
            "download it first"
        )
    # An empty name would be this folder to pathlib.
    option = None if source is None else Path(source or "''").expanduser()
    path = database_to_read(option)
    return open_for_reading(path), str(path)
