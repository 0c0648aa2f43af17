"""Files as frames of text, with the line of each row.

Every value is text as written, in JSON as in CSV, so decimals do not change; empty values are null.
Nested values have names with dots, such as config.lr. Files may be compressed, as their contents
say, and in any Unicode encoding that begins with its mark.

A format that another tool writes has its place in `_READERS`.
"""

import csv
import io
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeAlias, TypeVar, cast

import numpy as np
import polars as pl
import polars.selectors

from dbtool.core.files import decoded, encoding_of, read_to_end
from dbtool.core.parquet import ParquetError, read_foreign
from dbtool.store.documents import json_object, yaml_object
from dbtool.store.table_files import (
    BLANKS,
    SHORT,
    Position,
    RunsError,
    TableFormat,
    is_cut,
    opened,
    table_format,
)

OnNote: TypeAlias = Callable[[Path, str], None]

T = TypeVar("T")
LINE = "\0line"
"""The column of the line on which a row ends; no column of a file has this name."""
EMPTY = ("None", "N/A", "NA", "n/a", "#N/A", "<NA>", "null", "NULL", "-")
"""Texts that tools write where there is no value."""
# The library's own limit would refuse a long note.
_LONGEST_FIELD = 1 << 24
# Few, since the garbage collector scans Python objects again and again.
_MOST_ROWS = 1_000
# The largest whole numbers that floats of few bits have exactly.
_EXACT: Mapping[Any, int] = {pl.Float16: 2**11, pl.Float32: 2**24}
_WHOLE = r"\A-?(0|[1-9]\d*)\z"
_NUMBER = r"\A(-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?|NaN|nan|-?inf|-?Infinity)\z"
# As no program writes a number.
_BARE = r"\A-?\d+[eE]\d"
_ENDS_IN_0 = r"\.\d+0([eE]|\z)"
_DATE = r"\A\d{4}-\d\d-\d\d\z"
_TIME = r"\A\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?\z"
_CUT = "the last line is cut off, as by a crash, and left out"
_CUT_SHORT = f"it {SHORT}: what it has is read, and the rest is missing"


def ignore_note(path: Path, note: str) -> None:
    """Drop a note on a file, or raise a RunsError for a missing rest that nothing would tell of."""
    if note == _CUT_SHORT:
        raise RunsError(f"{path} {SHORT}: copy it anew")


def read_parts(
    path: Path, kind: TableFormat | None = None, on_note: OnNote = ignore_note
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file in parts, with `LINE`; the first part of CSV has only the columns.

    Without a format it is the one that the name implies, or else CSV. What is odd about the file,
    such as a last line that is cut off, is a note.

    Raises:
        RunsError: the file cannot be read, is not Unicode, or is malformed.
    """
    with opened(path) as file:
        for part, _ in _READERS[kind or table_format(path) or "csv"](path, file, on_note):
            yield part


def read_typed(path: Path, kind: TableFormat) -> pl.DataFrame:
    """Return the rows of a file with types: those stated in Parquet and JSON; for CSV see `_typed`.

    Errors as of `read_parts`.
    """
    quoted: set[str] = set()
    parts = []
    with opened(path) as file:
        if kind == "parquet":
            return _parquet(path, file)
        for part, texts in _READERS[kind](path, file, ignore_note):
            parts.append(part.drop(LINE))
            quoted |= texts
    rows = pl.concat(parts, how="diagonal") if parts else pl.DataFrame()
    return rows.with_columns(
        _typed(each, stated=kind == "jsonl") for each in rows if each.name not in quoted
    )


def read_document(path: Path) -> dict[str, str]:
    """Return the names and values of a .json, .yaml or .yml file; errors as of `read_parts`."""
    read = json_object if path.suffix == ".json" else yaml_object
    with opened(path) as file:
        return read(Position(path, 0), decoded(read_to_end(file, str(path))))


def text_frame(
    rows: pl.DataFrame, on_rounded: Callable[[str], None] = lambda _: None
) -> pl.DataFrame:
    """Return rows as text, with `LINE`: the shortest decimals, durations in seconds, no lists.

    A sentence tells of whole numbers that floats of few bits have rounded.
    """
    while nested := [name for name, kind in rows.schema.items() if kind == pl.Struct]:
        rows = rows.unnest(nested, separator=".")
    for narrow in rows.select(pl.col(*_EXACT)):
        exact = _EXACT[narrow.dtype]
        if (narrow.abs() > exact).any() and (narrow == narrow.round()).all():
            on_rounded(
                f"{narrow.name} has rounded its whole numbers above {exact:,}, as its floats do"
            )
    seconds = polars.selectors.duration().dt.total_microseconds() / 1_000_000
    half = [shortest(each) for each in rows.select(pl.col(pl.Float16))]
    # Lists are not measurements.
    rows = rows.with_columns(seconds, *half).select(~polars.selectors.nested()).cast(pl.String)
    return _frame(range(1, len(rows) + 1), rows.rename(str.strip).to_dict())


def _text(path: Path, file: BinaryIO) -> TextIO:
    """Return the text of a file by its mark, without which it is UTF-8."""
    start = cast("io.BufferedReader", file).peek(4)
    if start.startswith(b"PAR1"):
        raise RunsError(f"{path} is Parquet and not text: let its name end with .parquet")
    return io.TextIOWrapper(file, encoding=encoding_of(start), newline="")


class _Lines:
    """The lines of a text, without marks between joined files; where it is cut off, those before.

    A compressed text that is cut off is noted, and `is_cut`.
    """

    def __init__(self, text: TextIO, path: Path, on_note: OnNote) -> None:
        self._text = text
        self.path = path
        self.note = partial(on_note, path)
        self._last = "\n"
        self.is_cut = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            self._last = next(self._text).removeprefix("\ufeff")
        except (EOFError, OSError) as error:
            if not is_cut(error):
                raise
            if not self.is_cut:
                self.note(_CUT_SHORT)
            self._last, self.is_cut = "", True
            raise StopIteration from error
        return self._last

    @property
    def ends_open(self) -> bool:
        """Whether the line before was the last, and has no line break."""
        return not self._last.endswith(("\n", "\r")) and next(self, None) is None


_Part: TypeAlias = tuple[pl.DataFrame, set[str]]


def _csv_parts(path: Path, file: BinaryIO, on_note: OnNote) -> Iterator[_Part]:
    with _text(path, file) as text:
        records = _csv_records(_Lines(text, path, on_note))
        line, header = next(records, (0, []))
        if not header:
            raise RunsError(f"{path} is empty: its first line names the columns")
        names = _trimmed(header)
        if names != header:
            on_note(path, "blanks around names and values are left out")
        for name, count in Counter(names).items():
            if count > 1:
                raise Position(path, line).error(name, "it is there twice: rename one of them")
        yield _frame([], dict.fromkeys(names, ())), set()
        for lines, rows in _in_parts(records):
            yield _frame(lines, dict(zip(names, zip(*rows, strict=True), strict=True))), set()


def _trimmed(cells: Sequence[str]) -> list[str]:
    return [each.strip(BLANKS) for each in cells]


def _csv_records(lines: _Lines) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line that is not blank; some tools end files with blank lines."""
    csv.field_size_limit(_LONGEST_FIELD)
    first = next(lines, "")
    # Spreadsheets write tabs or semicolons, too.
    between = next((each for each in "\t;" if each in first and "," not in first), ",")
    reader = csv.reader(itertools.chain([first], lines), strict=True, delimiter=between)
    header: list[str] = []
    before = 0
    try:
        for cells in reader:
            if len(cells) == 1 != len(header) and not cells[0].strip():
                continue
            if len(cells) > 1 and _trimmed(cells[:1]) == header[:1] and _trimmed(cells) == header:
                lines.note("header lines that are there again are skipped")
            elif len(cells) not in {0, len(header) or len(cells)}:
                if lines.ends_open:
                    lines.note(_CUT)
                    return
                reason = f"it has {len(cells)} fields and the header {len(header)}"
                raise Position(lines.path, reader.line_num).error(None, reason)
            elif cells:
                header = header or _trimmed(cells)
                yield reader.line_num, cells
            before = reader.line_num
    except csv.Error as error:
        if before == reader.line_num - 1 and header and lines.ends_open:
            lines.note(_CUT)
            return
        position = Position(lines.path, max(reader.line_num, 1))
        raise position.error(None, f"it is no CSV ({error})") from error
    if lines.ends_open and not lines.is_cut:
        lines.note("the last line has no line break: it is kept, but may be cut off")


def _json_parts(path: Path, file: BinaryIO, on_note: OnNote) -> Iterator[_Part]:
    with _text(path, file) as text:
        for numbers, rows in _in_parts(_json_records(_Lines(text, path, on_note))):
            names = dict.fromkeys(name for fields in rows for name in fields)
            columns = {name: [fields.get(name) for fields in rows] for name in names}
            kinds = {name: {*map(type, texts)} for name, texts in columns.items()}
            yield _frame(numbers, columns), {each for each in names if str in kinds[each]}


def _json_records(lines: _Lines) -> Iterator[tuple[int, dict[str, str]]]:
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            fields = json_object(Position(lines.path, line), text)
        except RunsError as error:
            if line > 1 and error.__cause__ and lines.ends_open:
                lines.note(_CUT)
                return
            raise
        if fields:
            yield line, fields


def _parquet_parts(path: Path, file: BinaryIO, on_note: OnNote) -> Iterator[_Part]:
    try:
        yield text_frame(_parquet(path, file), partial(on_note, path)), set()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise RunsError(f"{path} is not Parquet of numbers and texts") from error


def _parquet(path: Path, file: BinaryIO) -> pl.DataFrame:
    try:
        return cast("pl.DataFrame", pl.from_arrow(read_foreign(file)))
    except ParquetError as error:
        raise RunsError(f"{path} is not Parquet of numbers and texts: {error}") from error


_READERS: Mapping[TableFormat, Callable[[Path, BinaryIO, OnNote], Iterator[_Part]]] = {
    "csv": _csv_parts,
    "jsonl": _json_parts,
    "parquet": _parquet_parts,
}
"""By format, what yields the rows in parts, each with the columns that have texts in quotes."""


def _frame(
    lines: Sequence[int], columns: Mapping[str, Sequence[str | None] | pl.Series]
) -> pl.DataFrame:
    schema = {**dict.fromkeys(columns, pl.String), LINE: pl.Int64}
    frame = pl.DataFrame({**columns, LINE: lines}, schema)
    return frame.with_columns(pl.col(pl.String).str.strip_chars(BLANKS).replace("", None))


def _in_parts(records: Iterator[tuple[int, T]]) -> Iterator[tuple[list[int], list[T]]]:
    """Yield batches of line numbers and their contents; nothing where there are none."""
    while part := list(itertools.islice(records, _MOST_ROWS)):
        yield [line for line, _ in part], [row for _, row in part]


def _typed(texts: pl.Series, *, stated: bool) -> pl.Series:
    """Return texts as what all of them are written as: truths, numbers or dates, or else as is.

    What no program writes as a number stays text, as it may be a name: 007, 1e3, and 1.10 beside
    1.9, which have not the same number of places; unless they are stated to be numbers, as in JSON.
    """
    given, texts = texts, texts.set(texts.is_in(EMPTY), None)
    there = texts.drop_nulls()
    whole = there.str.contains(_WHOLE)
    if there.is_empty():
        return given
    if there.str.to_lowercase().is_in(["true", "false"]).all():
        return texts.str.to_lowercase() == "true"
    values: list[pl.Series] = []
    if whole.all():
        values = [texts.cast(kind, strict=False) for kind in (pl.Int64, pl.Decimal(38, 0))]
    # A larger whole number would be rounded.
    elif (there.str.contains(_NUMBER) & (~whole | (there.str.len_bytes() <= 15))).all() and (
        stated or _as_programs_write(there)
    ):
        values = [texts.cast(pl.Float64, strict=False)]
    elif there.str.contains(_DATE).all():
        values = [texts.str.to_date(strict=False)]
    elif there.str.contains(_TIME).all():
        values = [texts.str.to_datetime(strict=False)]
    return next((each for each in values if each.null_count() == texts.null_count()), given)


def _as_programs_write(numbers: pl.Series) -> bool:
    """Return whether numbers are so written: the shortest, or with the same number of places."""
    if numbers.str.contains(_BARE).any():
        return False
    finite = numbers.filter(numbers.str.contains(r"\d"))
    places = finite.str.extract(r"\.(\d+)").str.len_chars()
    return places.n_unique() == 1 or not finite.str.contains(_ENDS_IN_0).any()


def shortest(values: pl.Series) -> pl.Series:
    """Return floats of 16 or 32 bits as the shortest decimals that are the same float."""
    if values.dtype != pl.Float16:
        return values.cast(pl.String)
    # The library writes them with the digits of 32 bits.
    texts = [None if each is None else str(np.float16(each)) for each in values]
    return pl.Series(values.name, texts, pl.String)
