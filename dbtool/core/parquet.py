"""Parquet files of unknown origin: what their footers claim is checked before rows are decoded."""

import contextlib
import errno
import re
import zoneinfo
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kinds

from dbtool.core.errors import DbtoolError

_MOST_VALUES = 1 << 28
_MOST_TEXT = 1 << 30
# The first and the last day that Python and Polars can print, counted from 1970.
_DAYS = -719_162, 2_932_896
_UNKNOWN = (kinds.is_decimal256, kinds.is_interval, kinds.is_union, kinds.is_run_end_encoded)
_OFFSET = re.compile(r"[+-]\d\d:\d\d")


class ParquetError(DbtoolError):
    """A file that is not readable Parquet or claims too much; the message does not name it."""


@contextlib.contextmanager
def decoding(error: type[DbtoolError] = ParquetError) -> Iterator[None]:
    """Convert Arrow's errors about a file to ours; too little memory stays a MemoryError."""
    try:
        yield
    except MemoryError:
        # It is one of Arrow's errors, too.
        raise
    except (pa.ArrowException, OSError, ValueError) as failure:
        if isinstance(failure, OSError) and failure.errno == errno.ENOMEM:
            raise MemoryError(failure.strerror) from failure
        if isinstance(failure, OSError) and failure.strerror:
            raise error(f"it cannot be read ({failure.strerror})") from failure
        raise error("it is not a readable Parquet file") from failure


def open_parquet(source: BinaryIO | pa.NativeFile) -> pq.ParquetFile:
    """Open a Parquet file, with dictionaries for texts, so that a repeated text takes memory once.

    Arrow refuses columns that are nested a hundred levels deep; `decoding` converts its errors.
    Read the file with use_threads=False: a thread of Arrow that ends later than the read releases
    Python's buffer, which aborts a process that is exiting.
    """
    footer = pq.read_metadata(source)
    texts = [field.name for field in footer.schema.to_arrow_schema() if _is_text(field.type)]
    return pq.ParquetFile(
        source,
        metadata=footer,
        read_dictionary=texts,
        pre_buffer=False,
        page_checksum_verification=True,
    )


def read_foreign(source: BinaryIO | pa.NativeFile) -> pa.Table:
    """Return the rows of a user's own Parquet file, with dictionaries for texts.

    Raises:
        ParquetError: it is not a readable Parquet file, claims more than a table may hold, or has
            types, dates or time zones that other libraries do not know.
    """
    with decoding(), open_parquet(source) as file:
        # What the footer says of single columns would end the process where it is damaged.
        values = file.metadata.num_rows * file.metadata.num_columns
        if values > _MOST_VALUES:
            raise ParquetError(
                f"it claims {values:,} values, and a table may hold {_MOST_VALUES:,}: take fewer "
                "rows or columns"
            )
        _require_types(file.schema_arrow)
        rows = file.read(use_threads=False)
        require_sound(rows)
        _require_dates(rows)
    return rows


def require_sound(rows: pa.Table) -> None:
    """Raise Arrow's error for rows out of its form, or a ParquetError for too much text."""
    rows.validate(full=True)
    texts = [
        chunk
        for column in rows.columns
        if kinds.is_dictionary(column.type) and _is_text(column.type.value_type)
        for chunk in column.chunks
    ]
    if sum(map(_most_bytes, texts)) <= _MOST_TEXT:
        return
    # This import takes as long as a small query.
    import pyarrow.compute as pc

    lengths = (pc.take(pc.binary_length(chunk.dictionary), chunk.indices) for chunk in texts)
    size = sum(pc.sum(each).as_py() or 0 for each in lengths)
    if size > _MOST_TEXT:
        raise ParquetError(f"it holds {size:,} bytes of text, which is more than {_MOST_TEXT:,}")


def _most_bytes(chunk: pa.DictionaryArray) -> int:
    """Return the bytes of texts if each were as long as the longest."""
    texts = chunk.dictionary
    is_large = texts.type in (pa.large_string(), pa.large_binary())
    ends = np.frombuffer(texts.buffers()[1] or b"", np.int64 if is_large else np.int32)
    longest = int(np.diff(ends[texts.offset :][: len(texts) + 1]).max(initial=0))
    return longest * int(len(chunk) - chunk.null_count)


def value_type(field: pa.Field) -> pa.DataType:
    """Return the type of a column's values, also where it is a dictionary of them."""
    return field.type.value_type if kinds.is_dictionary(field.type) else field.type


def _require_types(schema: pa.Schema) -> None:
    """Raise an error for columns of types that other libraries do not know, and panic on."""
    waiting = [(field.name, field.type) for field in schema]
    while waiting:
        name, kind = waiting.pop()
        if any(is_unknown(kind) for is_unknown in _UNKNOWN):
            raise ParquetError(f"its column {name} has the type {kind}: cast it to numbers")
        waiting += [(name, kind.field(place).type) for place in range(kind.num_fields)]


def _require_dates(rows: pa.Table) -> None:
    """Raise an error for dates and time zones on which other libraries panic."""
    while any(kinds.is_struct(field.type) for field in rows.schema):
        rows = rows.flatten()
    for field, column in zip(rows.schema, rows.columns, strict=True):
        if not (kinds.is_date(field.type) or kinds.is_timestamp(field.type)):
            continue
        zone = getattr(field.type, "tz", None)
        if zone and not (_OFFSET.fullmatch(zone) or zone in zoneinfo.available_timezones()):
            raise ParquetError(f"its column {field.name} has the unknown time zone {zone!r}")
        dates = column.cast(pa.date32(), safe=False).cast(pa.int32()).drop_null()
        days = np.from_dlpack(dates.combine_chunks())
        if len(days) and not (_DAYS[0] <= days.min() and days.max() <= _DAYS[1]):
            raise ParquetError(f"its column {field.name} has a date out of the years 1 to 9999")


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())
