"""Reading WET archives: WARC files whose records of type `conversion` hold the text of web pages.

A record is a line `WARC/1.0`, header lines, an empty line, the payload and two empty lines. An
archive may be plain, or have each record compressed by gzip on its own, as Common Crawl's have.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_CHUNK_BYTES = 1 << 18
_VERSION = b"WARC/1."
_HEADER_END = b"\r\n\r\n"
_RECORD_END = b"\r\n\r\n"
_LONGEST_HEADER = 1 << 16
_MEND = "remove it or download it again"


@dataclass(frozen=True, slots=True)
class Record:
    """The text of a web page.

    Attributes:
        payload: the text.
        start: where the payload begins, in bytes: of a plain archive in the file, of a compressed
            one in the uncompressed record.
        offset: where the record begins in the file, in bytes.
        size: how many bytes of the file the record takes.
    """

    payload: bytes
    start: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class _Header:
    """What the header of a record says.

    Attributes:
        kind: the record's type.
        size: bytes of the header.
        length: bytes of the payload.
    """

    kind: bytes
    size: int
    length: int


def is_compressed(path: Path) -> bool:
    """Whether a file is gzip, told by its content.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC


def read_records(path: Path) -> Iterator[Record]:
    """The records of an archive that hold the text of web pages, in their order.

    Raises:
        DbtoolError: the file is no WARC archive, is damaged or ends within a record.
        OSError: it cannot be read.
    """
    compressed = is_compressed(path)
    with path.open("rb") as file:
        yield from _compressed_records(file, path) if compressed else _plain_records(file, path)


def inflate(record: bytes, path: Path) -> bytes:
    """The content of one compressed record.

    Raises:
        DbtoolError: it is damaged.
    """
    try:
        return zlib.decompress(record, _GZIP_WINDOW)
    except zlib.error as error:
        raise DbtoolError(f"{path} is a damaged gzip file ({error}); {_MEND}") from error


def _plain_records(file: BinaryIO, path: Path) -> Iterator[Record]:
    """The records of an archive that is not compressed."""
    offset = 0
    while version := file.readline(_LONGEST_HEADER):
        lines = [version]
        while lines[-1] not in {b"\r\n", b""} and sum(map(len, lines)) < _LONGEST_HEADER:
            lines.append(file.readline(_LONGEST_HEADER))
        header = _parse_header(b"".join(lines), path, offset)
        payload = file.read(header.length)
        if len(payload) < header.length or file.read(len(_RECORD_END)) != _RECORD_END:
            raise _truncated(path, offset)
        size = header.size + header.length + len(_RECORD_END)
        if header.kind == b"conversion":
            yield Record(payload, offset + header.size, offset, size)
        offset += size


def _compressed_records(file: BinaryIO, path: Path) -> Iterator[Record]:
    """The records of an archive that has each of them compressed on its own."""
    for content, offset, size in _members(file, path):
        header = _parse_header(content, path, offset)
        payload = content[header.size : header.size + header.length]
        if len(payload) < header.length:
            raise _truncated(path, offset)
        if content[header.size + header.length :].strip(b"\r\n"):
            raise _one_stream(path)
        if header.kind == b"conversion":
            yield Record(payload, header.size, offset, size)


def _members(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, int, int]]:
    """The gzip streams that a file is made of: content, offset and size in the file."""
    offset, left = 0, b""
    while left or (left := file.read(_CHUNK_BYTES)):
        stream = zlib.decompressobj(_GZIP_WINDOW)
        pieces: list[bytes] = []
        taken = 0
        while not stream.eof:
            if not left and not (left := file.read(_CHUNK_BYTES)):
                raise _truncated(path, offset)
            try:
                pieces.append(stream.decompress(left))
            except zlib.error as error:
                raise DbtoolError(f"{path} is a damaged gzip file ({error}); {_MEND}") from error
            taken += len(left) - len(stream.unused_data)
            left = stream.unused_data
            # Otherwise a whole archive in one stream would first be unpacked into memory.
            if len(pieces) == 2:
                _check_one_record(b"".join(pieces), path, offset)
        yield b"".join(pieces), offset, taken
        offset += taken


def _check_one_record(beginning: bytes, path: Path, offset: int) -> None:
    """Refuses the beginning of a gzip stream that goes on after its first record."""
    header = _parse_header(beginning, path, offset)
    if beginning[header.size + header.length :].strip(b"\r\n"):
        raise _one_stream(path)


def _parse_header(content: bytes, path: Path, offset: int) -> _Header:
    """The header that some bytes begin with.

    Raises:
        DbtoolError: they begin with none.
    """
    if not content.startswith(_VERSION):
        what = "no WET archive" if offset == 0 else f"damaged at byte {offset:,}"
        raise DbtoolError(f"{path} is {what}: no WARC record begins there; {_MEND}")
    end = content.find(_HEADER_END, 0, _LONGEST_HEADER)
    if end < 0:
        raise _truncated(path, offset)
    fields = {}
    for line in content[:end].split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        fields[name.strip().lower()] = value.strip()
    length = fields.get(b"content-length", b"")
    if not length.isdigit():
        raise DbtoolError(
            f"{path} is damaged at byte {offset:,}: its WARC record states no length; {_MEND}"
        )
    return _Header(fields.get(b"warc-type", b""), end + len(_HEADER_END), int(length))


def _truncated(path: Path, offset: int) -> DbtoolError:
    """The error for a file that ends, or goes wrong, within a record."""
    return DbtoolError(
        f"{path} is truncated or damaged: the record at byte {offset:,} is not whole; {_MEND}"
    )


def _one_stream(path: Path) -> DbtoolError:
    """The error for an archive that is compressed as a whole."""
    return DbtoolError(
        f"{path} is compressed as a whole, not record by record as WET archives are, so that its"
        f" sentences cannot be sought; unpack it with `gunzip {path}`"
    )
