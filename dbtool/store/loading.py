"""Loading beside a database, so that it can be read meanwhile and changes all at once.

DuckDB lets one process write to a file or many read it. Rows are therefore loaded into a copy,
which takes the database's place once the load ends: whoever has it open goes on reading what it
held, and whoever opens it later reads all that is new. The copy lies in a hidden folder beside the
database, whose lock keeps other loads out. A load that was killed leaves it there, and the next one
goes on with it, unless the database was changed since.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from typing import TYPE_CHECKING

import duckdb

from dbtool.errors import DbtoolError
from dbtool.locks import lock
from dbtool.store.database import LOADING, open_for_reading, open_for_writing, writing_failed
from dbtool.store.statements import interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PROCESS = "process"
_ORIGIN = "copied-from"
_OF_NOTHING = "nothing"
_FICLONE = 0x40049409


@contextlib.contextmanager
def loading(path: Path, command: str = "dbtool ingest") -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to load rows into a database with, which is made where there is none.

    What the block committed is in the database when the block ends, also by an error or Ctrl-C.

    Args:
        path: the database, in a folder that is there.
        command: what goes on where it stopped when it is given again.

    Raises:
        DbtoolError: another process is loading into it, it is no database of this schema version,
            there is no room for a copy of it, or the rows could not be stored.
        KeyboardInterrupt: the person pressed Ctrl-C; the next load goes on.
    """
    path = path.resolve()
    folder = path.with_name(LOADING.format(path.name))
    with interruptible(), _only_load(path, folder):
        copy = folder / path.name
        try:
            connection = _open_copy(path, folder, copy)
        except OSError as error:
            raise writing_failed(path, error, command) from error
        try:
            yield connection
        except BaseException:
            # The error of the block says more; what was committed stays in the copy otherwise.
            with contextlib.suppress(duckdb.Error, OSError):
                _finish(connection, copy, path)
            raise
        try:
            _finish(connection, copy, path)
        except (duckdb.Error, OSError) as error:
            raise writing_failed(path, error, command) from error


@contextlib.contextmanager
def _only_load(path: Path, folder: Path) -> Iterator[None]:
    """Holds the folder, which is made when absent, for this process.

    Raises:
        DbtoolError: another process holds it, or it cannot be made.
    """
    while True:
        try:
            folder.mkdir(exist_ok=True)
            descriptor = lock(folder / _PROCESS, os.O_RDWR | os.O_CREAT)
            break
        except FileNotFoundError:
            # A load that ended removed the folder in between.
            continue
        except BlockingIOError as error:
            raise DbtoolError(
                f"another process{_holder(folder)} is loading into the database {path}: "
                "try again when that has ended"
            ) from error
        except OSError as error:
            raise DbtoolError(
                f"cannot load into the database {path}: {folder}: {error.strerror}; name another "
                "file with --db"
            ) from error
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


def _holder(folder: Path) -> str:
    """Which process it is, as far as it says."""
    process = _text(folder / _PROCESS)
    return f" (PID {process})" if process else ""


def _open_copy(path: Path, folder: Path, copy: Path) -> duckdb.DuckDBPyConnection:
    """A connection to the copy that rows are loaded into.

    Raises:
        DbtoolError: the database cannot be read, or copied.
    """
    origin = folder / _ORIGIN
    if _text(origin) == _identity(path):
        # What an earlier load left; DuckDB takes care of what was cut off.
        with contextlib.suppress(DbtoolError):
            return open_for_writing(copy)
    origin.unlink(missing_ok=True)
    for left in (copy, _log(copy)):
        left.unlink(missing_ok=True)
    if path.exists():
        _write_log_back(path)
        # Says what is wrong with the database, and while it is open nobody writes to it.
        with open_for_reading(path):
            _copy(path, copy)
    origin.write_text(_identity(path))
    return open_for_writing(copy)


def _write_log_back(path: Path) -> None:
    """Puts into a database what a process that was killed while it wrote to it left beside it.

    Raises:
        DbtoolError: another process has the database open.
    """
    if _log(path).exists():
        with open_for_writing(path) as connection:
            connection.execute("CHECKPOINT")


def _copy(path: Path, copy: Path) -> None:
    """Copies a database; where the file system can, without copying its contents.

    Raises:
        DbtoolError: there is no room.
        OSError: it cannot be copied.
    """
    with path.open("rb") as source, copy.open("wb") as target:
        try:
            fcntl.ioctl(target.fileno(), _FICLONE, source.fileno())
        except OSError:
            size, free = path.stat().st_size, shutil.disk_usage(copy.parent).free
            if size > free:
                raise DbtoolError(
                    f"there are {free / 1e9:.1f} GB free beside the database {path}, and loading "
                    f"works on a copy of it ({size / 1e9:.1f} GB): free some space"
                ) from None
            shutil.copyfileobj(source, target, 16 << 20)
    shutil.copymode(path, copy)


def _finish(connection: duckdb.DuckDBPyConnection, copy: Path, path: Path) -> None:
    """Closes the copy and gives it the database's name, once it is on the disk whole.

    Raises:
        duckdb.Error: after a failed write, which leaves a connection beyond use; the next load
            goes on with the copy.
        OSError: the same.
    """
    try:
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
    _write_to_disk(copy, os.O_RDONLY)
    copy.replace(path)
    _write_to_disk(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    shutil.rmtree(copy.parent, ignore_errors=True)


def _write_to_disk(path: Path, flags: int) -> None:
    """Waits until a file or the names in a folder would survive a power failure."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _identity(path: Path) -> str:
    """What changes when a file is written to or replaced."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return _OF_NOTHING
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def _log(path: Path) -> Path:
    """Where DuckDB keeps what it has not written into a database's file yet."""
    return path.with_name(f"{path.name}.wal")
