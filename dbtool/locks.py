"""Locks on files and folders: one process at a time, and a kill lets go."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def lock(path: Path, flags: int) -> int:
    """The descriptor of what lies at a path, locked until it is closed or the process ends.

    Args:
        path: a file or a folder; a link is not followed.
        flags: how it is opened, as for `os.open`; with O_CREAT a file is made where none is.

    Raises:
        BlockingIOError: another process holds it.
        OSError: it cannot be opened or, as on a file system without locks, cannot be locked.
    """
    while True:
        descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lies_at(descriptor, path):
                return descriptor
        except OSError:
            os.close(descriptor)
            raise
        # The process that held it before renamed or removed it after it was opened here.
        os.close(descriptor)


def held(path: Path) -> bool:
    """Whether another process holds what lies at a path; nothing there is held by nobody.

    Raises:
        OSError: it cannot be opened, or cannot be locked.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that those who look at once do not take each other for the holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def lies_at(descriptor: int, path: Path) -> bool:
    """Whether what was opened still has that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
