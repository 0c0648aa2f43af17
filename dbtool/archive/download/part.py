"""The part of a file that has come so far: it outlives failures, and one process writes it."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from dbtool.archive.download.digest import write_whole
from dbtool.errors import DbtoolError
from dbtool.locks import lies_at, lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.archive.download.source import Address, Source


@dataclass(frozen=True)
class Version:
    """What tells one state of a server's file from another.

    Attributes:
        etag: the ETag, quotes included; None where the server sends none.
        modified: the Last-Modified date as sent.
        total: the whole file's bytes.
    """

    etag: str | None = None
    modified: str | None = None
    total: int | None = None

    def same_as(self, other: Version) -> bool | None:
        """Whether it is the same state; None where nothing both know tells that."""
        if None not in {self.total, other.total} and self.total != other.total:
            return False
        if self.etag and other.etag:
            return self.etag.removeprefix("W/") == other.etag.removeprefix("W/")
        if self.modified and other.modified:
            return self.modified == other.modified
        return None

    def or_else(self, other: Version) -> Version:
        """This, with what it lacks from another that describes the same state."""
        return Version(
            self.etag or other.etag, self.modified or other.modified, self.total or other.total
        )

    @property
    def validator(self) -> str | None:
        """What If-Range can hold: a strong ETag, else the date; None where there is neither."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified


class Part:
    """The bytes of a file that have come so far, from its first one on, without a gap.

    They lie in NAME.part beside the file. NAME.part.json says which version they belong to, so that
    another process can go on with them. Both are written so that a kill at any moment leaves them
    sound: bytes are only added, after the version they belong to was noted.

    Attributes:
        target: the file's final path.
        path: where the part lies.
        version: what is known of the file the bytes belong to.
        origin: the address it came from, as shown; None where nothing has come.
    """

    def __init__(self, target: Path, descriptor: int, source: Source) -> None:
        self.target = target
        self.path = _part_path(target)
        self.version = Version()
        self.origin: str | None = None
        self._descriptor = descriptor
        self._source = source
        self._position = self.size
        self._load()

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return os.fstat(self._descriptor).st_size

    @property
    def position(self) -> int:
        """Where the next byte is written."""
        return self._position

    @property
    def complete(self) -> bool:
        """Whether as many bytes as the whole file has are there."""
        return self.size == self.version.total

    def restart(self) -> None:
        """Lets go of all bytes and of the version they belonged to.

        Raises:
            DbtoolError: as for every method that writes: the disk does not take it.
        """
        with self._writing():
            os.ftruncate(self._descriptor, 0)
            self._note_path.unlink(missing_ok=True)
        self._position = 0
        self.version, self.origin = Version(), None

    def go_on(self, position: int, address: Address, version: Version) -> None:
        """Notes the version of the bytes that follow, and where the first of them belongs.

        Args:
            position: at most the size; bytes that are there already are written again, alike.
            address: where they come from.
            version: what the server said.
        """
        self._position = position
        self.version, self.origin = version, address.shown
        note = {"origin": self.origin, "sha256": self._source.sha256, **asdict(version)}
        with self._writing():
            write_whole(self._note_path, json.dumps(note).encode())

    def write(self, chunk: bytes) -> None:
        """Writes the next bytes, and none beyond the file's end."""
        if self.version.total is not None:
            chunk = chunk[: self.version.total - self._position]
        rest = memoryview(chunk)
        while rest:
            with self._writing():
                written = os.pwrite(self._descriptor, rest, self._position)
            self._position += written
            rest = rest[written:]

    def publish(self) -> None:
        """Gives the bytes the file's final name, once they are on the disk."""
        with self._writing():
            os.fsync(self._descriptor)
            self.path.rename(self.target)
            self._note_path.unlink(missing_ok=True)
            folder = os.open(self.target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def discard_if_empty(self) -> None:
        """Removes a part in which nothing is."""
        with contextlib.suppress(OSError):
            if self.size == 0 and lies_at(self._descriptor, self.path):
                self.path.unlink()
                self._note_path.unlink(missing_ok=True)

    @property
    def _note_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.json")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Turns a failure to write into a sentence."""
        try:
            yield
        except OSError as error:
            raise DbtoolError(
                f"cannot write {self.path}: {error.strerror}; what came is kept, mend that and "
                "give the same command again to go on, or choose another place with --dest"
            ) from error

    def _load(self) -> None:
        """Reads which version the bytes belong to; bytes of another file are let go of."""
        try:
            note = json.loads(self._note_path.read_bytes())
            sha256, origin = note["sha256"], note["origin"]
            version = Version(
                plain_header(note["etag"]), plain_header(note["modified"]), note["total"]
            )
        except (OSError, ValueError, KeyError, TypeError):
            return  # the hash will tell
        if sha256 != self._source.sha256:
            self.restart()
        elif isinstance(version.total, int | None) and isinstance(origin, str):
            self.version, self.origin = version, origin


@contextlib.contextmanager
def open_part(target: Path, source: Source) -> Iterator[Part]:
    """The part of a file, held for one process; a kill lets go of it.

    Raises:
        DbtoolError: another process holds it, or it cannot be written.
    """
    path = _part_path(target)
    try:
        descriptor = lock(path, os.O_RDWR | os.O_CREAT)
    except BlockingIOError as error:
        raise DbtoolError(
            f"another process is fetching {target}; wait for it or choose another place with --dest"
        ) from error
    except OSError as error:
        raise DbtoolError(
            f"cannot write {path}: {error.strerror}; choose another place with --dest"
        ) from error
    try:
        part = Part(target, descriptor, source)
        try:
            yield part
        finally:
            part.discard_if_empty()
    finally:
        os.close(descriptor)


def _part_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def plain_header(value: object) -> str | None:
    """A value that can be sent in a header; None in place of any other."""
    fits = isinstance(value, str) and value.isascii() and value.isprintable()
    return str(value) if fits else None
