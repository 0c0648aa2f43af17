"""Tables of numbers as CSV text, many trials at a time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONE = 1_000_000
_NEWLINE = ord("\n")


def csv_lines(
    steps: NDArray[np.int64], cells: NDArray[np.int32], lengths: NDArray[np.int64]
) -> list[bytes]:
    """The lines of each trial, without a header.

    Args:
        steps: (rows,), ascending; the trials share them.
        cells: (trials, rows, columns) in millionths.
        lengths: (trials,), how many of the rows each trial has.

    Returns:
        A text a trial, such as b"0,0.900000,2.300000\\n10,0.500000,1.100000\\n".
    """
    there = np.arange(len(steps)) < lengths[:, None]
    values = cells[there] / ONE
    frame = pl.DataFrame(values).insert_column(
        0, pl.Series("step", np.broadcast_to(steps, there.shape)[there])
    )
    text = frame.write_csv(include_header=False, float_precision=6).encode()
    newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE) + 1
    ends = [0, *newlines[np.cumsum(lengths) - 1].tolist()]
    return [text[start:end] for start, end in itertools.pairwise(ends)]
