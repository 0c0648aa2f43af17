"""SQLite databases of tools, which are only read."""

from __future__ import annotations

import contextlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from dbtool.core.files import open_file
from dbtool.store.table_files import RunsError

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"SQLite format 3\0"


def has_tables(path: Path, names: set[str]) -> bool:
    """Return whether a file is a SQLite database with these tables."""
    with open_file(path) as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return False
    # A database that is damaged may be of another program.
    with contextlib.suppress(RunsError):
        return names <= {name for (name,) in select(path, "SELECT name FROM sqlite_master")}
    return False


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query.

    Raises:
        RunsError: the database cannot be read.
    """
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()
    except sqlite3.Error as error:
        raise RunsError(f"{path} cannot be read as a SQLite database: {error}") from error
