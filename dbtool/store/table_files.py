"""Files of tables: their formats, by their names, and positions in them for errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from dbtool.core.errors import DbtoolError

TableFormat: TypeAlias = Literal["csv", "jsonl", "parquet"]
TABLE_FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)
"""The formats of tables, whose columns a mapping describes."""
FRAME = Path("the frame")
"""Stands for a frame in memory where a file could be."""
BLANKS = " \t"
"""Letters that are trimmed from names and values."""
_ENDING = re.compile(
    r"\.(?P<format>csv|tsv|jsonl|ndjson|parquet)(\.(gz|zst|xz|bz2))?\Z", re.IGNORECASE
)
_SAME = {"ndjson": "jsonl", "tsv": "csv"}
# Sentences that differ only in quoted texts and numbers are of one kind.
_DETAILS = re.compile(r"'[^']*'|\"[^\"]*\"|[\d.,]+")


def table_format(path: Path) -> TableFormat | None:
    """Return the format that the file's name implies, compressed or not; None for other names.

    Example:
        >>> table_format(Path("runs/a.csv.gz"))
        'csv'
    """
    ending = _ENDING.search(path.name)
    name = ending["format"].lower() if ending else ""
    return next((each for each in TABLE_FORMATS if each == _SAME.get(name, name)), None)


def stem(path: Path) -> str:
    """Return a file's name without the endings of its format and compression."""
    return _ENDING.sub("", path.name) or path.stem if table_format(path) else path.stem


def ending(path: str) -> str:
    """Return the endings of a file's format and compression; empty for other names."""
    found = _ENDING.search(path)
    return found[0] if found else ""


class RunsError(DbtoolError):
    """Files of tables are malformed or not as their mapping describes; nothing of them is stored.

    Attributes:
        kind: equal for errors that are alike.
    """

    kind: str | None = None


class Position(NamedTuple):
    """A line of a file, counted from 1 (in Parquet and frames, a row); 0 is the whole file."""

    path: Path
    line: int

    def __str__(self) -> str:
        is_rows = self.path == FRAME or table_format(self.path) == "parquet"
        word = "row" if is_rows else "line"
        return f"{self.path} {word} {self.line:,}" if self.line else str(self.path)

    def error(self, column: str | None, reason: str) -> RunsError:
        """Return an error at this position.

        Args:
            column: the column, or the metric of a table in the long format; None for the whole.
            reason: what is wrong, and what would be right.
        """
        where = "" if column is None else f", column {shown(column)}"
        error = RunsError(f"{self}{where}: {reason}")
        error.kind = f"{where}{_DETAILS.sub('', reason)}"
        return error


def shown(text: str) -> str:
    """Return a text from a file in quotes, cut where it is long, safe for a terminal."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")
