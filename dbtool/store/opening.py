"""Opens releases for queries of any origin, which can read these releases and nothing else."""

import contextlib
import functools
import glob
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import msgspec
import pyarrow as pa

from dbtool.core.catalog import figure_curves
from dbtool.core.contract import shard_schema, sql_type
from dbtool.core.errors import DbtoolError, first_sentence
from dbtool.core.http import without_secrets
from dbtool.core.index import STUDIES, TRIALS, WORKLOADS
from dbtool.core.manifest import Manifest
from dbtool.core.release import read_release
from dbtool.core.resources import schema_text
from dbtool.core.walk import is_file
from dbtool.store.locations import Location
from dbtool.store.shard_files import ShardCheck
from dbtool.store.statements import interruptible, sql_text

if TYPE_CHECKING:
    from dbtool.store.remote import RemoteFiles

Progress = Callable[[int, int], None]

# Python objects must not count as tables: a mistyped name would match a variable here. A query
# that spilled to disk could be directed to write elsewhere.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",
}
FETCH_BYTES = 100_000_000
"""Default limit on the bytes of shards that a query fetches from servers."""
_FEWEST_THREADS_TO_FETCH = 8
# DuckDB 1 does not have this error; it waits instead.
_BUSY = getattr(duckdb, "ResourceInUseException", ())
_SECONDS_BETWEEN_TRIES = 0.001
_CURVE_COLUMNS = {
    **dict.fromkeys(
        ("figure", "panel", "series", "workload", "metric", "metaparameter"), "VARCHAR"
    ),
    **dict.fromkeys(("panel_order", "series_order", "batch_size"), "INTEGER"),
    **dict.fromkeys(("asked_trials", "normalise_at", "most_steps"), "BIGINT"),
    **dict.fromkeys(("goal_inclusive", "relative"), "BOOLEAN"),
    **dict.fromkeys(("sparsity", "goal", "budget", "most_examples", "label_smoothing"), "DOUBLE"),
    **dict.fromkeys(("x_from", "x_to", "y_from", "y_to"), "DOUBLE"),
}


@dataclass(frozen=True)
class OpenRelease:
    """An open release: its index by file name, and the paths by which DuckDB opens its shards."""

    manifest: Manifest
    index: Mapping[str, pa.Table]
    shards: Sequence[str]


@dataclass
class Opened:
    """Open releases: a connection to the views and macros over them, and a name for messages.

    The checks are of the shards on this machine; `remote` has those on servers.
    """

    connection: duckdb.DuckDBPyConnection
    name: str
    checks: Sequence[ShardCheck] = ()
    remote: "RemoteFiles | None" = None
    closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _cursors: weakref.WeakSet[duckdb.DuckDBPyConnection] = field(default_factory=weakref.WeakSet)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a new cursor; threads may call this in parallel, unlike DuckDB 2's own method."""
        with self._lock:
            cursor = self.connection.cursor()
            self._cursors.add(cursor)
            return cursor

    def close(self) -> None:
        """Close the connections to the views and to servers; queries of other threads end."""
        self.closed = True
        with self._lock:
            for cursor in list(self._cursors):
                _close(cursor)
            self.connection.close()
        if self.remote is not None:
            self.remote.close()

    def check_shards(self, on_progress: Progress = lambda _done, _total: None) -> None:
        """Raise a DbtoolError where a shard of this machine is missing, cut short or altered."""
        for check in self.checks:
            check.require_sound(on_progress)

    @contextlib.contextmanager
    def query(self, on_progress: Progress) -> Iterator[None]:
        """Check the shards, and let the query of the block fetch others from servers."""
        self.check_shards(on_progress)
        with contextlib.nullcontext() if self.remote is None else self.remote.query():
            yield


def _close(cursor: duckdb.DuckDBPyConnection) -> None:
    """Interrupt what another thread runs on a cursor, since DuckDB 2 refuses to close it before."""
    while True:
        try:
            return cursor.close()
        except _BUSY:
            cursor.interrupt()
            time.sleep(_SECONDS_BETWEEN_TRIES)


def open_location(location: Location, fetch_up_to: int = FETCH_BYTES) -> Opened:
    """Open the releases at a location; a query may fetch so many bytes of shards from servers.

    A release that is damaged, of another format, or there twice is a DbtoolError.
    """
    releases, checks = [], []
    for folder in location.folders:
        manifest, tables = read_release(folder)
        root = folder.resolve()
        shards = [f"{root}/{file.path}" for file in manifest.shards]
        releases.append(OpenRelease(manifest, tables, shards))
        checks.append(ShardCheck(folder, manifest.shards))
    opened = Opened(duckdb.connect(config=_SETTINGS), location.name, checks)
    try:
        # DuckDB opens the first shard of each release for its columns, and would wait for a pipe.
        if not all(is_file(each.shards[0]) for each in releases if each.shards):
            opened.check_shards()
        _refuse_twice(releases, location.folders)
        if location.url is not None:
            releases.append(_remote_release(opened, location.url, fetch_up_to))
        with interruptible():
            make_relations(opened.connection, releases)
            _lock(opened.connection, releases)
    except duckdb.Error as error:
        opened.close()
        # Opening the views reads the columns of the first shard; this reports damage to it.
        opened.check_shards()
        raise DbtoolError(f"{opened.name} cannot be opened: {first_sentence(error)}") from error
    except BaseException:
        opened.close()
        raise
    return opened


def _remote_release(opened: Opened, url: str, fetch_up_to: int) -> OpenRelease:
    """Return a release on a server, with whose files DuckDB can read it."""
    from dbtool.store.remote import RemoteFiles, release_url

    url = release_url(url)
    opened.name = without_secrets(url)
    opened.remote = RemoteFiles(url, fetch_up_to)
    opened.connection.register_filesystem(opened.remote)
    # A query mostly waits for the server, and threads wait in parallel.
    [(threads,)] = opened.connection.execute("SELECT current_setting('threads')").fetchall()
    opened.connection.execute(f"SET threads = {max(threads, _FEWEST_THREADS_TO_FETCH)}")
    return opened.remote.release()


def _lock(connection: duckdb.DuckDBPyConnection, releases: Sequence[OpenRelease]) -> None:
    """Restrict a connection to reading these releases."""
    # A join with at most this many rows (DuckDB's default is 50) filters the scan by their values.
    connection.execute("SET GLOBAL dynamic_or_filter_threshold = 20000")
    # Only the command line's progress bars need these; without ipywidgets a notebook rejects both.
    with contextlib.suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar_print = false")
        connection.execute("SET enable_progress_bar = true")
    # The files and not their folders, since a query can make DuckDB 1 write logs into a folder.
    # DuckDB asks for each as it is, and as the view names it with stars and brackets escaped.
    shards = {path for each in releases for path in each.shards}
    connection.execute("SET allowed_paths = ?", [sorted(shards | set(map(glob.escape, shards)))])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _refuse_twice(releases: Sequence[OpenRelease], folders: Sequence[Path]) -> None:
    """Raise an error for two folders of one release, whose rows would be indistinguishable."""
    first: dict[str, Path] = {}
    for each, folder in zip(releases, folders, strict=True):
        name = each.manifest.release
        if name in first:
            raise DbtoolError(
                f"{first[name]} and {folder} both hold a release {name!r}: move one away, or name "
                "the other with --db"
            )
        first[name] = folder


def make_relations(connection: duckdb.DuckDBPyConnection, releases: Sequence[OpenRelease]) -> None:
    """Create the relations, views and macros of releases in an empty database.

    The index is copied, so that a writer that adds to a release does not change it here.
    """
    connection.execute("CREATE SCHEMA stored")
    connection.execute(
        "CREATE TABLE stored.releases "
        "(position INTEGER, release VARCHAR, title VARCHAR, licence VARCHAR, citation VARCHAR)"
    )
    for position, each in enumerate(releases):
        about = each.manifest
        row = (position, about.release, about.title, about.licence, about.citation)
        connection.execute("INSERT INTO stored.releases VALUES (?, ?, ?, ?, ?)", row)
    for name in (WORKLOADS, STUDIES, TRIALS):
        _make_index(connection, name, releases)
    # Views and macros look at what they read, which takes longer where that is a list of files.
    connection.execute(f"CREATE VIEW stored.measurements AS {_measurements([])}")
    for statements in schema_statements():
        connection.execute(statements)
    connection.execute(f"CREATE OR REPLACE VIEW stored.measurements AS {_measurements(releases)}")


def schema_statements() -> Iterator[str]:
    """Yield the statements that create the views and macros over the relations in `stored`."""
    yield _curves_view()
    yield from map(schema_text, ("functions", "views", "macros", "figures", "bands", "comments"))


@functools.cache
def _curves_view() -> str:
    """Return the statement that creates stored.figure_curves, which needs no file."""
    curves, columns = (
        msgspec.json.encode(each).decode() for each in (figure_curves(), [_CURVE_COLUMNS])
    )
    return (
        "CREATE VIEW stored.figure_curves AS "
        f"SELECT unnest(from_json({sql_text(curves)}, {sql_text(columns)}), recursive := true);"
    )


def _make_index(
    connection: duckdb.DuckDBPyConnection, name: str, releases: Sequence[OpenRelease]
) -> None:
    """Create the relation of one of the index's tables."""
    parts = []
    for position, each in enumerate(releases):
        connection.register(f"incoming_{position}", each.index[name])
        release = sql_text(each.manifest.release)
        parts.append(f"SELECT {release} AS release, * FROM incoming_{position}")  # noqa: S608 (quoted)
    connection.execute(f"CREATE TEMP VIEW incoming AS {' UNION ALL '.join(parts)}")
    connection.execute(schema_text(f"index/{name.removesuffix('.parquet')}"))
    connection.execute("DROP VIEW incoming")
    for position in range(len(releases)):
        connection.unregister(f"incoming_{position}")


def _measurements(releases: Sequence[OpenRelease]) -> str:
    """Return the query of stored.measurements: each release's shards, pruned by folder."""
    parts = [
        f"SELECT {sql_text(each.manifest.release)} AS release, * "  # noqa: S608 (quoted)
        f"FROM read_parquet([{', '.join(sql_text(glob.escape(path)) for path in each.shards)}], "
        "hive_partitioning = true, "
        "hive_types = {'workload': VARCHAR, 'batch_size': INTEGER})"
        for each in releases
        if each.shards
    ]
    if parts:
        return " UNION ALL BY NAME ".join(parts)
    columns = [f"NULL::{sql_type(field.type)} AS {field.name}" for field in shard_schema()]
    return f"SELECT NULL::VARCHAR AS release, {', '.join(columns)} WHERE false"
