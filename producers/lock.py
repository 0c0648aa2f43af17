"""Keeps two sweeps from writing into one folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import IO, TYPE_CHECKING

from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_NAME = ".lock"


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Holds the folder, which is made when absent, for one process.

    The lock ends with the process, however that ends; its file is removed where it ends in order.

    Raises:
        DbtoolError: when another process holds the folder, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _locked(folder / LOCK_NAME)
    except BlockingIOError as error:
        raise DbtoolError(
            f"another sweep writes into {folder}; wait for it or choose another folder with --out"
        ) from error
    except OSError as error:
        raise DbtoolError(
            f"cannot write into {folder}: {error.strerror}; choose another folder with --out"
        ) from error
    with lock:
        try:
            yield
        finally:
            # Removed while it is held, so that nobody else's lock is.
            (folder / LOCK_NAME).unlink(missing_ok=True)


def _locked(path: Path) -> IO[str]:
    """The open and locked file that lies there.

    Raises:
        BlockingIOError: another process holds it.
    """
    while True:
        lock = path.open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise
        if _lies_at(lock, path):
            return lock
        lock.close()


def _lies_at(lock: IO[str], path: Path) -> bool:
    """Whether the file was not removed, by the sweep that held it, after it was opened here."""
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False
