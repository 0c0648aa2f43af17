"""Opens releases for queries of any origin: they can read these releases and nothing else."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb

from dbtool.core.errors import DbtoolError, first_sentence
from dbtool.core.http import without_secrets
from dbtool.core.release import read_release
from dbtool.store.relations import OpenRelease, make_relations
from dbtool.store.soundness import ShardCheck
from dbtool.store.statements import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dbtool.store.locations import Location
    from dbtool.store.remote import RemoteFiles

    Progress = Callable[[int, int], None]

# Python objects must not pass for tables: a mistyped name would find a variable of ours. A query
# that spilled to disk could be told to write elsewhere.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",
}
FETCH_UP_TO = 100_000_000
"""Bytes of shards that a query may fetch from servers unless more is allowed."""
_FEWEST_THREADS_TO_FETCH = 8
# DuckDB 1 waits instead.
_BUSY = getattr(duckdb, "ResourceInUseException", ())
_SECONDS_BETWEEN_TRIES = 0.001


@dataclass
class Opened:
    """Releases that are open.

    Attributes:
        connection: to the schema's views and macros over them.
        name: what to call them.
        checks: of the shards of those on this machine.
        remote: those on servers; None where there are none.
        fetch_up_to: bytes of shards that a query may fetch from servers.
        closed: whether it was closed.
    """

    connection: duckdb.DuckDBPyConnection
    name: str
    checks: Sequence[ShardCheck] = ()
    remote: RemoteFiles | None = None
    fetch_up_to: int = FETCH_UP_TO
    closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _cursors: weakref.WeakSet[duckdb.DuckDBPyConnection] = field(default_factory=weakref.WeakSet)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor of its own; threads may call this at once, as DuckDB 2 does not allow."""
        with self._lock:
            cursor = self.connection.cursor()
            self._cursors.add(cursor)
            return cursor

    def close(self) -> None:
        """Closes connections to the views and to servers; what other threads ask of them ends."""
        self.closed = True
        with self._lock:
            for cursor in list(self._cursors):
                _close(cursor)
            self.connection.close()
        if self.remote is not None:
            self.remote.close()

    def begin_query(self, on_progress: Progress = lambda _done, _total: None) -> None:
        """Refuses damaged shards, before a query of measurements believes them.

        The query may fetch so many bytes, whatever the one before has fetched.

        Args:
            on_progress: called with bytes done and of all while shards are read.

        Raises:
            DbtoolError: a shard is missing, cut short or altered.
        """
        for check in self.checks:
            check.require_sound(on_progress)
        if self.remote is not None:
            self.remote.allow(self.fetch_up_to)


def _close(cursor: duckdb.DuckDBPyConnection) -> None:
    """Ends what another thread runs on a cursor, before which DuckDB 2 refuses to close it."""
    while True:
        try:
            return cursor.close()
        except _BUSY:
            cursor.interrupt()
            time.sleep(_SECONDS_BETWEEN_TRIES)


def open_location(location: Location, fetch_up_to: int = FETCH_UP_TO) -> Opened:
    """Opens what was named.

    Args:
        location: the releases.
        fetch_up_to: bytes of shards that a query may fetch from servers.

    Raises:
        DbtoolError: a release is damaged, of another format, or there twice.
    """
    releases, checks = [], []
    for folder in location.folders:
        manifest, tables = read_release(folder)
        root = folder.resolve()
        shards = [f"{root}/{file.path}" for file in manifest.shards]
        releases.append(OpenRelease(manifest, tables, shards))
        checks.append(ShardCheck(folder, manifest.shards))
    opened = Opened(
        duckdb.connect(config=_SETTINGS), location.name, checks, fetch_up_to=fetch_up_to
    )
    try:
        if location.urls:
            releases += _add_remote(opened, location.urls)
        _refuse_twice(releases, [*map(str, location.folders), *map(without_secrets, location.urls)])
        with interruptible():
            make_relations(opened.connection, releases)
            _lock(opened.connection, releases)
    except duckdb.Error as error:
        opened.close()
        # The first shard is opened for its columns; where it is damaged, this says so.
        opened.begin_query()
        raise DbtoolError(f"{opened.name} cannot be opened: {first_sentence(error)}") from error
    except BaseException:
        opened.close()
        raise
    return opened


def _add_remote(opened: Opened, urls: Sequence[str]) -> Iterator[OpenRelease]:
    """Adds releases on servers."""
    from dbtool.store.remote import RemoteFiles, release_url

    urls = [release_url(url) for url in urls]
    opened.name = ", ".join(map(without_secrets, urls))
    opened.remote = RemoteFiles()
    opened.connection.register_filesystem(opened.remote)
    # Most of a query's time goes by waiting for a server, which threads do side by side.
    [(threads,)] = opened.connection.execute("SELECT current_setting('threads')").fetchall()
    opened.connection.execute(f"SET threads = {max(threads, _FEWEST_THREADS_TO_FETCH)}")
    for url in urls:
        yield opened.remote.add(url)


def _lock(connection: duckdb.DuckDBPyConnection, releases: Sequence[OpenRelease]) -> None:
    """Leaves a connection no more than reading these releases."""
    # A join with up to so many rows (DuckDB's default is 50) filters the scan by their values.
    connection.execute("SET GLOBAL dynamic_or_filter_threshold = 20000")
    # For the bars of the command line alone: in a notebook DuckDB refuses both without ipywidgets.
    with contextlib.suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar_print = false")
        connection.execute("SET enable_progress_bar = true")
    # Not their folders, into which DuckDB 1 writes logs for whoever asks it to.
    connection.execute(
        "SET allowed_paths = ?", [[path for each in releases for path in each.shards]]
    )
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _refuse_twice(releases: Sequence[OpenRelease], places: Sequence[str]) -> None:
    """Refuses two folders of one release, whose rows could not be told apart.

    Args:
        releases: all that are open.
        places: the folder or the URL of each.

    Raises:
        DbtoolError: there are such.
    """
    first: dict[str, str] = {}
    for each, place in zip(releases, places, strict=True):
        name = each.manifest.release
        if name in first:
            raise DbtoolError(
                f"{first[name]} and {place} both hold a release {name!r}: move one away, or name "
                "the other with --db"
            )
        first[name] = place
