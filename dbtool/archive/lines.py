"""One measurements.csv, line by line: for files that are written unusually, or are malformed."""

from __future__ import annotations

import csv
import io
import re
from array import array

import numpy as np
import polars as pl

_MOST_COLUMNS = 1000
_LARGEST_STEP = 2**63 - 1
_EXACT = 2**53  # up to there a float holds every whole number
_INTEGER = re.compile(r"[+-]?\d{1,1000}", re.ASCII)
# Python alone takes 1_000 and digits of other scripts for numbers too.
_NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE
)


def split_header(line: bytes) -> tuple[str, ...]:
    """The columns' names in the first line of a file.

    Raises:
        ValueError: it is no header of measurements; the message says why.
    """
    try:
        rows = list(csv.reader([line.decode("utf-8-sig").strip("\r\n")], strict=True))
    except UnicodeDecodeError as error:
        raise ValueError("its header is not text") from error
    except csv.Error as error:
        raise ValueError("its header is not readable as CSV") from error
    names = tuple(name.strip() for name in rows[0]) if rows else ()
    if "step" not in names:
        raise ValueError("its header has no column step")
    if "" in names:
        raise ValueError("its header has a column without a name")
    if "\0" in "".join(names):
        raise ValueError("its header holds a null character")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"its header has the column {twice} twice")
    if len(names) > _MOST_COLUMNS:
        raise ValueError(f"its header has {len(names):,} columns")
    return names


def parse_lines(body: bytes, names: tuple[str, ...], step: int) -> pl.DataFrame:
    """The measurements of a file.

    Args:
        body: the file, with its header.
        names: the columns in the header.
        step: which of them is the step.

    Returns:
        A column a name, named by its position; the step as int64, the others as float64 with
        nulls for missing values.

    Raises:
        ValueError: a line is malformed; the message says which and why.
    """
    steps: array[int] = array("q")
    values = [array("d") for _ in names[1:]]
    missing = [bytearray() for _ in names[1:]]
    try:
        reader = csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True)
        next(reader)
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                try:
                    _check_length(row, names)
                    steps.append(_step(row.pop(step).strip()))
                    for field, column, gaps in zip(row, values, missing, strict=True):
                        column.append(_number(field.strip()))
                        gaps.append(not field.strip())
                except ValueError as error:
                    raise ValueError(f"its line {reader.line_num} {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError("it is not text") from error
    except csv.Error as error:
        raise ValueError(f"it is not readable as CSV ({error})") from error
    series = [
        pl.Series(np.array(column)).set(pl.Series(np.array(gaps, np.bool_)), None)
        for column, gaps in zip(values, missing, strict=True)
    ]
    series.insert(step, pl.Series(np.array(steps)))
    return pl.DataFrame({str(position): column for position, column in enumerate(series)})


def _check_length(row: list[str], names: tuple[str, ...]) -> None:
    if len(row) != len(names):
        raise ValueError(f"has {len(row)} fields, and its header has {len(names)}")


def _number(field: str) -> float:
    """A value; nan for a missing one.

    Raises:
        ValueError: it is text.
    """
    if field and not _NUMBER.fullmatch(field):
        raise ValueError(f"has {_short(field)}, which is not a number")
    return float(field or "nan")


def _step(field: str) -> int:
    """A step, which may be written as 10.0.

    Raises:
        ValueError: it is none.
    """
    if not field:
        raise ValueError("has no step")
    if _NUMBER.fullmatch(field):
        # Python refuses integers of thousands of digits, which are out of range anyway.
        number = int(field) if _INTEGER.fullmatch(field) else float(field)
        if isinstance(number, int) or (number.is_integer() and abs(number) <= _EXACT):
            if abs(number) <= _LARGEST_STEP:
                return int(number)
            raise ValueError(f"has the step {_short(field)}, which is out of range")
    raise ValueError(f"has the step {_short(field)}, which is not a whole number")


def _short(field: str) -> str:
    text = repr(field)
    return text if len(text) <= 40 else f"{text[:37]}..."
