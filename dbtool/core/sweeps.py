"""The marks that a sweep leaves in the release folder that it writes, before there is a release."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import filelock

from dbtool.core.walk import entries

LOCK = ".lock"
"""The file that a sweep holds while it trains; the names of those of slices begin so."""
WORK = ".work"
"""The hidden folder of a release folder in which a sweep keeps what it goes on with."""


def sweep_in(folder: Path) -> Literal["training", "stopped"] | None:
    """What a sweep does in a folder, or in a folder in it; None where no sweep has begun."""
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
        # Where it cannot be opened, it is another person's.
        return True
