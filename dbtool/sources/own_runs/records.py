"""The records of CSV, JSON and YAML files: names to text, each with its line."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

from dbtool.core.errors import DbtoolError, closest, counted
from dbtool.core.files import open_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

Kind: TypeAlias = Literal["csv", "jsonl"]
# The library's own limit would refuse a long note.
_LONGEST_FIELD = 1 << 24
# Sentences that differ in quoted texts and numbers alone are of one kind.
_DETAILS = re.compile(r"'[^']*'|\"[^\"]*\"|[\d.,]+")
_MOST_OF_A_KIND = 3
_YAML_NULLS = ("null", "Null", "NULL", "~")
_MOST_PROBLEMS = 20


class RunsError(DbtoolError):
    """Files of runs cannot be taken as their mapping says; nothing of them is stored.

    Attributes:
        kind: the same of errors that are alike.
    """

    kind: str | None = None


class Problems:
    """What is wrong with files, so that a person reads of all of it at once.

    A `with` block on it ends at an error of ours, which is kept.
    """

    def __init__(self) -> None:
        self._alike: dict[str, list[DbtoolError]] = {}
        self._left_out = 0

    def __len__(self) -> int:
        return sum(map(len, self._alike.values())) + self._left_out

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        _: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, DbtoolError):
            self.add(error)
            return True
        return False

    def add(self, error: DbtoolError) -> None:
        """Keeps an error, and the same one once."""
        alike = self._alike.setdefault(getattr(error, "kind", None) or str(error), [])
        if str(error) in map(str, alike):
            return
        if len(alike) < _MOST_OF_A_KIND:
            alike.append(error)
        else:
            self._left_out += 1

    def refuse(self) -> None:
        """Raises what was kept: the first few of each kind, a sentence each, and how many more."""
        errors = [error for alike in self._alike.values() for error in alike]
        if len(errors) == 1:
            raise errors[0]
        if errors:
            left_out = len(self) - min(len(errors), _MOST_PROBLEMS)
            more = [f"and {counted(left_out, 'more problem')} like these"] if left_out else []
            raise RunsError(*map(str, errors[:_MOST_PROBLEMS]), *more)


def shown(text: str) -> str:
    """A text from a file in quotes, cut where it is long, fit for a terminal."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


def listed(names: str | list[str] | None) -> list[str]:
    """One name or several as a list."""
    return [names] if isinstance(names, str) else names or []


def among(word: str, choices: Iterable[str]) -> str:
    """The closest choices, for the end of a sentence."""
    return ", ".join(map(shown, closest(word, choices))) or "none"


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a file.

    Attributes:
        path: the file.
        line: on which it ends, counted from 1; 0 where it is the whole file.
        fields: by their columns; those that are empty are left out.
    """

    path: Path
    line: int
    fields: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.path} line {self.line:,}" if self.line else str(self.path)

    def error(self, column: str | None, reason: str) -> RunsError:
        """The error for what is wrong with it.

        Args:
            column: the column, or the metric of a table in the long format; None for the whole.
            reason: what is wrong, and what would be right.
        """
        where = "" if column is None else f", column {shown(column)}"
        error = RunsError(f"{self}{where}: {reason}")
        error.kind = f"{where}{_DETAILS.sub('', reason)}"
        return error


def read_records(
    path: Path, kind: Kind | Literal["json", "yaml"], columns: set[str]
) -> Iterator[Record]:
    """The records of a file, which of JSON and YAML is one.

    Every value is text as written, of JSON as of CSV, so that decimals stay what they are; values
    that are empty or null are left out. What is nested is named with dots, as config.lr.

    Args:
        path: the file, in UTF-8.
        kind: its format.
        columns: takes the names of its columns, also of those that are empty throughout.

    Raises:
        RunsError: the file cannot be read, is not UTF-8, or is malformed.
    """
    read = {"csv": _csv_records, "jsonl": _json_records, "json": _json_record, "yaml": _yaml_record}
    try:
        # The CSV reader takes care of line endings, which may stand in quoted fields.
        with (
            open_file(path) as file,
            io.TextIOWrapper(
                file, encoding="utf-8-sig", newline="" if kind == "csv" else "\n"
            ) as text,
        ):
            yield from read[kind](path, text, columns)
    except UnicodeDecodeError as error:
        raise RunsError(f"{path} is not UTF-8: write it anew in that encoding") from error
    except OSError as error:
        raise RunsError(f"{path} cannot be read: {error.strerror or error}") from error


def read_document(path: Path, columns: set[str] | None = None) -> Record:
    """The one record that a .json, .yaml or .yml file is; see `read_records`."""
    kind: Literal["json", "yaml"] = "json" if path.suffix == ".json" else "yaml"
    [record] = read_records(path, kind, set() if columns is None else columns)
    return record


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
    for line, text in enumerate(file, start=1):
        if text.strip():
            yield _json_object(Record(path, line), text, columns, "each line is one")


def _json_record(path: Path, file: TextIO, columns: set[str]) -> Iterator[Record]:
    yield _json_object(Record(path, 0), file.read(), columns, "the whole file is one")


def _json_object(record: Record, text: str, columns: set[str], wanted: str) -> Record:
    # Numbers stay text, and nan and infinity are taken, which JSON lacks and many tools write.
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
    try:
        value = decoder.decode(text)
        if "\\u" in text:
            # Half of a surrogate pair is no text that could be stored.
            json.dumps(value, ensure_ascii=False).encode()
        if not isinstance(value, dict):
            raise record.error(None, f"it is no JSON object; {wanted}")
        _flatten(value, "", record)
    except (ValueError, RecursionError) as error:
        raise record.error(None, f"it is no JSON; {wanted} object") from error
    columns.update(record.fields)
    return record


def _yaml_record(path: Path, file: TextIO, columns: set[str]) -> Iterator[Record]:
    import yaml

    record = Record(path, 0)
    try:
        # The loader that takes every value as the text it is written as, and no objects of Python.
        value = yaml.load(file, Loader=yaml.BaseLoader)  # noqa: S506 (makes dict, list and str alone)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise record.error(None, "it is no YAML") from error
    if not isinstance(value, dict):
        raise record.error(None, "it holds no names and values")
    _flatten(value, "", record)
    for name in [name for name, text in record.fields.items() if text in _YAML_NULLS]:
        del record.fields[name]
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
