"""Which connections read a published release; imports nothing, since every query asks."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from dbtool.store.remote.filesystem import ReleaseFiles

_FILES: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, ReleaseFiles] = (
    weakref.WeakKeyDictionary()
)


def remember_files(connection: duckdb.DuckDBPyConnection, files: ReleaseFiles) -> None:
    """Keeps what a connection reads for as long as there is the connection."""
    _FILES[connection] = files


def files_of(connection: duckdb.DuckDBPyConnection) -> ReleaseFiles | None:
    """The files that a connection reads; None of a database on this machine."""
    return _FILES.get(connection)
