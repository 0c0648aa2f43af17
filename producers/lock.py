"""Keeps sweeps from writing into one folder, but for slices of the same sweep.

A whole sweep holds the folder's lock; a slice holds one of its own, which names the slice and how
the sweep is cut. Each takes its lock first and then looks for those of others, so that of two that
start at once at most one goes on.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from dbtool.locks import held, lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from producers.sweep.slices import Slice

LOCK_NAME = ".lock"


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Holds the folder, which is made when absent, for one process.

    The lock ends with the process, however that ends; its file is removed where it ends in order.

    Raises:
        DbtoolError: when another process holds the folder or a slice of it, or it cannot be
            written.
    """
    with _held(folder, LOCK_NAME, "another sweep"):
        for path in folder.glob(f"{LOCK_NAME}-*"):
            with _held(folder, path.name, "a slice of a sweep"):
                pass
        yield


@contextlib.contextmanager
def only_slice(folder: Path, part: Slice, partition: str) -> Iterator[None]:
    """Holds a slice of the folder for one process, while others may hold its other slices.

    Args:
        folder: made when absent.
        part: the slice.
        partition: letters that tell sweeps that are cut differently apart.

    Raises:
        DbtoolError: when another process holds the folder, the slice, or a slice of a sweep that
            is cut differently, or the folder cannot be written.
    """
    cut = f"of-{part.count}-{partition}"
    with _held(folder, f"{LOCK_NAME}-{part.number}-{cut}", f"another process of slice {part}"):
        if held(folder / LOCK_NAME):
            raise _refused(folder, "another sweep")
        for path in folder.glob(f"{LOCK_NAME}-*"):
            if not path.name.endswith(cut) and held(path):
                raise _refused(folder, "a slice of another sweep, or of one cut differently,")
        yield


@contextlib.contextmanager
def _held(folder: Path, name: str, holder: str) -> Iterator[None]:
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = lock(path, os.O_WRONLY | os.O_CREAT)
    except BlockingIOError as error:
        raise _refused(folder, holder) from error
    except OSError as error:
        raise DbtoolError(
            f"cannot write into {folder}: {error.strerror}; choose another folder with --out"
        ) from error
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, descriptor)
        # Removed while it is held, so that nobody else's lock is.
        stack.callback(path.unlink, missing_ok=True)
        yield


def _refused(folder: Path, holder: str) -> DbtoolError:
    return DbtoolError(
        f"{holder} writes into {folder}; wait for it or choose another folder with --out"
    )
