"""One measurements.csv, line by line: for files that are written unusually, or are malformed."""

from __future__ import annotations

import csv
import functools
import io

from dbtool.core.contract import column_names
from dbtool.sources.numbers import number, whole_number

_MOST_COLUMNS = 1000


@functools.lru_cache(maxsize=256)
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
    if taken := set(names) & (set(column_names()) - {"step"}):
        raise ValueError(f"its header has the column {min(taken)}, which is no metric's name")
    if len(names) > _MOST_COLUMNS:
        raise ValueError(f"its header has {len(names):,} columns")
    return names


def read_lines(body: bytes, names: tuple[str, ...], last_step: int) -> list[list[float | None]]:
    """The numbers of a file below its header, a list a line; None for an empty field.

    Args:
        body: the file, with its header.
        names: the columns in the header.
        last_step: the last that a line may have.

    Raises:
        ValueError: a line is malformed; the message says which and why.
    """
    found = []
    step = names.index("step")
    try:
        reader = csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True)
        next(reader)
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                if len(row) != len(names):
                    raise ValueError(
                        f"its line {reader.line_num} has {len(row)} fields, and its header has "
                        f"{len(names)}"
                    )
                found.append([_number(field, reader.line_num) for field in row])
                found[-1][step] = _step(row[step], reader.line_num, last_step)
    except UnicodeDecodeError as error:
        raise ValueError("it is not text") from error
    except csv.Error as error:
        raise ValueError(f"it is not readable as CSV ({error})") from error
    return found


def _number(field: str, line: int) -> float | None:
    if not field.strip():
        return None
    value = number(field)
    if value is None:
        raise ValueError(f"its line {line} has {_short(field)}, which is not a number")
    return value


def _step(field: str, line: int, last: int) -> int:
    step = whole_number(field)
    if step is None or step < 0:
        raise ValueError(
            f"its line {line} has the step {_short(field)}, which is not a whole number from 0"
        )
    if step > last:
        raise ValueError(f"it has a measurement at step {step}, after the trial's last, {last}")
    return step


def _short(field: str) -> str:
    text = repr(field)
    return text if len(text) <= 40 else f"{text[:37]}..."
