"""The files of a published release: whole, in place, and with the columns they should have."""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.resources import schema_folder
from dbtool.store.published.layout import MEASUREMENTS, STORED

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.store.published.manifest import PublishedFile

_BESIDE = (pa.field("workload", pa.string()), pa.field("batch_size", pa.int32()))


@functools.cache
def schemas() -> dict[str, pa.Schema]:
    """The columns of each published table: those of schema/tables.sql, with JSON as text.

    Measurements have the workload and the batch size besides, behind the study.
    """
    with duckdb.connect() as connection:
        connection.execute((schema_folder() / "tables.sql").read_text(encoding="utf-8"))
        found = {
            table: connection.table(f"stored.{stored}").to_arrow_table().schema
            for table, stored in STORED.items()
        }
    found = {
        table: pa.schema([pa.field(field.name, _plain(field.type)) for field in schema])
        for table, schema in found.items()
    }
    study, *others = found[MEASUREMENTS]
    found[MEASUREMENTS] = pa.schema([study, *_BESIDE, *others])
    return found


def fault(folder: Path, file: PublishedFile) -> str | None:
    """What is wrong with a file as a whole, such as "it is missing"; None where nothing is.

    Args:
        folder: the release's folder.
        file: as the manifest lists it.
    """
    path = folder / file.path
    try:
        size = path.stat().st_size
        if not path.is_file():
            return "it is not a file"
        if size != file.bytes:
            return f"it has {size:,} bytes and should have {file.bytes:,}"
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if digest != file.sha256:
        return "its contents are not those that the manifest lists: its sha256 does not match"
    return None if file.table is None else _fault_of_columns(path, file)


def _fault_of_columns(path: Path, file: PublishedFile) -> str | None:
    """What is wrong with the columns and the number of rows of a whole file."""
    try:
        with pq.ParquetFile(path) as parquet:
            found, rows = parquet.schema_arrow, parquet.metadata.num_rows
    except (pa.ArrowException, OSError):
        return "it is not a readable Parquet file"
    wanted = schemas().get(file.table or "")
    if wanted is None:
        return f"no table is called {file.table}"
    columns = [(field.name, _plain(field.type)) for field in found]
    if columns != [(field.name, field.type) for field in wanted]:
        return f"its columns are not those of {file.table}"
    if rows != file.rows:
        return f"it has {rows:,} rows and should have {file.rows or 0:,}"
    return None


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type without the names that different writers give to the parts of a map."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return pa.map_(kind.key_type, kind.item_type) if pa.types.is_map(kind) else kind
