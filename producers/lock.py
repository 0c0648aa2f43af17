"""Keeps two sweeps from writing into one folder."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from dbtool.locks import lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_NAME = ".lock"


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Holds the folder, which is made when absent, for one process.

    The lock ends with the process, however that ends; its file is removed where it ends in order.

    Raises:
        DbtoolError: when another process holds the folder, or it cannot be written.
    """
    path = folder / LOCK_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = lock(path, os.O_WRONLY | os.O_CREAT)
    except BlockingIOError as error:
        raise DbtoolError(
            f"another sweep writes into {folder}; wait for it or choose another folder with --out"
        ) from error
    except OSError as error:
        raise DbtoolError(
            f"cannot write into {folder}: {error.strerror}; choose another folder with --out"
        ) from error
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, descriptor)
        # Removed while it is held, so that nobody else's lock is.
        stack.callback(path.unlink, missing_ok=True)
        yield
