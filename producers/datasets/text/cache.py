"""What is worked out from texts once and kept in the user's cache: indexes and vocabularies."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from producers.datasets.places import default_cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def cache_folder(kind: str) -> Path:
    """The folder that keeps one kind of what is worked out from texts, such as `indexes`."""
    return default_cache() / "text" / kind


def key_of(*parts: object) -> str:
    """A name for what follows from some inputs: a hash of them, in hexadecimal."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


def digest_of(hashes: Iterable[tuple[str, str]]) -> str:
    """One sha256, in hexadecimal, of the names and hashes of some files."""
    lines = "".join(f"{name} {digest}\n" for name, digest in hashes)
    return hashlib.sha256(lines.encode()).hexdigest()


@contextlib.contextmanager
def appearing_whole(target: Path) -> Iterator[Path]:
    """A folder to write to, which then appears under its name whole or not at all.

    Where another process has made the target first, that one's stays: both follow from the same
    inputs.

    Raises:
        DbtoolError: it cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="part-", dir=target.parent) as scratch:
            written = Path(scratch, "written")
            written.mkdir()
            yield written
            _rename_unless_there(written, target)
    except OSError as error:
        raise DbtoolError(
            f"{target.parent} cannot be written to ({error.strerror}); make room or mend its"
            " permissions"
        ) from error


def _rename_unless_there(written: Path, target: Path) -> None:
    """Gives a folder its name, unless there is one of that name, which is never empty."""
    try:
        written.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def forget(folder: Path) -> None:
    """Removes a folder of the cache that turned out damaged."""
    shutil.rmtree(folder, ignore_errors=True)
