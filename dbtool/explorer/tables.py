"""The tables that the page computes from: Parquet files with a row group for each workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Self

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from types import TracebackType

_KEYS = [("batch_size", pa.int32()), ("trial_id", pa.int32())]
IMPROVEMENTS = pa.schema(
    [*_KEYS, ("after", pa.int32()), ("step", pa.int32()), ("value", pa.float64())]
)
TRIALS = pa.schema(
    [
        *_KEYS,
        ("status", pa.string()),
        ("ordinal", pa.int32()),
        ("steps", pa.int32()),
        ("learning_rate", pa.float64()),
        ("momentum", pa.float64()),
        ("settings", pa.string()),
    ]
)
# Measured on the first release: dictionaries make the files a quarter larger, and splitting the
# bytes of numbers a third. Differences are smaller only for numbers that mostly rise by one.
_RISING = ("trial_id", "ordinal")
# A higher level does not make smaller files, and takes twice the time for 70 million measurements.
_LEVEL = 15


def curves_schema(metrics: list[str]) -> pa.Schema:
    """Return the columns of the curves of some metrics."""
    return pa.schema([*_KEYS, ("step", pa.int32()), *((name, pa.float64()) for name in metrics)])


class GroupWriter:
    """Writes a Parquet file, a row group for each table; equal tables give equal bytes."""

    def __init__(self, sink: BinaryIO, schema: pa.Schema) -> None:
        """Start the file.

        Args:
            sink: where it goes; stays open.
            schema: the columns of every table.
        """
        self._schema = schema
        self._groups = 0
        self._writer = pq.ParquetWriter(
            sink,
            schema,
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=False,
            column_encoding=dict.fromkeys(
                (name for name in _RISING if name in schema.names), "DELTA_BINARY_PACKED"
            ),
            write_statistics=False,
            store_schema=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._writer.close()

    def add(self, table: pa.Table) -> int:
        """Write the columns of the schema as a row group; return its number."""
        chosen = table.select(self._schema.names).cast(self._schema)
        self._writer.write_table(chosen, row_group_size=max(1, chosen.num_rows))
        self._groups += 1
        return self._groups - 1
