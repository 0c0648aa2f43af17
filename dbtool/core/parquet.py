"""Parquet files of unknown origin: what their footers claim is checked before rows are decoded."""

from __future__ import annotations

import contextlib
import errno
import re
import zoneinfo
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds

from dbtool.core.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_VALUES = 1 << 28
_MOST_TEXT = 1 << 30
# The first and the last day that Python and Polars can print, counted from 1970.
_DAYS = -719_162, 2_932_896
_OFFSET = re.compile(r"[+-]\d\d:\d\d")


class ParquetError(DbtoolError):
    """A file that is not readable Parquet or claims too much; the message does not name it."""


@contextlib.contextmanager
def decoding(error: type[DbtoolError] = ParquetError) -> Iterator[None]:
    """Convert Arrow's errors about a file to an error of ours; too little memory is not its fault.

    Raises:
        MemoryError: there was not enough memory.
    """
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

    Arrow refuses columns that are nested a hundred levels deep.

    Raises:
        pa.ArrowException, OSError or ValueError: it is not a readable Parquet file; see `decoding`.
    """
    texts = [field.name for field in pq.read_schema(source) if _is_text(field.type)]
    return pq.ParquetFile(source, read_dictionary=texts, page_checksum_verification=True)


def read_foreign(source: BinaryIO | pa.NativeFile) -> pa.Table:
    """Return the rows of a user's own Parquet file, with dictionaries for texts.

    Raises:
        ParquetError: it is not a readable Parquet file, claims more than a table may hold, or has
            dates or time zones that other libraries cannot print.
        MemoryError: there was not enough memory.
    """
    with decoding(), open_parquet(source) as file:
        # What the footer says of single columns would end the process where it is damaged.
        values = file.metadata.num_rows * file.metadata.num_columns
        if values > _MOST_VALUES:
            raise ParquetError(
                f"it claims {values:,} values, and a table may hold {_MOST_VALUES:,}: take fewer "
                "rows or columns"
            )
        rows = file.read()
        require_sound(rows)
        _require_dates(rows)
    return rows


def require_sound(rows: pa.Table) -> None:
    """Raise an error for rows that are out of Arrow's own form, or hold too much text.

    Raises:
        pa.ArrowInvalid: they are out of form.
        ParquetError: their texts are too long.
    """
    rows.validate(full=True)
    size = sum(
        pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0
        for column in rows.columns
        if kinds.is_dictionary(column.type) and _is_text(column.type.value_type)
        for chunk in column.chunks
    )
    if size > _MOST_TEXT:
        raise ParquetError(f"it holds {size:,} bytes of text, which is more than {_MOST_TEXT:,}")


def value_type(field: pa.Field) -> pa.DataType:
    """Return the type of a column's values, also where it is a dictionary of them."""
    return field.type.value_type if kinds.is_dictionary(field.type) else field.type


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
        days = column.cast(pa.date32(), safe=False).cast(pa.int32())
        least, most = pc.min_max(days).values()
        if days.null_count < len(days) and not (
            _DAYS[0] <= least.as_py() and most.as_py() <= _DAYS[1]
        ):
            raise ParquetError(f"its column {field.name} has a date out of the years 1 to 9999")


def _is_text(kind: pa.DataType) -> bool:
    return any(
        of_kind(kind)
        for of_kind in (
            *(kinds.is_string, kinds.is_binary, kinds.is_large_string, kinds.is_large_binary),
        )
    )
