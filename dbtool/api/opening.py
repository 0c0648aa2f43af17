"""From what somebody names to an open database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.api.database import Database
from dbtool.store.reading import open_to_read

if TYPE_CHECKING:
    import os

    import duckdb


def open_database(
    source: str | os.PathLike[str] | None = None, *, release: str | None = None
) -> Database:
    """Opens a database to read; see `dbtool.open`.

    Args:
        source: its file, or the URL or folder of a published release; None: as the command line.
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
        UsageError: there is no such database, or a URL is malformed.
        DbtoolError: it cannot be opened.
    """
    # An empty name would be this folder to pathlib.
    return open_to_read(None if source is None else Path(source or "''").expanduser())
