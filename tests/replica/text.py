"""Tables of numbers as CSV text, many trials at a time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Bytes: TypeAlias = NDArray[np.uint8]

CELL_WIDTH = len(",0.000000")
_ONE = 1_000_000  # millionths
_THREE_DIGITS = np.frombuffer(
    "".join(f"{number:03d}" for number in range(1000)).encode(), np.uint8
).reshape(1000, 3)


def csv_lines(
    steps: NDArray[np.int64], cells: NDArray[np.int32], lengths: Sequence[int]
) -> list[bytes]:
    """The lines of each trial, without a header.

    Args:
        steps: (rows,), ascending; the trials share them.
        cells: (trials, rows, columns) in millionths, from 0 to 9,999,999.
        lengths: (trials,), how many of the rows each trial has.

    Returns:
        A text a trial, such as b"0,0.900000,2.300000\\n10,0.500000,1.100000\\n".
    """
    digits = np.char.str_len(steps.astype(str))
    starts = [0, *(np.flatnonzero(np.diff(digits)) + 1), len(steps)]
    spans = [(int(a), int(b)) for a, b in itertools.pairwise(starts) if a < b]
    blocks = [_block(steps[a:b], cells[:, a:b], int(digits[a])) for a, b in spans]
    return [
        b"".join(
            block[trial, : max(0, length - a)].tobytes()
            for (a, _), block in zip(spans, blocks, strict=True)
        )
        for trial, length in enumerate(lengths)
    ]


def _block(steps: NDArray[np.int64], cells: NDArray[np.int32], digits: int) -> Bytes:
    """The text of rows whose steps have equally many digits: (trials, rows, characters)."""
    trials, rows, columns = cells.shape
    text = np.empty((trials, rows, digits + columns * CELL_WIDTH + 1), np.uint8)
    text[..., :digits] = (
        np.array([f"{step}" for step in steps], "S").view(np.uint8).reshape(rows, digits)
    )
    for column in range(columns):
        cell = text[..., digits + column * CELL_WIDTH :][..., :CELL_WIDTH]
        values = cells[..., column]
        thousands = values // 1000
        cell[..., 0] = ord(",")
        cell[..., 1] = ord("0") + values // _ONE
        cell[..., 2] = ord(".")
        cell[..., 3:6] = _THREE_DIGITS[thousands % 1000]
        cell[..., 6:9] = _THREE_DIGITS[values - 1000 * thousands]
    text[..., -1] = ord("\n")
    return text
