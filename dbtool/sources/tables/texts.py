"""Files as frames of text, with the line of each row.

Every value is text as written, in JSON as in CSV, so decimals do not change; empty values are null.
Nested values have names with dots, such as config.lr.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeVar, cast

import polars as pl
import polars.selectors

from dbtool.core.files import open_file, read_small
from dbtool.core.parquet import ParquetError, read_foreign
from dbtool.sources.registry import TableFormat, table_format
from dbtool.sources.tables.problems import Position, RunsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


T = TypeVar("T")
LINE = "\0line"
"""The column of the line on which a row ends; no column of a file has this name."""
# The library's own limit would refuse a long note.
_LONGEST_FIELD = 1 << 24
# Few, since the garbage collector scans Python objects again and again.
_MOST_ROWS = 1_000
_MOST_VALUES = 1_000_000
_LONGEST_NAME = 1_000
_YAML_NULLS = ("null", "Null", "NULL", "~")


def read_parts(path: Path, kind: TableFormat | None = None) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file in parts, with `LINE`; the first part of CSV has only the columns.

    Without a format, the file's name implies it; a file of another name is CSV.

    Raises:
        RunsError: the file cannot be read, is not UTF-8, or is malformed.
    """
    read = {"csv": _csv_parts, "jsonl": _json_parts, "parquet": _parquet_parts}
    with _reading(path), open_file(path) as file:
        yield from read[kind or table_format(path) or "csv"](path, file)


def read_document(path: Path) -> dict[str, str]:
    """Return the names and values of a .json, .yaml or .yml file.

    Raises:
        RunsError: as in `read_parts`.
    """
    read = _json_object if path.suffix == ".json" else _yaml_object
    with _reading(path):
        return read(Position(path, 0), read_small(path).decode("utf-8-sig"))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise RunsError(f"{path} is not UTF-8: write it anew in that encoding") from error
    except OSError as error:
        raise RunsError(f"{path} cannot be read: {error.strerror or error}") from error


def _csv_parts(path: Path, file: BinaryIO) -> Iterator[pl.DataFrame]:
    # The CSV reader handles line endings, which may be inside quoted fields.
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        records = _csv_records(path, text)
        line, header = next(records, (0, []))
        if not header:
            raise RunsError(f"{path} is empty: its first line names the columns")
        for name, count in Counter(header).items():
            if count > 1:
                raise Position(path, line).error(name, "it is there twice: rename one of them")
        yield _text_frame([], dict.fromkeys(header, ()))
        for lines, rows in _in_parts(records):
            yield _text_frame(lines, dict(zip(header, zip(*rows, strict=True), strict=True)))


def _csv_records(path: Path, file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line that is not blank; some tools end files with blank lines."""
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(file, strict=True)
    width = 0
    try:
        for cells in reader:
            width = width or len(cells)
            if len(cells) not in {0, width}:
                reason = f"it has {len(cells)} fields and the header {width}"
                raise Position(path, reader.line_num).error(None, reason)
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        position = Position(path, max(reader.line_num, 1))
        raise position.error(None, f"it is no CSV ({error})") from error


def _json_parts(path: Path, file: BinaryIO) -> Iterator[pl.DataFrame]:
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="\n") as text:
        records = (
            (line, fields)
            for line, json_text in enumerate(text, start=1)
            if json_text.strip() and (fields := _json_object(Position(path, line), json_text))
        )
        for lines, rows in _in_parts(records):
            names = dict.fromkeys(name for fields in rows for name in fields)
            yield _text_frame(
                lines, {name: [fields.get(name) for fields in rows] for name in names}
            )


def _parquet_parts(path: Path, file: BinaryIO) -> Iterator[pl.DataFrame]:
    try:
        rows = cast("pl.DataFrame", pl.from_arrow(read_foreign(file)))
        while nested := [name for name, kind in rows.schema.items() if kind == pl.Struct]:
            rows = rows.unnest(nested, separator=".")
        seconds = polars.selectors.duration().dt.total_microseconds() / 1_000_000
        # Lists are not measurements.
        rows = rows.with_columns(seconds).select(~polars.selectors.nested()).cast(pl.String)
    except ParquetError as error:
        raise RunsError(f"{path} is not Parquet of numbers and texts: {error}") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise RunsError(f"{path} is not Parquet of numbers and texts") from error
    yield _text_frame(range(1, len(rows) + 1), rows.to_dict())


def _text_frame(
    lines: Sequence[int], columns: Mapping[str, Sequence[str | None] | pl.Series]
) -> pl.DataFrame:
    schema = {**dict.fromkeys(columns, pl.String), LINE: pl.Int64}
    frame = pl.DataFrame({**columns, LINE: lines}, schema)
    return frame.with_columns(pl.col(pl.String).replace("", None))


def _in_parts(records: Iterator[tuple[int, T]]) -> Iterator[tuple[list[int], list[T]]]:
    """Yield batches of line numbers and their contents; nothing where there are none."""
    while part := list(itertools.islice(records, _MOST_ROWS)):
        yield [line for line, _ in part], [row for _, row in part]


def _json_object(position: Position, text: str) -> dict[str, str]:
    wanted = "each line is one" if position.line else "the whole file is one"
    # Numbers stay text. nan and infinity are accepted, which JSON lacks and many tools write.
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
    try:
        value = decoder.decode(text)
        if "\\u" in text:
            # Half of a surrogate pair is not text that can be stored.
            json.dumps(value, ensure_ascii=False).encode()
        if not isinstance(value, dict):
            raise position.error(None, f"it is no JSON object; {wanted}")
        return _with_dots(value, position)
    except (ValueError, RecursionError) as error:
        raise position.error(None, f"it is no JSON; {wanted} object") from error


def _yaml_object(position: Position, text: str) -> dict[str, str]:
    import yaml

    try:
        # This loader returns every value as the text in the file, and builds no Python objects.
        value = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 (makes dict, list and str alone)
        size = _size(value, {})
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise position.error(None, "it is no YAML") from error
    if size > _MOST_VALUES:
        raise position.error(None, f"its anchors stand for more than {_MOST_VALUES:,} values")
    if not isinstance(value, dict):
        raise position.error(None, "it holds no names and values")
    fields = _with_dots(value, position)
    return {name: text for name, text in fields.items() if text not in _YAML_NULLS}


def _size(value: Any, known: dict[int, int]) -> int:
    """Count the values in a document, each as often as aliases repeat it."""
    if isinstance(value, str):
        return 1
    if id(value) not in known:
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_size(each, known) for each in inner)
    return known[id(value)]


def _with_dots(value: dict[str, Any], position: Position) -> dict[str, str]:
    """Return the contents of an object, nested objects with dots in their names."""
    found: dict[str, str] = {}
    for name, inner in _leaves(value, ""):
        if len(name) > _LONGEST_NAME:
            raise position.error(None, f"a name in it has more than {_LONGEST_NAME:,} letters")
        if name in found:
            raise position.error(name, "it is there twice: rename one of them")
        found[name] = inner if isinstance(inner, str) else json.dumps(inner)
    return found


def _leaves(value: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _leaves(inner, f"{prefix}{key}.")
        elif inner is not None and inner != "":
            yield f"{prefix}{key}", inner
