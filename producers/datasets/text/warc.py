"""Read WET archives: WARC files whose records of type `conversion` hold the text of web pages.

A record is a line `WARC/1.0`, header lines, an empty line, the payload and two empty lines. An
archive may be plain, or have each record compressed by gzip on its own, as Common Crawl's have.
warcio would read both too, but takes a record whose checksum is wrong for one that ends there.
"""

from __future__ import annotations

import mmap
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from dbtool.core.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_CHUNK_BYTES = 1 << 18
_VERSION = b"WARC/1."
_HEADER_END = _RECORD_END = b"\r\n\r\n"
_LONGEST_HEADER = 1 << 16
_GET_ANEW = "remove it or download it again"


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


def is_compressed(path: Path) -> bool:
    """Return whether the content of a file is gzip."""
    with path.open("rb") as file:
        return file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of an archive that hold the text of web pages, in their order."""
    records = _compressed_records if is_compressed(path) else _plain_records
    with path.open("rb") as file:
        for kind, record in records(file, path):
            if kind == b"conversion":
                yield record


def inflate(record: bytes, path: Path) -> bytes:
    """Return the content of one compressed record."""
    try:
        return zlib.decompress(record, _GZIP_WINDOW)
    except zlib.error as error:
        raise _damaged_gzip(path, error) from error


def _plain_records(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, Record]]:
    # An empty file cannot be mapped.
    if not path.stat().st_size:
        return
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        offset = 0
        while offset < len(content):
            kind, start, length = _parse_header(content, offset, path, offset)
            end = start + length
            if content[end : end + len(_RECORD_END)] != _RECORD_END:
                raise _truncated(path, offset)
            size = end + len(_RECORD_END) - offset
            yield kind, Record(content[start:end], start, offset, size)
            offset += size


def _compressed_records(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, Record]]:
    for content, offset, size in _members(file, path):
        kind, start, length = _parse_header(content, 0, path, offset)
        payload = content[start : start + length]
        if len(payload) < length:
            raise _truncated(path, offset)
        _check_one_record(content, path, offset)
        yield kind, Record(payload, start, offset, size)


def _members(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, int, int]]:
    """Yield the gzip streams that a file is made of: content, offset and size in the file."""
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
                raise _damaged_gzip(path, error) from error
            taken += len(left) - len(stream.unused_data)
            left = stream.unused_data
            # Otherwise a whole archive in one stream would first be unpacked into memory.
            if len(pieces) == 2:
                _check_one_record(b"".join(pieces), path, offset)
        yield b"".join(pieces), offset, taken
        offset += taken


def _check_one_record(beginning: bytes, path: Path, offset: int) -> None:
    """Refuse the beginning of a gzip stream that goes on after its first record."""
    _, start, length = _parse_header(beginning, 0, path, offset)
    if beginning[start + length :].strip(b"\r\n"):
        raise DbtoolError(
            f"{path} is compressed as a whole, not record by record as WET archives are, so that"
            f" its sentences cannot be sought; unpack it with `gunzip {path}`"
        )


def _parse_header(
    content: bytes | mmap.mmap, at: int, path: Path, offset: int
) -> tuple[bytes, int, int]:
    """Return the type of the record that begins there, and the start and length of its payload."""
    if content[at : at + len(_VERSION)] != _VERSION:
        what = "not a WET archive" if offset == 0 else f"damaged at byte {offset:,}"
        raise DbtoolError(f"{path} is {what}: no WARC record begins there; {_GET_ANEW}")
    end = content.find(_HEADER_END, at, at + _LONGEST_HEADER)
    if end < 0:
        raise _truncated(path, offset)
    fields = {}
    for line in content[at:end].split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        fields[name.strip().lower()] = value.strip()
    length = fields.get(b"content-length", b"")
    if not length.isdigit():
        raise DbtoolError(
            f"{path} is damaged at byte {offset:,}: its WARC record states no length; {_GET_ANEW}"
        )
    return fields.get(b"warc-type", b""), end + len(_HEADER_END), int(length)


def _truncated(path: Path, offset: int) -> DbtoolError:
    return DbtoolError(
        f"{path} is truncated or damaged: the record at byte {offset:,} is not whole; {_GET_ANEW}"
    )


def _damaged_gzip(path: Path, error: zlib.error) -> DbtoolError:
    return DbtoolError(f"{path} is a damaged gzip file ({error}); {_GET_ANEW}")
