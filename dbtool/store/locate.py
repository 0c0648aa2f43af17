"""Which database a command opens: the one named, the user's own, or the bundled release."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import platformdirs

from dbtool.errors import DbtoolError, UsageError
from dbtool.folders import folder_to_build_in, make_parent
from dbtool.resources import bundled_release, schema_folder
from dbtool.store.database import open_for_writing, publish, writing_failed
from dbtool.store.remote.places import FolderPlace, address_in, folder_address

if TYPE_CHECKING:
    from dbtool.store.ingest import Progress
    from dbtool.store.remote.places import Place

_UNFINISHED = ".bundled-"


def database_to_read(option: Path | None, on_progress: Progress | None = None) -> Path:
    """The database that a query runs on.

    Args:
        option: the value of --db; before DBTOOL_DB, the user's own database and, where that is
            not there, the bundled release, which is loaded once into the user's cache.
        on_progress: as for `ingest`; called while the bundled release is loaded.

    Raises:
        UsageError: the database named does not exist.
        DbtoolError: there is none, and the bundled release cannot be loaded.
    """
    chosen = chosen_database(option)
    return chosen or bundled_database(bundled_release(), on_progress)


def named_place(option: Path | None) -> Place | None:
    """Where the published release is that was named; None where a database is read.

    Args:
        option: the value of --db, before DBTOOL_DB: the URL of a release's folder, in which
            pathlib leaves one slash of two, or a folder of this machine.

    Raises:
        UsageError: the URL is malformed.
        DbtoolError: the environment names a proxy that cannot be used.
    """
    named = _named(option)
    if named is None:
        return None
    address = address_in(named[0])
    if address is not None:
        from dbtool.store.remote.web import WebPlace

        return WebPlace(folder_address(address))
    return FolderPlace(named[0]) if named[0].is_dir() else None


def chosen_database(option: Path | None) -> Path | None:
    """The database that was named, or the user's own; None where the bundled release is read.

    Args:
        option: the value of --db.

    Raises:
        UsageError: the database named does not exist.
    """
    named = _named(option)
    if named is not None:
        path, origin = named
        if not path.exists():
            raise UsageError(
                f"the database {path} that {origin} names does not exist: "
                f"make it with `dbtool ingest --db {path} PATH`"
            )
        return path
    own = _own_database()
    return own if own.exists() else None


def database_to_write(option: Path | None) -> Path:
    """The database that rows are loaded into, whose folder is made where it is not there.

    Args:
        option: the value of --db; before DBTOOL_DB and the user's own database.

    Raises:
        UsageError: a folder was named.
        DbtoolError: the folder cannot be made.
    """
    named = _named(option)
    path = named[0] if named else _own_database()
    if address := address_in(path):
        raise UsageError(f"{address} can only be read: name a database's file to load into")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name the database's file, such as {path / 'my.db'}")
    make_parent(path, "name another file with --db", of="the database")
    return path


def bundled_database(release: Path, on_progress: Progress | None = None) -> Path:
    """The database of a release folder, loaded once into the user's cache.

    Where the cache cannot be written it is loaded into a temporary folder, which is removed when
    the process ends. Processes that load it at once each make their own file; the first one stays.

    Args:
        release: a folder of shards with a manifest.json, or a published one.
        on_progress: as for `ingest`.

    Raises:
        DbtoolError: the folder is no release, or its shards cannot be loaded.
    """
    manifest = release / "manifest.json"
    if not manifest.is_file():
        raise DbtoolError(
            f"there is no database at {_own_database()} and no release in {release}: "
            "load shards with `dbtool ingest PATH` or name a database with --db"
        )
    name = f"bundled-{_digest(manifest)}.duckdb"
    with contextlib.ExitStack() as stack:
        try:
            cache = platformdirs.user_cache_path("dbtool", ensure_exists=True)
            path = cache / name
            if path.is_file():
                return path
            folder = stack.enter_context(folder_to_build_in(cache, _UNFINISHED))
        except OSError:
            elsewhere = tempfile.mkdtemp(prefix="dbtool-")
            atexit.register(shutil.rmtree, elsewhere, ignore_errors=True)
            return _load(release, Path(elsewhere) / name, on_progress)
        try:
            publish(_load(release, folder / name, on_progress), path)
        except OSError as error:
            raise writing_failed(path, error) from error
    return path


def _named(option: Path | None) -> tuple[Path, str] | None:
    """The database that was named, and by what."""
    if option is not None:
        return option, "--db"
    variable = os.environ.get("DBTOOL_DB")
    return (Path(variable).expanduser(), "DBTOOL_DB") if variable else None


def _own_database() -> Path:
    """Where the user's own database lies, or would."""
    return platformdirs.user_data_path("dbtool") / "dbtool.duckdb"


def _digest(manifest: Path) -> str:
    """16 hex digits that change with the release and with the data model."""
    digest = hashlib.sha256(manifest.read_bytes())
    for part in sorted(schema_folder().glob("*.sql")):
        digest.update(part.read_bytes())
    return digest.hexdigest()[:16]


def _load(release: Path, path: Path, on_progress: Progress | None) -> Path:
    """Loads a release into a new database and returns its path.

    Raises:
        DbtoolError: a part of it is refused, or the database cannot be written.
    """
    # Brings pyarrow, which a command that only reads can do without.
    from dbtool.store.load import load

    with open_for_writing(path) as connection:
        report = load(connection, [release], on_progress)
        try:
            connection.execute("CHECKPOINT")
        except duckdb.Error as error:
            raise writing_failed(path, error) from error
    for what, reason in report.refused:
        raise DbtoolError(
            f"the bundled release is damaged: {what} is refused: {reason}; install dbtool anew"
        )
    return path
