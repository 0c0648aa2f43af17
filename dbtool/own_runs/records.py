"""The records of a CSV or JSON Lines file: names to text, each with its line."""

from __future__ import annotations

import contextlib
import csv
import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dbtool.own_runs.errors import Place, RunsError, at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Kind: TypeAlias = Literal["csv", "jsonl"]
Record: TypeAlias = "dict[str, str]"
KINDS: tuple[Kind, ...] = ("csv", "jsonl")
# The library's own limit would refuse a long note.
_LONGEST_FIELD = 1 << 24


def read_records(path: Path, kind: Kind, names: set[str]) -> Iterator[tuple[int, Record]]:
    """The records of a file, each with the line on which it ends.

    Every value is text as written, of JSON as of CSV, so that decimals stay what they are; values
    that are empty or null are left out. What is nested in JSON is named with dots, as config.lr.

    Args:
        path: the file, in UTF-8.
        kind: its format.
        names: those of its columns are added, also of columns that are empty throughout.

    Raises:
        RunsError: the file cannot be read, is not UTF-8, or is malformed.
    """
    reading = _csv_records if kind == "csv" else _json_records
    try:
        # The CSV reader takes care of line endings, which may stand in quoted fields.
        newline = "" if kind == "csv" else "\n"
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            yield from reading(path, file, names)
    except UnicodeDecodeError as error:
        raise RunsError(f"{path} is not UTF-8: write it anew in that encoding") from error
    except OSError as error:
        raise RunsError(f"{path} cannot be read: {error.strerror or error}") from error


def kind_of(path: Path) -> Kind:
    """The format that a file's ending names: JSON Lines for .jsonl and .ndjson, else CSV."""
    return "jsonl" if path.suffix.lower() in {".jsonl", ".ndjson"} else "csv"


def _csv_records(path: Path, file: Any, names: set[str]) -> Iterator[tuple[int, Record]]:
    with _longest_field():
        reader = csv.reader(file, strict=True)
        try:
            header = next(reader, None)
            if header is None:
                raise RunsError(f"{path} is empty: its first line names the columns")
            _check_header(path, header)
            names.update(header)
            for cells in reader:
                # A blank line is what some tools end a file with.
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise at(
                        Place(path, reader.line_num),
                        None,
                        f"it has {len(cells)} fields and the header {len(header)}",
                    )
                yield (
                    reader.line_num,
                    {name: cell for name, cell in zip(header, cells, strict=True) if cell},
                )
        except csv.Error as error:
            raise at(
                Place(path, max(reader.line_num, 1)), None, f"it is no CSV ({error})"
            ) from error


def _check_header(path: Path, header: list[str]) -> None:
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise at(Place(path, 1), name, "it is there twice: rename one of them")
        seen.add(name)


@contextlib.contextmanager
def _longest_field() -> Iterator[None]:
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _json_records(path: Path, file: Any, names: set[str]) -> Iterator[tuple[int, Record]]:
    # Numbers stay text, and what JSON has no words for is written by many tools nevertheless.
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
    for line, text in enumerate(file, start=1):
        if not text.strip():
            continue
        record: Record = {}
        try:
            value = decoder.decode(text)
            if "\\u" in text:
                # Half of a surrogate pair is no text that could be stored.
                json.dumps(value, ensure_ascii=False).encode()
            if not isinstance(value, dict):
                raise at(Place(path, line), None, "it is no JSON object; each line is one")
            _flatten(value, "", record, Place(path, line))
        except (ValueError, RecursionError) as error:
            reason = "it is no JSON; each line is one object"
            raise at(Place(path, line), None, reason) from error
        names.update(record)
        yield line, record


def _flatten(value: dict[str, Any], prefix: str, record: Record, place: Place) -> None:
    """Adds what an object holds to a record, nested objects with dots in their names."""
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, dict):
            _flatten(inner, f"{name}.", record, place)
        elif inner is not None and inner != "":
            if name in record:
                raise at(place, name, "it is there twice: rename one of them")
            record[name] = _text(inner)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)
