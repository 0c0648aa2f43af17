"""Makes the folders that files go into."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from dbtool.locks import lock

if TYPE_CHECKING:
    from collections.abc import Iterator


def make_parent(path: Path, mend: str, *, of: str | None = None) -> None:
    """Makes the folder of a file, and those above it, where they are not there.

    Args:
        path: the file, which need not exist.
        mend: what to do when that fails, such as "name another file with --db".
        of: whose folder it is, such as "the database".

    Raises:
        DbtoolError: it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        whose = f" of {of}" if of else ""
        raise DbtoolError(
            f"cannot make the folder {path.parent}{whose}: {error.strerror}; {mend}"
        ) from error


@contextlib.contextmanager
def folder_to_build_in(parent: Path, prefix: str) -> Iterator[Path]:
    """A folder while the block runs; those of its name that killed processes left are removed.

    Its process holds a lock on it, which ends with the process, however that ends.

    Args:
        parent: where the folder lies.
        prefix: what its name begins with, and the name of nothing else there.

    Raises:
        OSError: `parent` cannot be written.
    """
    for left in parent.glob(f"{glob.escape(prefix)}*"):
        with contextlib.suppress(OSError), _locked(left):
            shutil.rmtree(left, ignore_errors=True)
    with contextlib.ExitStack() as stack:
        made = False
        while not made:
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            try:
                stack.enter_context(_locked(folder))
                made = True
            except OSError as error:
                # Another process may have taken it for abandoned before it was locked; where the
                # file system has no locks, nobody takes it.
                made = not isinstance(error, BlockingIOError | FileNotFoundError)
        yield folder


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Locks a folder while the block runs.

    Raises:
        OSError: as `lock`.
    """
    descriptor = lock(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield
    finally:
        os.close(descriptor)
