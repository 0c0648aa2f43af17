"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from dbtool.core.errors import DbtoolError
from dbtool.core.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

TEMPORARY_PREFIX = ".writing-"
"""What the names of unfinished files begin with."""


def make_folder(folder: Path, instead: str) -> None:
    """Makes a folder and those above it, where they are not there.

    Args:
        folder: the folder.
        instead: what to do when that fails, such as "name another one with --out".

    Raises:
        DbtoolError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
        raise DbtoolError(f"cannot make the folder {folder}: {reason}; {instead}") from error


def open_file(path: str | Path, *, follow_links: bool = True) -> BufferedReader:
    """A file to read; a pipe or a device is refused and not waited for.

    Raises:
        OSError: it cannot be read, or is not a file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return os.fdopen(handle, "rb")


def sha256_of(path: Path) -> str:
    """The sha256 of a whole file, in hexadecimal.

    Raises:
        OSError: it is not a file, or cannot be read.
    """
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def unfinished(folder: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file of a temporary name, which is gone after the block unless `finish` named it.

    Args:
        folder: where it shall lie; made where it is not there.

    Raises:
        OSError: it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    with _open_locked(path) as file:
        try:
            yield file, path
        finally:
            path.unlink(missing_ok=True)


def finish(file: BinaryIO, temporary: Path, path: Path) -> None:
    """Gives an unfinished file its name once it lies on the disk whole.

    Raises:
        OSError: it cannot be written.
    """
    file.flush()
    os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file, or replaces it, in one step.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    with unfinished(path.parent) as (file, temporary):
        file.write(content)
        finish(file, temporary, path)


def sync_folder(folder: Path) -> None:
    """Waits until the names in a folder would survive a power failure.

    Raises:
        OSError: that failed.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_unfinished(folder: Path) -> None:
    """Removes what killed processes left unfinished in a folder and those below it.

    Raises:
        AccessError: a folder cannot be read.
    """
    for entry in walk(folder):
        if entry.name.startswith(TEMPORARY_PREFIX) and entry.is_file(follow_symlinks=False):
            path = Path(entry.path)
            with contextlib.suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def _open_locked(path: Path) -> BinaryIO:
    """A new file that `remove_unfinished` leaves alone while it is open."""
    while True:
        file = path.open("xb")
        fcntl.flock(file, fcntl.LOCK_EX)
        # It may have been taken for abandoned before it was locked.
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()
