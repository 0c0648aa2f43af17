"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import make_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = ".dbtool-unfinished-"


@contextlib.contextmanager
def building(target: Path) -> Iterator[Path]:
    """A path at which the block makes a file or folder; at its end that takes its name.

    It lies in a hidden folder beside the target, because only a rename within one file system is
    atomic. What killed processes left in such folders is removed.

    Args:
        target: what shall be made, in a folder that is made where it is not there.

    Raises:
        UsageError: something is there already.
        DbtoolError: it cannot be written.
    """
    target = target.absolute()
    _require_free(target)
    make_folder(target.parent, "name another one with --out")
    try:
        _remove_abandoned(target.parent)
        with _scratch(target.parent) as scratch:
            made = scratch / target.name
            yield made
            _require_free(target)
            made.rename(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DbtoolError(
            f"could not write {target}: {reason}; free some space or name another one with --out, "
            "then run the same command again"
        ) from error


def _require_free(target: Path) -> None:
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already: name another one with --out or remove it")


@contextlib.contextmanager
def _scratch(parent: Path) -> Iterator[Path]:
    """A new folder, which is gone after the block and which `_remove_abandoned` leaves alone."""
    with tempfile.TemporaryDirectory(
        prefix=_PREFIX, dir=parent, ignore_cleanup_errors=True
    ) as scratch:
        handle = os.open(scratch, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(scratch)
        finally:
            os.close(handle)


def _remove_abandoned(parent: Path) -> None:
    for left in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left)
            finally:
                os.close(handle)
