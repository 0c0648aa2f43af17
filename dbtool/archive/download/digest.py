"""The hash of a file, and a note beside it that saves hashing it again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_BLOCK_BYTES = 1 << 20


def sha256_of(path: Path, on_progress: Callable[[int, int], None]) -> str:
    """The sha256 of a file, as 64 hex digits.

    Args:
        path: the file.
        on_progress: called with the bytes read and the file's bytes.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK_BYTES))
    with path.open("rb", buffering=0) as file:
        total = os.fstat(file.fileno()).st_size
        done = 0
        on_progress(done, total)
        while count := file.readinto(block):
            digest.update(block[:count])
            done += count
            on_progress(done, total)
    return digest.hexdigest()


def remembered_sha256(path: Path) -> str | None:
    """The hash noted beside a file that has not changed since; None where nothing tells it."""
    try:
        note = json.loads(_note(path).read_bytes())
        return note["sha256"] if note == _facts(path, note["sha256"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember_sha256(path: Path, sha256: str) -> None:
    """Notes the hash of a file beside it; where that cannot be written, it is hashed again."""
    with contextlib.suppress(OSError):
        write_whole(_note(path), json.dumps(_facts(path, sha256)).encode())


def write_whole(path: Path, contents: bytes) -> None:
    """Writes a small file so that, whatever happens, it is there whole or as it was.

    Raises:
        OSError: it cannot be written.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_bytes(contents)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.sha256.json")


def _facts(path: Path, sha256: str) -> dict[str, str | int]:
    """What is noted: a file that was written again has another time, mostly another size."""
    status = path.stat()
    return {"sha256": sha256, "bytes": status.st_size, "modified_ns": status.st_mtime_ns}
