"""Where the sentences of a file begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from producers.datasets.text.lines import find_lines
from producers.datasets.text.warc import is_compressed, read_records

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from producers.datasets.text.lines import Lines

_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True, eq=False, slots=True)
class Scan:
    """The sentences of a file, and the lines that are none.

    Attributes:
        starts: where each sentence begins, in bytes, uint32 or uint64 [sentences]: in the file, or
            where there are blocks, in the uncompressed block.
        blocks: the parts of the file that are compressed on their own and hold sentences, int64
            [blocks, 3]: the number of the first sentence, offset and size in the file; None of a
            file that is not compressed.
        empty: lines that hold nothing but white space and control characters.
        undecodable: other lines that are not UTF-8, or hold a zero byte.
    """

    starts: npt.NDArray[np.unsignedinteger]
    blocks: npt.NDArray[np.int64] | None
    empty: int
    undecodable: int


def scan_lines(path: Path) -> Scan:
    """Finds the sentences of a file that has one on each line.

    Raises:
        OSError: the file cannot be read.
    """
    found: list[Lines] = []
    starts: list[npt.NDArray[np.int64]] = []
    position, rest = 0, b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            content = rest + chunk
            end = content.rfind(b"\n") + 1
            found.append(find_lines(content[:end]))
            starts.append(found[-1].starts + position)
            position, rest = position + end, content[end:]
    found.append(find_lines(rest))
    starts.append(found[-1].starts + position)
    return _scan(starts, found, None)


def scan_wet(path: Path) -> Scan:
    """Finds the sentences of a WET archive: the lines of the texts in it.

    Raises:
        DbtoolError: the file is no WET archive, is damaged or ends within a record.
        OSError: it cannot be read.
    """
    found: list[Lines] = []
    starts: list[npt.NDArray[np.int64]] = []
    blocks: list[tuple[int, int, int]] = []
    sentences = 0
    for record in read_records(path):
        lines = find_lines(record.payload)
        found.append(lines)
        if len(lines.starts):
            starts.append(lines.starts + record.start)
            blocks.append((sentences, record.offset, record.size))
            sentences += len(lines.starts)
    table = np.array(blocks, np.int64).reshape(-1, 3) if is_compressed(path) else None
    return _scan(starts, found, table)


def _scan(
    starts: list[npt.NDArray[np.int64]], found: list[Lines], blocks: npt.NDArray[np.int64] | None
) -> Scan:
    """The sentences of all parts of a file."""
    joined = np.concatenate([np.empty(0, np.int64), *starts])
    fits = joined.max(initial=0) <= np.iinfo(np.uint32).max
    return Scan(
        starts=joined.astype(np.uint32 if fits else np.uint64),
        blocks=blocks,
        empty=sum(lines.empty for lines in found),
        undecodable=sum(lines.undecodable for lines in found),
    )
