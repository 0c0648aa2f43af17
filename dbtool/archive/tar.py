"""Reads a tar stream once, from front to back, and writes nothing anywhere.

The standard library's tarfile spends more time on 600,000 headers than parsing their files takes:
it makes an object with some twenty fields of each, and keeps them all.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from dbtool.archive.errors import ArchiveError, UnreadableError
from dbtool.archive.members import Event, Kind, Member, Places, refuse_name, refuse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dbtool.archive.stream import Stream

_BLOCK = 512
_CHECKSUM_MODULUS = 65521  # of Adler-32
_REGULAR = b"0\07"
_FOLDER = ord("5")
_LONG_NAME, _LONG_LINK = ord("L"), ord("K")
_PAX, _PAX_GLOBAL = ord("x"), ord("g")
_EXTENSIONS = frozenset({_PAX, _PAX_GLOBAL, _LONG_NAME, _LONG_LINK})
_VOLUME = ord("V")
_REFUSED = {
    ord("1"): "it is a hard link",
    ord("2"): "it is a symbolic link",
    ord("3"): "it is a character device",
    ord("4"): "it is a block device",
    ord("6"): "it is a named pipe",
}
_SPARSE = ord("S")
_SPARSE_REASON = "it is a sparse file, which can claim any size"
_MOST_EXTENSION = 1 << 20  # bytes of a long name or of extended attributes
# Nothing comes after a member of such a size: skipping it would take hours.
_HOPELESS = 1 << 36
# The best that compression does for measurements is far less, and far more for zeros alone.
_MOST_EXPANSION = 250
_HARMLESS = 256 << 20


class _Extension:
    """What the headers before a member's own say about it."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.size: int | None = None
        self.sparse = False


def tar_members(stream: Stream, on_block: Callable[[], None]) -> Iterator[Event]:
    """The members of a tar file that belong to studies, and why others are refused.

    Args:
        stream: the archive's contents.
        on_block: called after each block of the stream.

    Raises:
        UnreadableError: the archive is damaged, cut short, no tar file or a bomb.
    """
    return _Reader(stream, on_block).members()


class _Reader:
    """One pass over a tar file."""

    def __init__(self, stream: Stream, on_block: Callable[[], None]) -> None:
        self._stream = stream
        self._on_block = on_block
        self._block = b""
        self._at = 0
        self._name = ""
        self._places = Places()

    def members(self) -> Iterator[Event]:
        """Reads the headers, and the files of the three kinds."""
        extension: _Extension | None = None
        while (header := self._header()) is not None:
            kind, size = header[156], self._number(header[124:136])
            if kind in _EXTENSIONS:
                extension = extension or _Extension()
                self._extend(extension, kind, size)
                continue
            self._name = _header_name(header)
            sparse = kind == _SPARSE
            if extension is not None:
                self._name = extension.name or self._name
                size = size if extension.size is None else extension.size
                sparse = sparse or extension.sparse
                extension = None
            if kind in _REGULAR and not self._name.endswith("/") and not sparse:
                event = self._file(size)
            else:
                event = self._other(kind, size, sparse=sparse)
            if event is not None:
                yield event

    def _header(self) -> bytes | None:
        """The next header; None at the end mark.

        Raises:
            UnreadableError: there is none.
        """
        header = self._take(_BLOCK)
        # Adler-32 begins with the plain sum of the bytes, which is the sum that tar asks for.
        total = (zlib.adler32(header) & 0xFFFF) - 1
        if total == 0 and not any(header):
            return None
        difference = total - sum(header[148:156]) + 8 * ord(" ") - self._number(header[148:156])
        # Some programs of old took bytes for signed numbers.
        if difference % _CHECKSUM_MODULUS and difference - 256 * sum(
            byte > 127 for byte in header[:148] + header[156:]
        ):
            raise self._unreadable("it is damaged after")
        return header

    def _file(self, size: int) -> Event | None:
        """A regular file."""
        try:
            place = self._places.of_file(self._name)
            if place is not None:
                refuse_size(self._name, place[2], size)
                body = self._take(size)
                self._skip(-size % _BLOCK)
                return Member(*place, body)
        except UnreadableError:
            raise
        except ArchiveError as error:
            self._skip_member(size)
            return error
        self._skip_member(size)
        return None

    def _other(self, kind: int, size: int, *, sparse: bool) -> Event | None:
        """A folder, or what an archive of measurements does not have."""
        try:
            if kind == _FOLDER or (kind in _REGULAR and self._name.endswith("/")):
                place = self._places.of_folder(self._name)
                return None if place is None else Member(*place, Kind.FOLDER, b"")
            if kind == _VOLUME:
                return None
            refuse_name(self._name)
        except ArchiveError as error:
            return error
        if kind == _SPARSE:
            # Its map may go on in blocks of its own, which its size does not count.
            raise UnreadableError(self._name, _SPARSE_REASON)
        if kind in _REFUSED:
            return ArchiveError(self._name, _REFUSED[kind])
        self._skip_member(size)
        reason = _SPARSE_REASON if sparse else f"it is of the unknown kind {chr(kind)!r}"
        return ArchiveError(self._name, reason)

    def _extend(self, extension: _Extension, kind: int, size: int) -> None:
        """Reads a header that is about the member after it.

        Raises:
            UnreadableError: it is malformed.
        """
        if size > _MOST_EXTENSION:
            raise self._unreadable(f"it claims {size:,} bytes of names and attributes after")
        body = self._take(size)
        self._skip(-size % _BLOCK)
        if kind == _LONG_NAME:
            extension.name = _text(body.partition(b"\0")[0])
        elif kind == _PAX and any(key in body for key in (b"path=", b"size=", b"GNU.sparse")):
            for key, value in self._attributes(body):
                if key == b"path":
                    extension.name = _text(value)
                elif key == b"size":
                    extension.size = self._decimal(value)
                elif key.startswith(b"GNU.sparse"):
                    extension.sparse = True

    def _attributes(self, body: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The attributes of a pax header, one after the other: LENGTH KEY=VALUE and a newline."""
        while body and body[0]:
            length = self._decimal(body.partition(b" ")[0])
            key, separator, value = body[:length].partition(b" ")[2].partition(b"=")
            if not separator or not value.endswith(b"\n") or length > len(body):
                raise self._unreadable("it has malformed attributes after")
            yield key, value[:-1]
            body = body[length:]

    def _number(self, field: bytes) -> int:
        """A number of a header: octal digits, or binary where its first bit is set."""
        if field[0] & 0x80:
            if field[0] & 0x40:
                raise self._unreadable("it has a negative number after")
            return int.from_bytes(field) & ((1 << (8 * len(field) - 1)) - 1)
        digits = field.partition(b"\0")[0].strip()
        if not digits:
            return 0
        try:
            number = int(digits, 8)
        except ValueError:
            number = -1
        if number < 0:
            raise self._unreadable("it is damaged after")
        return number

    def _decimal(self, digits: bytes) -> int:
        if not digits.isdigit() or len(digits) > len(str(1 << 80)):
            raise self._unreadable("it has malformed attributes after")
        return int(digits)

    def _skip_member(self, size: int) -> None:
        """Passes over a member's bytes.

        Raises:
            UnreadableError: it claims so many that nothing can follow.
        """
        if size > _HOPELESS:
            raise UnreadableError(self._name, f"it claims {size:,} bytes, so nothing can follow")
        self._skip(size + -size % _BLOCK)

    def _take(self, count: int) -> bytes:
        """The next bytes."""
        start, end = self._at, self._at + count
        if end <= len(self._block):
            self._at = end
            return self._block[start:end]
        parts = [self._block[start:]]
        missing = count - len(parts[0])
        while missing > 0:
            self._next_block()
            parts.append(self._block[:missing])
            self._at = len(parts[-1])
            missing -= self._at
        return b"".join(parts)

    def _skip(self, count: int) -> None:
        """Passes over bytes."""
        while count > len(self._block) - self._at:
            count -= len(self._block) - self._at
            self._next_block()
        self._at += count

    def _next_block(self) -> None:
        """Takes a block of the stream.

        Raises:
            UnreadableError: there is none, or it is a bomb's.
        """
        stream = self._stream
        self._block, self._at = stream.next_block(), 0
        if not self._block:
            raise self._unreadable("it is cut short after")
        self._on_block()
        if stream.decoded > max(_HARMLESS, _MOST_EXPANSION * max(stream.position, 1)):
            raise UnreadableError(
                self._name or stream.name,
                f"it is a bomb: {stream.position:,} bytes of the archive have grown to "
                f"{stream.decoded:,}",
            )

    def _unreadable(self, reason: str) -> UnreadableError:
        """The error for an archive that is wrong after the last member that was sound."""
        if not self._name:
            reason = "it is no archive: give a .tar.bz2, .tar.gz or .tar, or the unpacked folder"
        elif reason.endswith("after"):
            reason += f" {self._name}"
        return UnreadableError(self._stream.name, reason)


def _header_name(header: bytes) -> str:
    """The name in a member's own header."""
    name = header[:100].partition(b"\0")[0]
    if header[257:263] == b"ustar\0" and header[345]:
        return _text(header[345:500].partition(b"\0")[0] + b"/" + name)
    return _text(name)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
