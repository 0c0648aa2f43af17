"""The lock of a folder that a sweep writes into, or a slice of one.

A whole sweep holds the folder's lock; a slice holds one of its own, which names the slice and how
the sweep is cut. Each takes its lock first and then looks for those of others, so that of two that
start at once at most one goes on.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import filelock

from dbtool.core.errors import DbtoolError
from dbtool.core.files import made_folder, reason_of
from dbtool.core.manifest import SWEEP_LOCK
from dbtool.core.walk import files_matching
from producers.configuration import Slice

# Others hold a lock for a moment to see whether anybody does.
_PATIENCE = 1.0


@contextlib.contextmanager
def only_writer(folder: Path, part: Slice | None = None, partition: str = "") -> Iterator[None]:
    """Lock a folder, or a slice of it beside others of the same sweep, for one process.

    The folder is made if it is absent; sweeps that are cut differently have other partitions.

    Raises:
        DbtoolError: another process holds what this would write, or the folder cannot be written.
    """
    whole = folder / SWEEP_LOCK
    if part is None:
        own, holder, cut = whole, "another sweep", None
        others = "a slice of a sweep"
    else:
        cut = f"of-{part.count}-{partition}"
        own, holder = (
            folder / f"{SWEEP_LOCK}-{part.number}-{cut}",
            f"another process of slice {part}",
        )
        others = "a slice of another sweep, or of one cut differently,"
    with made_folder(folder, "choose another folder with --out"), _held(own, holder):
        for path in set(files_matching(folder, f"{SWEEP_LOCK}*")) - {own}:
            if cut is None or not path.name.endswith(cut):
                with _held(path, "another sweep" if path == whole else others):
                    pass
        yield


@contextlib.contextmanager
def _held(path: Path, holder: str) -> Iterator[None]:
    """Hold a lock, and remove its file afterwards."""
    lock = filelock.FileLock(path, timeout=_PATIENCE)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        raise DbtoolError(
            f"{holder} writes into {path.parent}; wait for it or choose another folder with --out"
        ) from error
    except OSError as error:
        raise DbtoolError(
            f"cannot write into {path.parent}: {reason_of(error, path.parent)}; choose another "
            "folder with --out"
        ) from error
    try:
        yield
    finally:
        # While it is held, so that nobody else's lock is removed.
        path.unlink(missing_ok=True)
        lock.release()
