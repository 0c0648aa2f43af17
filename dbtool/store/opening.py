"""Opens releases for queries of any origin, which can read these releases and nothing else."""

import contextlib
import glob
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from dbtool.core.errors import DbtoolError, first_sentence
from dbtool.core.http import without_secrets
from dbtool.core.release import read_release
from dbtool.core.walk import is_file
from dbtool.store.locations import Location
from dbtool.store.relations import OpenRelease, make_relations
from dbtool.store.shard_files import ShardCheck
from dbtool.store.statements import interruptible

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
# DuckDB 1 does not have this error; it waits until the query ends.
_BUSY = getattr(duckdb, "ResourceInUseException", ())
_SECONDS_BETWEEN_TRIES = 0.001


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
    """Close a cursor, and end what another thread asks on it; DuckDB 2 refuses to until then."""
    # What is closed already cannot be interrupted.
    with contextlib.suppress(duckdb.ConnectionException):
        while True:
            cursor.interrupt()
            try:
                return cursor.close()
            except _BUSY:
                time.sleep(_SECONDS_BETWEEN_TRIES)
    return None


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
