"""The marks that a sweep leaves in the release folder that it writes, before there is a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import filelock

if TYPE_CHECKING:
    from pathlib import Path

LOCK = ".lock"
"""The file that a sweep holds while it trains; the names of those of slices begin so."""
WORK = ".work"
"""The hidden folder of a release folder in which a sweep keeps what it goes on with."""


def sweep_in(folder: Path) -> Literal["training", "stopped"] | None:
    """What a sweep does in a folder, or in a folder in it; None where no sweep has begun."""
    found = [*folder.glob(f"{LOCK}*"), *folder.glob(f"*/{LOCK}*")]
    if any(map(_held, found)):
        return "training"
    return "stopped" if found or any([*folder.glob(WORK), *folder.glob(f"*/{WORK}")]) else None


def _held(lock: Path) -> bool:
    try:
        with filelock.FileLock(lock, timeout=0):
            return False
    except (filelock.Timeout, OSError):
        # Where it cannot be opened, it is another person's.
        return True
