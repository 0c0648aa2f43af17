"""A published release as a database whose tables are views of its files."""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING

import duckdb

from dbtool.resources import schema_folder
from dbtool.store.database import SETTINGS, VIEWS_AND_MACROS
from dbtool.store.published.layout import MEASUREMENTS, TABLES, table_path
from dbtool.store.published.manifest import read_published
from dbtool.store.sql import statement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dbtool.store.published.manifest import PublishedManifest


def open_published(folder: Path) -> duckdb.DuckDBPyConnection:
    """Opens a published release that lies on this machine for queries, without loading it.

    Every view and macro is there, as in a database.

    Raises:
        DbtoolError: its manifest is missing, damaged, or of another format.
    """
    manifest = read_published(folder)
    connection = duckdb.connect(config=SETTINGS)
    try:
        make_views(connection, manifest, lambda path: glob.escape(str(folder / path)))
    except BaseException:
        connection.close()
        raise
    return connection


def make_views(
    connection: duckdb.DuckDBPyConnection,
    manifest: PublishedManifest,
    place: Callable[[str], str],
) -> None:
    """Makes the tables of a published release, as views of its files, and all views and macros.

    Args:
        connection: an empty database.
        manifest: the release's.
        place: from a path below the folder to what DuckDB opens, such as a URL.
    """
    values = {
        "schema_version": str(manifest.schema_version),
        "dbtool": _text(manifest.dbtool),
        **{table: _text(place(table_path(table))) for table in TABLES},
        MEASUREMENTS: f"[{', '.join(_text(place(path)) for path in _measured(manifest))}]",
    }
    connection.execute(statement("published_views").format_map(values))
    for part in VIEWS_AND_MACROS:
        connection.execute((schema_folder() / f"{part}.sql").read_text(encoding="utf-8"))


def make_measurements_view(
    connection: duckdb.DuckDBPyConnection, folder: Path, manifest: PublishedManifest
) -> None:
    """Makes views of what files of measurements hold besides the stored columns.

    `published_measurements` has their keys with the `place` of their file below the folder, in the
    order of the files, and `published_files` the workload of each place.

    Args:
        connection: from `open_published`.
        folder: the release's folder.
        manifest: the release's.
    """
    places = _measured(manifest)
    paths = [_text(glob.escape(str(folder / place))) for place in places]
    names = [_text(name) for name in sorted(manifest.measurements())]
    values = {
        "start": str(len(str(folder)) + 2),
        "measurements": f"[{', '.join(paths)}]",
        "places": f"[{', '.join(map(_text, places))}]",
        "workloads": f"[{', '.join(names)}]",
    }
    connection.execute(statement("published_files").format_map(values))


def _measured(manifest: PublishedManifest) -> list[str]:
    """The files of measurements in the order of the workloads' names, that of the studies' ids."""
    return [file.path for _, file in sorted(manifest.measurements().items())]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
