"""Finding the sentences of text that has one on each line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_NEWLINE = ord("\n")
_LAST_BLANK = ord(" ")


@dataclass(frozen=True, eq=False, slots=True)
class Lines:
    """The lines of some text that are sentences, and how many are not.

    Attributes:
        starts: where each sentence begins, in bytes, int64 [sentences].
        empty: lines that hold nothing but white space and control characters.
        undecodable: other lines that are not UTF-8, or hold a zero byte, as no text does.
    """

    starts: npt.NDArray[np.int64]
    empty: int
    undecodable: int


def find_lines(content: bytes) -> Lines:
    """Finds the sentences of whole lines; the last one needs no newline."""
    if not content:
        return Lines(np.empty(0, np.int64), 0, 0)
    codes = np.frombuffer(content, np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(codes == _NEWLINE) + 1))
    if starts[-1] == len(content):
        starts = starts[:-1]
    written = np.logical_or.reduceat(codes > _LAST_BLANK, starts)
    decodable = _decodable(content, codes, starts)
    kept = written & decodable
    return Lines(
        starts=starts[kept],
        empty=int(np.count_nonzero(~written)),
        undecodable=int(np.count_nonzero(written & ~decodable)),
    )


def _decodable(
    content: bytes, codes: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Which lines are UTF-8 without zero bytes, bool [lines]."""
    decodable = ~np.logical_or.reduceat(codes == 0, starts)
    if not _is_utf_8(content):
        ends = np.append(starts[1:], len(content))
        for line, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if not _is_utf_8(content[start:end]):
                decodable[line] = False
    return decodable


def _is_utf_8(content: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def first_line(content: bytes, limit: int) -> str:
    """The text up to the end of the line, without white space around it.

    Args:
        content: UTF-8 that begins with the line.
        limit: bytes after which a longer line is cut.
    """
    line = content[:limit].split(b"\n", 1)[0]
    # The limit may cut a character in two.
    return line.decode(errors="ignore").strip()
