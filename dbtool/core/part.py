"""The bytes of an unfinished download, kept for the next try and the next process."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from typing import TYPE_CHECKING, Annotated, Self

import msgspec
from msgspec import Meta

from dbtool.core.files import move
from dbtool.core.http import PermanentError, RemoteFile, Reply, TemporaryError, without_secrets

if TYPE_CHECKING:
    from pathlib import Path


class _State(msgspec.Struct, frozen=True):
    """The origin of the bytes of a part."""

    digest: str | None
    url: str
    # Printable characters alone, as a header requires.
    validator: Annotated[str, Meta(pattern=r"\A[ -~]*\Z")] | None
    total: Annotated[int, Meta(ge=0)] | None


class Part:
    """The first bytes of a file, without a gap, as an unfinished download leaves them.

    The bytes are in NAME.part beside the file. NAME.part.json records their origin, so that another
    process can resume. A kill at any moment leaves them sound: bytes are only appended, and their
    origin is recorded first.

    Attributes:
        file: the file that is downloaded.
        path: path of the bytes.
        size: number of bytes.
        is_pieced: whether the bytes came in more than one reply.
        url, validator, total: of the server's file; None where they are not known.
    """

    def __init__(self, target: Path, file: RemoteFile) -> None:
        """Open the bytes of earlier tries to download a file to a path.

        Raises:
            OSError: the bytes cannot be written.
        """
        self.file = file
        self.path = part_path(target)
        self._target = target
        self._note = _note_path(target)
        # These flags leave a pipe or a link of that name untouched.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        self._handle = os.open(self.path, flags, 0o666)
        self.size = os.fstat(self._handle).st_size
        self.is_pieced = self.size > 0
        self.url: str | None = None
        self.validator: str | None = None
        self.total: int | None = None
        with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
            state = msgspec.json.decode(self._note.read_bytes(), type=_State)
            if state.digest != file.digest:
                self.clear()
            elif self.size:
                self.url, self.validator, self.total = state.url, state.validator, state.total

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)
        if not self.size:
            remove_part(self._target)

    def clear(self) -> None:
        """Delete all bytes."""
        os.ftruncate(self._handle, 0)
        self._note.unlink(missing_ok=True)
        self.size, self.is_pieced = 0, False
        self.url = self.validator = self.total = None

    def accept(self, reply: Reply, url: str, validator: str | None) -> int:
        """Prepare for a reply; return how many of its bytes are present already.

        Args:
            reply: reply that begins at the end of the present bytes, or at 0.
            url: origin of the reply.
            validator: validator of the present bytes; None where it is not known.
        """
        file, total = self.file, reply.total
        if total is not None and not file.least_bytes <= total <= file.most_bytes:
            about = f"{file.least_bytes:,} to " if file.least_bytes < file.most_bytes else ""
            raise PermanentError(f"it has {total:,} bytes in place of {about}{file.most_bytes:,}")
        missing = (total or file.least_bytes) - self.size
        free = shutil.disk_usage(self.path.parent).free
        if missing > free:
            reason = f"{megabytes(missing)} are missing and {megabytes(free)} are free"
            raise OSError(errno.ENOSPC, reason)
        known = {(validator, reply.validator), (self.total, total)}
        changed = any(None not in pair and len(set(pair)) > 1 for pair in known)
        if changed or (reply.start < self.size and None in {validator, reply.validator}):
            self.clear()
            if reply.start:
                raise TemporaryError("the file has changed")
        self.is_pieced |= self.size > 0
        self.url, self.validator, self.total = without_secrets(url), reply.validator, total
        state = _State(file.digest, self.url, self.validator, total)
        self._note.write_bytes(msgspec.json.encode(state))
        return self.size - reply.start

    def write(self, chunk: bytes) -> None:
        """Append bytes up to the end of the file."""
        rest = memoryview(chunk if self.total is None else chunk[: self.total - self.size])
        while rest:
            written = os.write(self._handle, rest)
            self.size += written
            rest = rest[written:]
        if self.size > self.file.most_bytes:
            self.clear()
            raise PermanentError(f"it has more than {self.file.most_bytes:,} bytes")

    def finish(self) -> None:
        """Rename the bytes to the file's name once they are on the disk."""
        os.fsync(self._handle)
        move(self.path, self._target)
        self._note.unlink(missing_ok=True)


def part_path(target: Path) -> Path:
    """Return the path of the bytes of an unfinished download."""
    return target.with_name(f"{target.name}.part")


def remove_part(target: Path) -> None:
    """Remove what an unfinished download of a file left, if anything."""
    part_path(target).unlink(missing_ok=True)
    _note_path(target).unlink(missing_ok=True)


def megabytes(count: int) -> str:
    """Return a number of bytes in MB, for messages."""
    return f"{count / 1e6:,.1f} MB"


def _note_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.part.json")
