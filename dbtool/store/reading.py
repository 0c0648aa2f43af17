"""Opens what was named to read: a database, or a published release on a server or in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.store.database import open_for_reading
from dbtool.store.locate import database_to_read, named_place

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from dbtool.store.ingest import Progress


def open_to_read(
    option: Path | None, on_progress: Progress | None = None
) -> tuple[duckdb.DuckDBPyConnection, str]:
    """A connection that can read what was named and nothing else, and what to call it.

    Args:
        option: a database's file, or the URL or folder of a published release; None: as
            `database_to_read`.
        on_progress: called while the bundled release is loaded.

    Raises:
        UsageError: there is no such database, or the URL is malformed.
        DbtoolError: it cannot be opened.
    """
    place = named_place(option)
    if place is None:
        path = database_to_read(option, on_progress)
        return open_for_reading(path), str(path)
    from dbtool.store.remote.opening import open_place

    return open_place(place), place.name
