"""Writes one Parquet file of a release: the same bytes for the same rows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.store.published.files import schemas
from dbtool.store.published.manifest import PublishedFile

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

# A query on one study reads little besides, and there is enough in a group to compress.
_ROWS_A_GROUP = 100_000
# Takes twice the time of the default and saves a tenth; a release is written once and read often.
_COMPRESSION_LEVEL = 15
# A query on them skips row groups by their statistics. Those of metrics would mislead where a value
# is NaN, of which they say nothing.
_WITH_STATISTICS = frozenset(
    {"workload_id", "study_id", "batch_size", "shard_id", "trial_id", "step"}
)
_COUNTS = frozenset({"step", "steps", "measurements"})


class ParquetFile:
    """A file being written; a context that closes it.

    Args:
        folder: the release's folder.
        path: below it; the folders between are made.
        table: the table that they belong to.
        workload: the workload whose measurements they are; None of other tables.
    """

    def __init__(self, folder: Path, path: str, table: str, workload: str | None = None) -> None:
        self._path = folder / path
        self._name = path
        self._table = table
        self._workload = workload
        self._schema = schemas()[table]
        self._pending: list[pa.Table] = []
        self._rows = self._waiting = 0
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(self._path, self._schema, **_settings(self._schema))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()

    def write(self, rows: pa.Table) -> None:
        """Adds rows behind those that are there."""
        # A copy, because DuckDB's rows hold on to far more memory than they fill.
        self._pending.append(
            rows.take(np.arange(len(rows))).select(self._schema.names).cast(self._schema)
        )
        self._rows += len(rows)
        self._waiting += len(rows)
        if self._waiting >= _ROWS_A_GROUP:
            self._flush(_ROWS_A_GROUP)

    def end_study(self) -> None:
        """Ends the row group, so that the next study begins one.

        Of measurements always, which lets a reader take each study for a file of its own; of the
        small tables where it is half full.
        """
        fewest = 1 if self._workload is not None else _ROWS_A_GROUP // 2
        if self._waiting >= fewest:
            self._flush(1)

    def finish(self) -> PublishedFile:
        """Ends the file, and says what it is."""
        if self._waiting:
            self._flush(1)
        self._writer.close()
        return described(self._path, self._name, self._table, self._rows, self._workload)

    def _flush(self, fewest: int) -> None:
        """Writes row groups while at least so many rows wait."""
        waiting = pa.concat_tables(self._pending)
        while len(waiting) >= fewest and len(waiting):
            self._writer.write_table(waiting.slice(0, _ROWS_A_GROUP), row_group_size=_ROWS_A_GROUP)
            waiting = waiting.slice(_ROWS_A_GROUP)
        self._pending, self._waiting = [waiting], len(waiting)


def described(
    path: Path,
    name: str,
    table: str | None = None,
    rows: int | None = None,
    workload: str | None = None,
) -> PublishedFile:
    """A file that was written, as the manifest lists it.

    Args:
        path: the file.
        name: its path below the release's folder.
        table: the table whose rows it holds, if any.
        rows: how many.
        workload: the workload whose measurements it holds, if any.
    """
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return PublishedFile(name, digest, path.stat().st_size, table, rows, workload)


def _settings(schema: pa.Schema) -> dict[str, object]:
    """How the columns are written.

    Counts as differences and batch losses byte by byte. Evaluations are shares or were rounded, and
    so repeat: a dictionary makes the decimals of an archive half as large as their bytes.
    """
    encodings = {}
    for field in schema:
        if field.name in _COUNTS:
            encodings[field.name] = "DELTA_BINARY_PACKED"
        elif pa.types.is_float32(field.type):
            encodings[field.name] = "BYTE_STREAM_SPLIT"
    names = [
        name
        for field in schema
        for name in (
            [f"{field.name}.key_value.{part}" for part in ("key", "value")]
            if pa.types.is_map(field.type)
            else [field.name]
        )
    ]
    return {
        "compression": "zstd",
        "compression_level": _COMPRESSION_LEVEL,
        "use_dictionary": [name for name in names if name not in encodings],
        "column_encoding": encodings,
        "write_statistics": [name for name in names if name in _WITH_STATISTICS],
        "write_page_checksum": True,
        "store_schema": False,
    }
