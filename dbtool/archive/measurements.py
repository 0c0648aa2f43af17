"""measurements.csv of many trials as one table, and what is unusual about them.

The files of a header are parsed together: one by one they would take most of an import. Where that
fails, halves are tried until the files that fail are found, which are then read line by line.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from dbtool.archive.errors import ArchiveError
from dbtool.archive.lines import parse_lines, split_header

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

METRICS = frozenset(
    f"{split}_{metric}"
    for split in ("train", "val", "test")
    for metric in ("cross_entropy_error", "classification_error", "average_precision")
)
# Not in the published archive, but in what `dbtool export` writes of producers' measurements.
_BATCH_LOSS = "batch/cross_entropy_error"
_NEWLINE = ord("\n")
_COMMA = ord(",")
_MAP = pa.map_(pa.string(), pa.float64())


class Text(NamedTuple):
    """A trial's measurements.csv.

    Attributes:
        trial_id: the trial.
        path: the file's name, for messages.
        body: its contents.
    """

    trial_id: int
    path: str
    body: bytes


@dataclass(frozen=True)
class Oddities:
    """What is unusual about files and yet kept as it is.

    Attributes:
        no_file: trials without measurements.csv.
        empty: files without a byte, or with blank lines alone.
        header_only: files without a measurement.
        missing: values that are missing.
        nan: values that are nan.
        infinite: values that are inf or -inf.
        repeated: measurements at a step that their trial has before.
        unsorted: measurements at a step below the one before it in the file.
    """

    no_file: int = 0
    empty: int = 0
    header_only: int = 0
    missing: int = 0
    nan: int = 0
    infinite: int = 0
    repeated: int = 0
    unsorted: int = 0

    def __add__(self, other: Oddities) -> Oddities:
        names = [field.name for field in dataclasses.fields(self)]
        return Oddities(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True)
class Measurements:
    """The measurements of some trials.

    Attributes:
        table: trial_id, step, the metrics that the store has columns for and other_metrics, as far
            as the files have them; sorted by trial_id and step, and rows of a step as in the file.
        rows: how many each trial has; trials whose file is malformed are not in it.
        oddities: what is unusual.
        malformed: why files were left out.
    """

    table: pa.Table | None
    rows: dict[int, int]
    oddities: Oddities
    malformed: tuple[ArchiveError, ...]


@dataclass(frozen=True)
class _Header:
    """The first line of a file.

    Attributes:
        names: the columns.
        step: which of them is the step.
    """

    names: tuple[str, ...]
    step: int


class _Parsed(NamedTuple):
    """Files that were parsed together.

    Attributes:
        texts: the files.
        rows: how many each has.
        frame: a column a name of their header, in that order, named by its position.
    """

    texts: Sequence[Text]
    rows: list[int]
    frame: pl.DataFrame


def parse_measurements(texts: Iterable[Text]) -> Measurements:
    """Parses the files of trials of one study."""
    by_header: dict[bytes, list[Text]] = {}
    rows: dict[int, int] = {}
    oddities = Oddities()
    malformed: list[ArchiveError] = []
    for text in texts:
        end = text.body.find(b"\n")
        header = text.body if end < 0 else text.body[:end]
        if not header.strip() and not text.body.strip():
            oddities += Oddities(empty=1)
            rows[text.trial_id] = 0
        else:
            by_header.setdefault(header, []).append(text)
    tables = []
    for header, group in by_header.items():
        try:
            names = _header(header)
        except ValueError as error:
            malformed += [ArchiveError(text.path, str(error)) for text in group]
            continue
        for parsed in _parse(group, names, len(header) + 1, malformed):
            found = dict(zip((text.trial_id for text in parsed.texts), parsed.rows, strict=True))
            rows |= found
            oddities += Oddities(header_only=sum(count == 0 for count in parsed.rows))
            if parsed.frame.height:
                oddities += _oddities(parsed.frame, names)
                tables.append(_table(parsed, names))
    table, unusual = _sorted(tables)
    return Measurements(table, rows, oddities + unusual, tuple(malformed))


def column_of(name: str) -> str | None:
    """The store's column for a column of a file, such as val/cross_entropy_error; None: none."""
    if name == _BATCH_LOSS:
        return "batch_cross_entropy_error"
    split, _, metric = name.partition("/")
    column = f"{split}_{metric}"
    return column if column in METRICS else None


@functools.lru_cache(maxsize=256)
def _header(line: bytes) -> _Header:
    """What a first line says.

    Raises:
        ValueError: it is none of measurements.
    """
    names = split_header(line)
    return _Header(names, names.index("step"))


def _parse(
    texts: Sequence[Text], header: _Header, start: int, malformed: list[ArchiveError]
) -> list[_Parsed]:
    """Parses files of one header, together where that goes.

    Args:
        texts: the files.
        header: theirs.
        start: bytes of the header's line.
        malformed: takes the errors of those that are malformed.
    """
    parsed = _parse_together(texts, header, start)
    if parsed is not None:
        return [parsed]
    if len(texts) > 1:
        middle = len(texts) // 2
        return [
            part
            for half in (texts[:middle], texts[middle:])
            for part in _parse(half, header, start, malformed)
        ]
    [text] = texts
    try:
        frame = parse_lines(text.body, header.names, header.step)
    except ValueError as error:
        malformed.append(ArchiveError(text.path, str(error)))
        return []
    return [_Parsed(texts, [frame.height], frame)]


def _parse_together(texts: Sequence[Text], header: _Header, start: int) -> _Parsed | None:
    """Parses files of one header at once; None where one of them has something unusual to parse."""
    parts: list[bytes | memoryview] = []
    rows = []
    for text in texts:
        body = memoryview(text.body)[start:]
        lines = int(np.count_nonzero(np.frombuffer(body, np.uint8) == _NEWLINE))
        parts.append(body)
        if body and body[-1] != _NEWLINE:
            parts.append(b"\n")
            lines += 1
        rows.append(lines)
    joined = b"".join(parts)
    columns = len(header.names)
    schema = {str(n): pl.Int64 if n == header.step else pl.Float64 for n in range(columns)}
    if not joined:
        return _Parsed(texts, rows, pl.DataFrame(schema=schema))
    # Lines with too few fields would be filled up with missing values.
    commas = int(np.count_nonzero(np.frombuffer(joined, np.uint8) == _COMMA))
    if commas != sum(rows) * (columns - 1):
        return None
    try:
        frame = pl.read_csv(joined, has_header=False, schema=schema, quote_char=None)
    except pl.exceptions.PolarsError:
        return None
    # Blank lines are rows of missing values to Polars.
    if frame.height != sum(rows) or frame[str(header.step)].null_count():
        return None
    return _Parsed(texts, rows, frame)


def _oddities(frame: pl.DataFrame, header: _Header) -> Oddities:
    """What is unusual about the values."""
    missing = nan = infinite = 0
    for position in range(len(header.names)):
        if position == header.step:
            continue
        column = frame[str(position)]
        missing += column.null_count()
        # Finite sums have finite terms alone.
        if not math.isfinite(column.sum()):
            nan += int(column.is_nan().sum())
            infinite += int(column.is_infinite().sum())
    return Oddities(missing=missing, nan=nan, infinite=infinite)


def _table(parsed: _Parsed, header: _Header) -> pa.Table:
    """The rows in the store's columns."""
    trial_ids = np.array([text.trial_id for text in parsed.texts], np.int32)
    columns = {
        "trial_id": pa.array(np.repeat(trial_ids, parsed.rows)),
        "step": _arrow(parsed.frame[str(header.step)]),
    }
    others = {}
    for position, name in enumerate(header.names):
        if position == header.step:
            continue
        values = _arrow(parsed.frame[str(position)])
        column = column_of(name)
        if column is None:
            others[name] = values
        elif name == _BATCH_LOSS:
            # What 32 bits do not hold is infinite, as it is to a producer.
            columns[column] = values.cast(pa.float32(), safe=False)
        else:
            columns[column] = values
    if others:
        columns["other_metrics"] = _maps(others)
    return pa.table(columns)


def _arrow(series: pl.Series) -> pa.Array:
    return series.rechunk().to_arrow()


def _maps(columns: dict[str, pa.Array]) -> pa.Array:
    """A map a row, from the columns' names to the values that are there; null where none is."""
    rows = len(next(iter(columns.values())))
    # Row by row: the first row's value of each column, then the second's.
    order = np.arange(rows * len(columns)).reshape(len(columns), rows).T.ravel()
    items = pa.concat_arrays(list(columns.values())).take(pa.array(order))
    there = items.is_valid().to_numpy(zero_copy_only=False)
    keys = pa.array(list(columns)).take(pa.array(np.tile(np.arange(len(columns)), rows)[there]))
    counts = there.reshape(rows, len(columns)).sum(axis=1)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    nothing = pa.array(counts == 0)
    return pa.MapArray.from_arrays(offsets, keys, items.drop_null(), mask=nothing)


def _sorted(tables: Sequence[pa.Table]) -> tuple[pa.Table | None, Oddities]:
    """The rows of all tables, sorted by trial and step; rows of a step stay as they were."""
    if not tables:
        return None, Oddities()
    table = pa.concat_tables(tables, promote_options="default").combine_chunks()
    trial_id, step = (table[name].to_numpy() for name in ("trial_id", "step"))
    trial_change, step_change = np.diff(trial_id), np.diff(step)
    same = trial_change == 0
    unsorted = int(np.count_nonzero(same & (step_change < 0)))
    if unsorted or (trial_change < 0).any():
        order = np.lexsort((step, trial_id))
        table = table.take(pa.array(order))
        same = np.diff(trial_id[order]) == 0
        step_change = np.diff(step[order])
    repeated = int(np.count_nonzero(same & (step_change == 0)))
    return table, Oddities(unsorted=unsorted, repeated=repeated)
