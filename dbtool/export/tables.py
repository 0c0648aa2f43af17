"""The view measurements as one file: Parquet, CSV, Arrow."""

from __future__ import annotations

import contextlib
import json
import math
from typing import TYPE_CHECKING, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.store.contract import OTHER_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Write = Callable[[pa.Table], None]

_CODEC = "zstd"
_ROWS_A_GROUP = 122_880
_SHARE = "classification_error"


@contextlib.contextmanager
def writing_parquet(file: BinaryIO, schema: pa.Schema) -> Iterator[Write]:
    """Writes tables as Parquet, with a row group for each at least, so that readers skip others.

    Args:
        file: where to; whole when the block ends.
        schema: that of the tables.
    """
    losses = [
        field.name
        for field in schema
        if pa.types.is_floating(field.type) and not field.name.endswith(_SHARE)
    ]
    writer = pq.ParquetWriter(
        file,
        schema,
        compression=_CODEC,
        # Steps and shares of examples repeat; of other measurements the first bytes do.
        use_dictionary=[name for name in schema.names if name not in losses],
        use_byte_stream_split=losses,
        # Or readers would take the dictionaries for a type of their own.
        store_schema=False,
    )
    with writer:

        def write(table: pa.Table) -> None:
            if table.num_rows:
                writer.write_table(table, row_group_size=_ROWS_A_GROUP)

        yield write


@contextlib.contextmanager
def writing_arrow(file: BinaryIO, schema: pa.Schema) -> Iterator[Write]:
    """Writes tables as an Arrow IPC file.

    Args:
        file: where to; whole when the block ends.
        schema: that of the tables.
    """
    # A file can hold but one dictionary for all of its rows.
    plain = pa.schema([field.with_type(_plain(field.type)) for field in schema])
    options = pa.ipc.IpcWriteOptions(compression=_CODEC)
    with pa.ipc.new_file(file, plain, options=options) as writer:
        yield lambda table: writer.write_table(table.cast(plain), max_chunksize=_ROWS_A_GROUP)


@contextlib.contextmanager
def writing_csv(file: BinaryIO, schema: pa.Schema) -> Iterator[Write]:
    """Writes tables as CSV; metrics without a column of their own are a JSON object.

    Args:
        file: where to; whole when the block ends.
        schema: that of the tables.
    """
    file.write(pl.DataFrame(schema=dict.fromkeys(schema.names, pl.String)).write_csv().encode())
    position = schema.get_field_index(OTHER_METRICS)

    def write(table: pa.Table) -> None:
        texts = _json_objects(table.column(position))
        frame = pl.DataFrame(table.set_column(position, OTHER_METRICS, texts))
        file.write(frame.write_csv(include_header=False).encode())

    yield write


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _json_objects(column: pa.ChunkedArray) -> pa.Array:
    """Maps as text; NaN and infinite numbers, which JSON does not have, become null."""
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.string())
    maps = column.to_pylist(maps_as_pydicts="strict")
    return pa.array(
        [
            None
            if each is None
            else json.dumps(
                {name: value if math.isfinite(value) else None for name, value in each.items()},
                ensure_ascii=False,
            )
            for each in maps
        ],
        pa.string(),
    )
