"""Opens a published release on a server or in a folder as a database."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import quote

import duckdb

from dbtool.errors import DbtoolError, first_sentence
from dbtool.resources import schema_folder
from dbtool.store.database import LOCK, SETTINGS, VIEWS_AND_MACROS, schema_version
from dbtool.store.published.layout import MANIFEST, MEASUREMENTS, STORED, TABLES, table_path
from dbtool.store.published.manifest import parse_published
from dbtool.store.remote.connections import remember_files
from dbtool.store.remote.contents import Contents
from dbtool.store.remote.filesystem import PROTOCOL, ReleaseFiles
from dbtool.store.sql import statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dbtool.store.published.manifest import PublishedManifest
    from dbtool.store.remote.places import Place

# Most of a query's time goes by waiting for a server, which threads do side by side.
_FEWEST_THREADS = 8
# What every question reads is loaded once.
_LOADED = ("releases", "workloads", "studies")
_SMALL = (*_LOADED, "trials")


def open_place(place: Place) -> duckdb.DuckDBPyConnection:
    """Opens a release for queries of any origin, which can read it and nothing else.

    Args:
        place: where it is.

    Raises:
        DbtoolError: it cannot be read, is damaged, or of another format or schema version.
    """
    try:
        manifest = parse_published(place.manifest(), place.name.rstrip("/") + f"/{MANIFEST}")
        _check_version(manifest, place)
        contents = Contents(place, manifest)
        with ThreadPoolExecutor(len(_SMALL)) as pool:
            list(pool.map(contents.whole, (contents.files[table_path(name)] for name in _SMALL)))
        connection = open_contents(contents)
    except BaseException:
        place.close()
        raise
    weakref.finalize(connection, place.close)
    return connection


def open_contents(contents: Contents, *, empty: bool = False) -> duckdb.DuckDBPyConnection:
    """Opens a release whose manifest was read.

    Args:
        contents: the release's files.
        empty: whether to leave out all measurements, to see which of them a query asks for.

    Raises:
        DbtoolError: it cannot be read, or is damaged.
    """
    files = ReleaseFiles(contents)
    connection = duckdb.connect(config=SETTINGS | {"temp_directory": ""})
    try:
        connection.register_filesystem(files)
        _make_views(connection, files, contents, empty=empty)
        threads = connection.execute("SELECT current_setting('threads')").fetchall()[0][0]
        connection.execute(f"SET threads = {max(threads, _FEWEST_THREADS)}")
        connection.execute(f"SET allowed_directories = ['{PROTOCOL}://']")
        connection.execute("SET enable_external_access = false")
        connection.execute(LOCK)
    except duckdb.Error as error:
        connection.close()
        raise DbtoolError(first_sentence(error)) from error
    except BaseException:
        connection.close()
        raise
    remember_files(connection, files)
    return connection


def _check_version(manifest: PublishedManifest, place: Place) -> None:
    """Refuses a release of another schema version.

    Raises:
        DbtoolError: it is one.
    """
    if manifest.schema_version != schema_version():
        raise DbtoolError(
            f"{place.name} has schema version {manifest.schema_version} and this dbtool reads "
            f"{schema_version()}: use the dbtool that wrote it ({manifest.dbtool})"
        )


def _make_views(
    connection: duckdb.DuckDBPyConnection,
    files: ReleaseFiles,
    contents: Contents,
    *,
    empty: bool,
) -> None:
    """Makes what is queried: the stored tables, and the views and macros on them."""
    places = {
        table: files.add(table_path(table), contents.files[table_path(table)]) for table in TABLES
    }
    values = {
        "schema_version": str(contents.manifest.schema_version),
        "dbtool": _text(contents.manifest.dbtool),
        **{table: _text(place) for table, place in places.items()},
    }
    script = statement("published_views")
    tables, measurements = script.split("-- Measurements.\n")
    connection.execute(tables.format_map(values))
    for table in _LOADED:
        stored = STORED[table]
        connection.execute(f"CREATE TABLE stored.loaded AS FROM stored.{stored}")
        connection.execute(f"DROP VIEW stored.{stored}")
        connection.execute(f"ALTER TABLE stored.loaded RENAME TO {stored}")
    studies = _studies(connection, files, contents, empty=empty)
    values[MEASUREMENTS] = f"[{', '.join(map(_text, studies))}], hive_partitioning = true, "
    values[MEASUREMENTS] += "hive_types = {'study_id': SMALLINT}"
    connection.execute(measurements.format_map(values))
    for part in VIEWS_AND_MACROS:
        connection.execute((schema_folder() / f"{part}.sql").read_text(encoding="utf-8"))


def _studies(
    connection: duckdb.DuckDBPyConnection,
    files: ReleaseFiles,
    contents: Contents,
    *,
    empty: bool,
) -> Iterable[str]:
    """The measurements of each study as a file, of which DuckDB opens those that a query needs.

    The first one is opened by every query, for its columns; it lies in the smallest file.
    """
    rows = connection.execute(statement("published_study_rows")).fetchall()
    of_workload: dict[str, list[tuple[int, int]]] = {}
    for workload, study_id, measurements in rows:
        of_workload.setdefault(workload, []).append((study_id, measurements))
    listed = sorted(contents.manifest.measurements().values(), key=lambda file: file.bytes)
    for file in listed:
        studies = of_workload.get(file.workload or "", [])
        ends = accumulate(measurements for _, measurements in studies)
        for (study_id, measurements), end in zip(studies, ends, strict=True):
            path = f"study_id={study_id}/{quote(file.path)}"
            begin = end - measurements
            yield files.add(path, file, (begin, begin if empty else end))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
