"""The records of a CSV or JSON Lines file: names to text, each with its line."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

from dbtool.core.errors import DbtoolError, closest
from dbtool.core.files import open_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Kind: TypeAlias = Literal["csv", "jsonl"]
# The library's own limit would refuse a long note.
_LONGEST_FIELD = 1 << 24


class RunsError(DbtoolError):
    """A file of runs cannot be taken as its mapping says; nothing of it is stored."""


def shown(text: str) -> str:
    """A text from a file in quotes, cut where it is long, fit for a terminal."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


def among(word: str, choices: Iterable[str]) -> str:
    """The closest choices, for the end of a sentence."""
    return ", ".join(map(shown, closest(word, choices))) or "none"


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a file.

    Attributes:
        path: the file.
        line: on which it ends, counted from 1.
        fields: by their columns; those that are empty are left out.
    """

    path: Path
    line: int
    fields: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.path} line {self.line:,}"

    def error(self, column: str | None, reason: str) -> RunsError:
        """The error for what is wrong with it.

        Args:
            column: the column, or the metric of a table in the long format; None for the whole.
            reason: what is wrong, and what would be right.
        """
        where = "" if column is None else f", column {shown(column)}"
        return RunsError(f"{self}{where}: {reason}")


def read_records(path: Path, kind: Kind, columns: set[str]) -> Iterator[Record]:
    """The records of a file.

    Every value is text as written, of JSON as of CSV, so that decimals stay what they are; values
    that are empty or null are left out. What is nested in JSON is named with dots, as config.lr.

    Args:
        path: the file, in UTF-8.
        kind: its format.
        columns: takes the names of its columns, also of those that are empty throughout.

    Raises:
        RunsError: the file cannot be read, is not UTF-8, or is malformed.
    """
    read, newline = (_csv_records, "") if kind == "csv" else (_json_records, "\n")
    try:
        # The CSV reader takes care of line endings, which may stand in quoted fields.
        with (
            open_file(path) as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", newline=newline) as text,
        ):
            yield from read(path, text, columns)
    except UnicodeDecodeError as error:
        raise RunsError(f"{path} is not UTF-8: write it anew in that encoding") from error
    except OSError as error:
        raise RunsError(f"{path} cannot be read: {error.strerror or error}") from error


def _csv_records(path: Path, file: TextIO, columns: set[str]) -> Iterator[Record]:
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(file, strict=True)
    try:
        header = next(reader, None)
        if header is None:
            raise RunsError(f"{path} is empty: its first line names the columns")
        for name in header:
            if header.count(name) > 1:
                raise Record(path, 1).error(name, "it is there twice: rename one of them")
        columns.update(header)
        for cells in reader:
            record = Record(path, reader.line_num)
            # A blank line is what some tools end a file with.
            if len(cells) not in {0, len(header)}:
                raise record.error(None, f"it has {len(cells)} fields and the header {len(header)}")
            if cells:
                fields = zip(header, cells, strict=True)
                record.fields.update((name, cell) for name, cell in fields if cell)
                yield record
    except csv.Error as error:
        raise Record(path, max(reader.line_num, 1)).error(
            None, f"it is no CSV ({error})"
        ) from error


def _json_records(path: Path, file: TextIO, columns: set[str]) -> Iterator[Record]:
    # Numbers stay text, and nan and infinity are taken, which JSON lacks and many tools write.
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
    for line, text in enumerate(file, start=1):
        if not text.strip():
            continue
        record = Record(path, line)
        try:
            value = decoder.decode(text)
            if "\\u" in text:
                # Half of a surrogate pair is no text that could be stored.
                json.dumps(value, ensure_ascii=False).encode()
            if not isinstance(value, dict):
                raise record.error(None, "it is no JSON object; each line is one")
            _flatten(value, "", record)
        except (ValueError, RecursionError) as error:
            raise record.error(None, "it is no JSON; each line is one object") from error
        columns.update(record.fields)
        yield record


def _flatten(value: dict[str, Any], prefix: str, record: Record) -> None:
    """Adds what an object holds to a record, nested objects with dots in their names."""
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, dict):
            _flatten(inner, f"{name}.", record)
        elif inner is not None and inner != "":
            if name in record.fields:
                raise record.error(name, "it is there twice: rename one of them")
            record.fields[name] = inner if isinstance(inner, str) else json.dumps(inner)
