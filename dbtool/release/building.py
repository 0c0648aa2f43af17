"""Files and folders that appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import filelock

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import make_folder
from dbtool.core.walk import entries

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = ".dbtool-unfinished-"


@contextlib.contextmanager
def building(target: Path) -> Iterator[Path]:
    """Yield a temporary path for a file or folder, which gets its final name after the block.

    The path is in a hidden folder beside the target, because a rename is only atomic within one
    file system. What killed processes left in such folders is removed.

    Args:
        target: the final path; its parent folder is created where it is missing.

    Raises:
        UsageError: the target exists.
        DbtoolError: the target cannot be written.
    """
    target = target.absolute()
    _require_free(target)
    make_folder(target.parent, "name another one with --out")
    try:
        _remove_abandoned(target.parent)
        with (
            tempfile.TemporaryDirectory(
                prefix=_PREFIX, dir=target.parent, ignore_cleanup_errors=True
            ) as scratch,
            _locked(scratch),
        ):
            made = Path(scratch, target.name)
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


def _remove_abandoned(parent: Path) -> None:
    for entry in entries(parent):
        if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
            with contextlib.suppress(OSError), _locked(entry.path, timeout=0):
                shutil.rmtree(entry.path)


def _locked(scratch: str | Path, timeout: float = -1) -> filelock.BaseFileLock:
    """Return the lock of a process on its working folder, which others then do not touch."""
    return filelock.FileLock(Path(scratch, ".lock"), timeout=timeout)
