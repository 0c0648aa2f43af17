"""Makes the folders that files go into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from pathlib import Path


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
