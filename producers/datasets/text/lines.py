"""Find the sentences of texts: their lines, in plain files and in WET archives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from producers.datasets.text.warc import is_compressed, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

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
