"""Find the sentences of texts: their lines, in plain files and in WET archives.

WET archives are WARC files whose records of type `conversion` hold the text of web pages. A record
is a line `WARC/1.0`, header lines, an empty line, the payload and two empty lines. An archive may
be plain, or have each record compressed by gzip on its own, as Common Crawl's have. warcio would
read both too, but takes a record whose checksum is wrong for one that ends there.
"""

import mmap
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from dbtool.core.errors import DbtoolError

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_READ_BYTES = 1 << 18
_VERSION = b"WARC/1."
_HEADER_END = _RECORD_END = b"\r\n\r\n"
_LONGEST_HEADER = 1 << 16


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


def inflate(record: bytes, path: Path, offset: int) -> bytes:
    """Return the content of one compressed record."""
    try:
        return zlib.decompress(record, _GZIP_WINDOW)
    except zlib.error as error:
        raise _damaged(path, offset, f"cannot be unpacked ({error})") from error


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
                raise _damaged(path, offset)
            size = end + len(_RECORD_END) - offset
            yield kind, Record(content[start:end], start, offset, size)
            offset += size


def _compressed_records(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, Record]]:
    for content, offset, size in _members(file, path):
        kind, start, length = _parse_header(content, 0, path, offset)
        payload = content[start : start + length]
        if len(payload) < length:
            raise _damaged(path, offset)
        _check_one_record(content, path, offset)
        yield kind, Record(payload, start, offset, size)


def _members(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, int, int]]:
    """Yield the gzip streams that a file is made of: content, offset and size in the file."""
    offset, left = 0, b""
    while left or (left := file.read(_READ_BYTES)):
        stream = zlib.decompressobj(_GZIP_WINDOW)
        pieces: list[bytes] = []
        taken = 0
        while not stream.eof:
            if not left and not (left := file.read(_READ_BYTES)):
                raise _damaged(path, offset)
            try:
                pieces.append(stream.decompress(left))
            except zlib.error as error:
                raise _damaged(path, offset, f"cannot be unpacked ({error})") from error
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
        raise _damaged(path, offset, "does not begin there")
    end = content.find(_HEADER_END, at, at + _LONGEST_HEADER)
    if end < 0:
        raise _damaged(path, offset)
    fields = {}
    for line in content[at:end].split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        fields[name.strip().lower()] = value.strip()
    length = fields.get(b"content-length", b"")
    if not length.isdigit():
        raise _damaged(path, offset, "states no length")
    return fields.get(b"warc-type", b""), end + len(_HEADER_END), int(length)


def _damaged(path: Path, offset: int, how: object = "is not whole") -> DbtoolError:
    return DbtoolError(
        f"{path} is not a WET archive, or is truncated or damaged: its WARC record at byte"
        f" {offset:,} {how}; remove it or download it again"
    )


_CHUNK_BYTES = 1 << 24
_NEWLINE = ord("\n")
_LAST_BLANK = ord(" ")


@dataclass(frozen=True, eq=False, slots=True)
class Lines:
    """The lines of some text that are sentences, and how many are not.

    Attributes:
        starts: where each sentence begins, in bytes, integers [sentences]: in the file, or where
            there are blocks, in the uncompressed block.
        empty: lines that hold nothing but white space and control characters.
        undecodable: other lines that are not UTF-8, or hold a zero byte, as no text does.
        blocks: the parts of the file that are compressed on their own and hold sentences, int64
            [blocks, 3]: the number of the first sentence, offset and size in the file; None of a
            file that is not compressed.
    """

    starts: npt.NDArray[np.integer]
    empty: int
    undecodable: int
    blocks: npt.NDArray[np.int64] | None = None


def find_lines(content: bytes) -> Lines:
    """Find the sentences of whole lines; the last one needs no newline."""
    if not content:
        return Lines(np.empty(0, np.int64), 0, 0)
    codes = np.frombuffer(content, np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(codes[:-1] == _NEWLINE) + 1))
    written = np.logical_or.reduceat(codes > _LAST_BLANK, starts)
    decodable = ~np.logical_or.reduceat(codes == 0, starts)
    if not _is_utf_8(content):
        ends = np.append(starts[1:], len(content))
        for line, (start, end) in enumerate(zip(starts, ends, strict=True)):
            decodable[line] &= _is_utf_8(content[start:end])
    return Lines(
        starts=starts[written & decodable],
        empty=int(np.count_nonzero(~written)),
        undecodable=int(np.count_nonzero(written & ~decodable)),
    )


def _is_utf_8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def first_line(content: bytes, limit: int) -> str:
    """Return the first line of UTF-8, without white space around it, cut after `limit` bytes."""
    line = content[:limit].split(b"\n", 1)[0]
    # The limit may cut a character in two.
    return line.decode(errors="ignore").strip()


def lines_of_text(path: Path) -> Lines:
    """Find the sentences of a file that has one on each line."""
    parts: list[tuple[int, Lines]] = []
    position = 0
    with path.open("rb") as file:
        while content := b"".join(file.readlines(_CHUNK_BYTES)):
            parts.append((position, find_lines(content)))
            position += len(content)
    return _joined(parts, None)


def lines_of_wet(path: Path) -> Lines:
    """Find the sentences of a WET archive: the lines of the texts in it."""
    parts: list[tuple[int, Lines]] = []
    blocks: list[tuple[int, int, int]] = []
    sentences = 0
    for record in read_records(path):
        found = find_lines(record.payload)
        parts.append((record.start, found))
        if len(found.starts):
            blocks.append((sentences, record.offset, record.size))
        sentences += len(found.starts)
    return _joined(
        parts, np.array(blocks, np.int64).reshape(-1, 3) if is_compressed(path) else None
    )


def _joined(parts: Sequence[tuple[int, Lines]], blocks: npt.NDArray[np.int64] | None) -> Lines:
    starts = [found.starts + offset for offset, found in parts]
    joined = np.concatenate([np.empty(0, np.int64), *starts])
    fits = joined.max(initial=0) <= np.iinfo(np.uint32).max
    return Lines(
        starts=joined.astype(np.uint32 if fits else np.uint64),
        empty=sum(found.empty for _, found in parts),
        undecodable=sum(found.undecodable for _, found in parts),
        blocks=blocks,
    )
