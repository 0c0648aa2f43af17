"""A tar file as a stream of its members, decoded on all cores and ahead of the reader."""

import contextlib
import gzip
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import BinaryIO, Self, cast

from dbtool.core.files import open_file
from dbtool.sources.ahead import in_order
from dbtool.sources.base import MalformedError, OnProgress

_BLOCK_BYTES = 4 << 20
# What is decoded while a large study is stored: a few seconds of work.
_BLOCKS_AHEAD = 32
_FAILURES = (OSError, EOFError, RuntimeError, ValueError, zlib.error, lzma.LZMAError)
# Measurements compress far less than this; zeros alone compress far more.
_MOST_EXPANSION = 250
_HARMLESS = 256 << 20
_NO_ARCHIVE = (
    "it is not an archive: give a .tar.bz2, .tar.gz, .tar.xz or .tar, or the unpacked folder"
)
_PLAIN = {tarfile.REGTYPE, tarfile.DIRTYPE}
_EXTENSIONS = {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
_MOST_EXTENSION = 1 << 20  # bytes of a long name or of extended attributes
# Nothing comes after a member of this size: skipping it would take hours.
_HOPELESS = 1 << 36


class UnreadableError(MalformedError):
    """The rest of the archive cannot or must not be read."""


class Stream:
    """An archive's contents as a file that is read once from front to back.

    Attributes:
        member: the member being read, for messages.
    """

    def __init__(self, path: Path, on_progress: OnProgress) -> None:
        """Open a tar file, whose compression is recognized by its first bytes."""
        self.member = ""
        self._name = str(path)
        self._on_progress = on_progress
        self._block = b""
        self._start = 0  # of the block, in all contents
        self._position = 0  # in the block
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(open_file(path))
                self._bytes = os.fstat(file.fileno()).st_size
                self._read_decoded, self._tell_packed = _decoder(path, file, stack)
            except _FAILURES as error:
                raise UnreadableError(self._name, _reason(error)) from error
            thread = ThreadPoolExecutor(1)
            # The decoder must not be closed while the thread still reads from it.
            stack.callback(thread.shutdown, cancel_futures=True)
            self._blocks = in_order(thread, self._decode, repeat(_BLOCK_BYTES), _BLOCKS_AHEAD)
            self.close = stack.pop_all().close

    def tell(self) -> int:
        """Return how many bytes have been read."""
        return self._start + self._position

    def read(self, count: int) -> bytes:
        """Return the next bytes, exactly `count`; raise `UnreadableError` where there are fewer."""
        parts = []
        while count > len(self._block) - self._position:
            parts.append(self._block[self._position :])
            count -= len(parts[-1])
            self._next_block()
        self._position += count
        last = self._block[self._position - count : self._position]
        return b"".join([*parts, last]) if parts else last

    def seek(self, position: int) -> None:
        """Skip the bytes up to a position; raise `UnreadableError` as `read` does."""
        while position > self._start + len(self._block):
            self._next_block()
        self._position = position - self._start

    def unreadable(self, reason: str) -> UnreadableError:
        """Return the error for an archive that is damaged after the last sound member."""
        where = f"{reason} after {self.member}"
        return UnreadableError(self._name, where if self.member else _NO_ARCHIVE)

    def _next_block(self) -> None:
        self._start += len(self._block)
        try:
            self._block, packed = next(self._blocks)
        except _FAILURES as error:
            raise UnreadableError(self._name, _reason(error)) from error
        self._position = 0
        if not self._block:
            raise self.unreadable("it is cut short")
        self._on_progress(min(packed, self._bytes), self._bytes)
        decoded = self._start + len(self._block)
        if decoded > max(_HARMLESS, _MOST_EXPANSION * packed):
            raise UnreadableError(
                self.member or self._name,
                f"it is a bomb: {packed:,} bytes of the archive have grown to {decoded:,}",
            )

    def _decode(self, size: int) -> tuple[bytes, int]:
        return self._read_decoded(size), self._tell_packed()


class _Header(tarfile.TarInfo):
    """A header; reading fails where it is damaged, instead of ending the archive there."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        plain = cls._plain(bytes(buf))
        if plain is not None:
            return plain
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if any(buf):
                raise tarfile.ReadError(str(error)) from error
            raise  # the end mark
        if header.size < 0 or (header.type in _EXTENSIONS and header.size > _MOST_EXTENSION):
            raise tarfile.ReadError(f"a header claims {header.size} bytes")
        return header

    @classmethod
    def _plain(cls, header: bytes) -> Self | None:
        """Return a sound header of a file or folder with a short name; None: look closer.

        Archives have hundreds of thousands of these, and the library takes ten times as long.
        """
        checksum = header[148:156]
        parts = header[:100], header[100:108], header[124:136], checksum
        name, mode, size, found = (part.rstrip(b"\0 ") for part in parts)
        kind = header[156:157]
        is_plain = kind in _PLAIN and not header[345:].strip(b"\0")
        if not (is_plain and name.isascii() and size.isdigit() and found.isdigit()):
            return None
        member = cls(name.decode("ascii"))
        member.type = kind
        try:
            member.size, member.mode = int(size, 8), int(mode, 8)
            is_sound = int(found, 8) == sum(header) - sum(checksum) + 8 * ord(" ")
        except ValueError:
            return None
        return member if is_sound and b"\0" not in name else None


def tar_headers(path: Path, on_progress: OnProgress) -> Iterator[tuple[tarfile.TarInfo, Stream]]:
    """Yield the header of each member of a tar file, and the stream that has its contents next.

    The file is plain, or compressed by bzip2, gzip or xz. Progress is in bytes.

    Raises:
        UnreadableError: the file cannot be opened, is damaged, cut short, not a tar file, or a
            bomb.
    """
    with contextlib.closing(Stream(path, on_progress)) as stream:
        try:
            archive = tarfile.TarFile(
                fileobj=cast("BinaryIO", stream),
                tarinfo=_Header,
                encoding="utf-8",
                errors="backslashreplace",
            )
            while (header := archive.next()) is not None:
                # It would keep the headers of all members.
                vars(archive)["members"].clear()
                stream.member = header.name
                if not 0 <= header.size <= _HOPELESS:
                    reason = f"it claims {header.size:,} bytes, so nothing can follow"
                    raise UnreadableError(header.name, reason)
                yield header, stream
        except (tarfile.TarError, ArithmeticError, ValueError, RecursionError) as error:
            raise stream.unreadable("it is damaged") from error


def _decoder(
    path: Path, file: BinaryIO, stack: contextlib.ExitStack
) -> tuple[Callable[[int], bytes], Callable[[], int]]:
    """Return functions that read the decoded bytes and tell the position in the file."""
    start = file.read(4)
    file.seek(0)
    if start.startswith(b"BZh") and start[3:4] in b"123456789":
        from rapidgzip import IndexedBzip2File

        # 0: as many threads as cores.
        packed = IndexedBzip2File(str(path), parallelization=0)
        stack.enter_context(contextlib.closing(packed))
        return packed.read, lambda: int(packed.raw.bz2reader.tell_compressed()) // 8
    if start.startswith(b"\x1f\x8b"):
        unpacked = stack.enter_context(gzip.GzipFile(fileobj=file, mode="rb"))
        return unpacked.read, file.tell
    if start.startswith(b"\xfd7zX"):
        return stack.enter_context(lzma.LZMAFile(file)).read, file.tell
    return file.read, file.tell


def _reason(error: Exception) -> str:
    """Return one clause for an error of the system or of a decoder."""
    if isinstance(error, gzip.BadGzipFile) or not isinstance(error, OSError):
        return "it is damaged or cut short: fetch it again with `dbtool fetch`"
    return f"it cannot be read ({error.strerror or error})"
