"""Parses measurements.csv of many trials into one table, and counts what is unusual in them.

Files with the same header are parsed together: one by one they would take most of an import. Where
that fails, each file is parsed alone. A file that fails again is read line by line.
"""

import csv
import functools
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

from dbtool.core.contract import archive_columns, column_names
from dbtool.core.rows import with_other_metrics
from dbtool.sources.base import MalformedError
from dbtool.sources.numbers import number, whole_number

# Files that were parsed together, the number of rows of each, and all rows.
Parsed: TypeAlias = tuple[Sequence["TrialText"], list[int], pa.Table]

_NEWLINE = ord("\n")
_MOST_COLUMNS = 1000
_BLOCK_BYTES = 4 << 20


class TrialText(NamedTuple):
    """A trial's measurements.csv, the path for messages, and the last step that it may have."""

    trial_id: int
    path: str
    body: bytes
    last_step: int = 2**63 - 1


@dataclass
class Measurements:
    """The measurements of some trials.

    Attributes:
        table: trial_id, step, the metrics that shards have columns for and other_metrics, as far as
            the files have them; sorted by trial_id and step, with rows of equal step in the order
            of the file.
        sound: the trials whose file is not malformed.
        oddities: counts of unusual things that are kept as they are, by name.
        malformed: why files were dropped.
    """

    table: pa.Table
    sound: set[int] = field(default_factory=set)
    oddities: Counter[str] = field(default_factory=Counter)
    malformed: list[MalformedError] = field(default_factory=list)


def parse_measurements(texts: Iterable[TrialText]) -> Measurements:
    """Parse the files of trials of one study."""
    keys = {"trial_id": pa.array([], pa.int32()), "step": pa.array([], pa.int64())}
    found = Measurements(pa.table(keys))
    by_header: dict[bytes, list[TrialText]] = {}
    for text in texts:
        if text.body.strip():
            by_header.setdefault(text.body.partition(b"\n")[0], []).append(text)
        else:
            found.oddities["empty files"] += 1
            found.sound.add(text.trial_id)
    tables = [found.table]
    for header, group in by_header.items():
        try:
            names = split_header(header)
        except ValueError as error:
            found.malformed += [MalformedError(text.path, str(error)) for text in group]
            continue
        for parsed, rows, table in _parse(group, names, len(header) + 1, found.malformed):
            found.sound |= {text.trial_id for text in parsed}
            found.oddities["files with a header alone"] += rows.count(0)
            found.oddities += _odd_values(table)
            tables.append(_with_trials(parsed, rows, table))
    table = pa.concat_tables(tables, promote_options="default").combine_chunks()
    found.table = _sorted(table, found.oddities)
    return found


def _parse(
    texts: Sequence[TrialText], names: tuple[str, ...], start: int, malformed: list[MalformedError]
) -> Iterator[Parsed]:
    """Parse files of one header, whose line has `start` bytes; together where possible."""
    together = _parse_together(texts, names, start)
    if together is not None:
        yield together
    elif len(texts) > 1:
        for text in texts:
            yield from _parse([text], names, start, malformed)
    else:
        [text] = texts
        try:
            rows = _read_lines(text.body, names, text.last_step)
        except ValueError as error:
            malformed.append(MalformedError(text.path, str(error)))
        else:
            columns = list(zip(*rows, strict=True)) or [()] * len(names)
            yield texts, [len(rows)], pa.table(columns, schema=_schema(names))


def _parse_together(
    texts: Sequence[TrialText], names: tuple[str, ...], start: int
) -> Parsed | None:
    """Parse files of one header at once; None where one of them is unusual to parse."""
    parts: list[bytes | memoryview] = []
    rows = []
    for text in texts:
        lines = memoryview(text.body)[start:]
        count = int(np.count_nonzero(np.frombuffer(lines, np.uint8) == _NEWLINE))
        parts.append(lines)
        if lines and lines[-1] != _NEWLINE:
            parts.append(b"\n")
            count += 1
        rows.append(count)
    joined = b"".join(parts)
    schema = _schema(names)
    if not joined:
        return texts, rows, schema.empty_table()
    # Arrow takes nan(1) for a number, and a carriage return for the end of a line.
    if b"(" in joined or (b"\r" in joined and joined.count(b"\r") != joined.count(b"\r\n")):
        return None
    try:
        table = read_csv(
            pa.BufferReader(joined),
            ReadOptions(use_threads=False, block_size=_BLOCK_BYTES, column_names=names),
            ParseOptions(quote_char=False),
            ConvertOptions(column_types=schema, null_values=[""]),
        )
    except pa.ArrowInvalid:
        return None
    # Arrow drops blank lines.
    step = table["step"]
    if len(table) != sum(rows) or step.null_count:
        return None
    steps, last = step.to_numpy(), np.repeat([text.last_step for text in texts], rows)
    if (steps < 0).any() or (steps > last).any():
        return None
    return texts, rows, table


def _schema(names: tuple[str, ...]) -> pa.Schema:
    return pa.schema([(name, pa.int64() if name == "step" else pa.float64()) for name in names])


def _odd_values(table: pa.Table) -> Counter[str]:
    found: Counter[str] = Counter()
    for name in set(table.column_names) - {"step"}:
        column = table[name]
        found["missing values"] += column.null_count
        # A sum is finite only if all its terms are.
        if not math.isfinite(pc.sum(column, min_count=0).as_py()):
            found["nan"] += pc.sum(pc.is_nan(column)).as_py()
            found["infinite values"] += pc.sum(pc.is_inf(column)).as_py()
    return found


def _with_trials(texts: Sequence[TrialText], rows: list[int], table: pa.Table) -> pa.Table:
    """Return the rows of a shard."""
    columns_of = {archived: column for column, archived in archive_columns().items()}
    trial_ids = np.array([text.trial_id for text in texts], np.int32)
    columns = {"trial_id": pa.array(np.repeat(trial_ids, rows))}
    columns |= {columns_of.get(name, name): table[name] for name in table.column_names}
    return with_other_metrics(columns)


def _sorted(table: pa.Table, oddities: Counter[str]) -> pa.Table:
    """Return the rows sorted by trial and step; rows of equal step keep their order."""
    trial_id, step = (table[name].to_numpy() for name in ("trial_id", "step"))
    trial_change, step_change = np.diff(trial_id), np.diff(step)
    same = trial_change == 0
    unsorted = int(np.count_nonzero(same & (step_change < 0)))
    if unsorted or (trial_change < 0).any():
        order = np.lexsort((step, trial_id))
        table = table.take(pa.array(order))
        same = np.diff(trial_id[order]) == 0
        step_change = np.diff(step[order])
    oddities["repeated steps"] += int(np.count_nonzero(same & (step_change == 0)))
    oddities["unsorted steps"] += unsorted
    return table


@functools.lru_cache(maxsize=256)
def split_header(line: bytes) -> tuple[str, ...]:
    """Return the names of the columns in the first line of a file.

    Raises:
        ValueError: the line is not a header of measurements; the message says why.
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
        raise ValueError(f"its header has the column {min(taken)}, which is not a metric's name")
    if len(names) > _MOST_COLUMNS:
        raise ValueError(f"its header has {len(names):,} columns")
    return names


def _read_lines(body: bytes, names: tuple[str, ...], last_step: int) -> list[list[float | None]]:
    """Return the numbers below the header, one list for each line, unless a line is malformed."""
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
