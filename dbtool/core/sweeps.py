"""The marks of a sweep in the release folder that it writes, before there is a release."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import filelock

from dbtool.core.walk import entries

LOCK = ".lock"
"""The lock file of a sweep in training; the lock files of slices have this prefix."""
WORK = ".work"
"""The hidden folder of a release folder from which a sweep resumes."""


def sweep_in(folder: Path) -> Literal["training", "stopped"] | None:
    """Return the state of a sweep in a folder or its subfolders; None where no sweep has begun."""
    marks = [
        mark for each in (folder, *map(Path, entries(folder))) for mark in map(Path, entries(each))
    ]
    locks = [mark for mark in marks if mark.name.startswith(LOCK)]
    if any(map(_held, locks)):
        return "training"
    return "stopped" if locks or any(mark.name == WORK for mark in marks) else None


def _held(lock: Path) -> bool:
    try:
        with filelock.FileLock(lock, timeout=0):
            return False
    except (filelock.Timeout, OSError):
        # A lock that cannot be opened belongs to another user.
        return True
