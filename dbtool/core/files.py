"""Files that appear complete or not at all."""

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
"""The prefix of the names of unfinished files."""


def make_folder(folder: Path, instead: str) -> None:
    """Create a folder and its parents where they are missing.

    Args:
        folder: the folder.
        instead: remedy on failure, such as "name another one with --out".

    Raises:
        DbtoolError: the folder cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
        raise DbtoolError(f"cannot make the folder {folder}: {reason}; {instead}") from error


def open_file(path: str | Path, *, follow_links: bool = True) -> BufferedReader:
    """Open a file to read; raise an error for a pipe or a device instead of waiting for it.

    Raises:
        OSError: the path cannot be read, or is not a file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return os.fdopen(handle, "rb")


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal.

    Raises:
        OSError: the path is not a file, or cannot be read.
    """
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def unfinished(folder: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Yield a new file and its temporary path; remove it afterwards unless `finish` renamed it.

    Args:
        folder: folder of the file; created where it is missing.

    Raises:
        OSError: the file cannot be created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    with _open_locked(path) as file:
        try:
            yield file, path
        finally:
            path.unlink(missing_ok=True)


def finish(file: BinaryIO, temporary: Path, path: Path) -> None:
    """Rename an unfinished file once all its bytes are on the disk.

    Raises:
        OSError: the file cannot be written.
    """
    file.flush()
    os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write or replace a file in one step.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
    """
    with unfinished(path.parent) as (file, temporary):
        file.write(content)
        finish(file, temporary, path)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder would survive a power failure.

    Raises:
        OSError: the folder cannot be synchronised.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files of killed processes from a folder and its subfolders.

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
    """Open a new file that `remove_unfinished` does not remove while it is open."""
    while True:
        file = path.open("xb")
        fcntl.flock(file, fcntl.LOCK_EX)
        # Another process may have removed it as abandoned before it was locked.
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()
