"""Writes Iceberg tables over the Parquet files of a release, of which none is copied or changed.

Only metadata is written (https://iceberg.apache.org/spec, version 2), in the form that needs no
service: of each table its state, a list of manifests, and one manifest, which names the files by
absolute addresses. The same release at the same address gives the same bytes.
"""

import contextlib
import datetime as dt
import hashlib
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pyarrow.fs import LocalFileSystem
from pyiceberg import manifest as manifests
from pyiceberg import types
from pyiceberg.io import OutputFile
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO, parquet_file_to_data_file
from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties, snapshots, update
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import IdentityTransform

from dbtool.core.contract import OTHER_METRICS, shard_schema
from dbtool.core.files import finish, unfinished, write_whole
from dbtool.core.manifest import Manifest
from dbtool.release.layout import (
    ICEBERG,
    MEANINGS,
    MEASUREMENTS_TABLE,
    address_of,
    iceberg_state,
    published_columns,
    table_path,
)

_FORMAT: Final = 2
_CODEC: Final = "deflate"
_SYNC_BYTES = 16
_TYPES = {
    "BOOLEAN": types.BooleanType(),
    "FLOAT": types.FloatType(),
    "DOUBLE": types.DoubleType(),
    "INTEGER": types.IntegerType(),
    "BIGINT": types.LongType(),
    "VARCHAR": types.StringType(),
}
# The columns whose values name the folders of shards.
_FOLDERS = ("workload", "batch_size")


def write_iceberg(folder: Path, manifest: Manifest, address: str, date: str | None) -> list[str]:
    """Write Iceberg tables over a release folder; return the written files, relative to it.

    The address that the folder will have is from `check_base_url`; the date is that of the tables'
    only snapshot, as YYYY-MM-DD or YYYY, or None for 1970-01-01.
    """
    day = "1970-01-01" if date is None else date if "-" in date else f"{date}-01-01"
    moment = int(dt.datetime.fromisoformat(day).replace(tzinfo=dt.UTC).timestamp() * 1000)
    return [
        path
        for table in MEANINGS
        for path in _write_table(folder, manifest, table, address, moment)
    ]


def _write_table(
    folder: Path, manifest: Manifest, table: str, address: str, moment: int
) -> list[str]:
    """Write the metadata of one table, its state last."""
    location = f"{address}/{ICEBERG}/{table}"
    identity = uuid.uuid5(uuid.NAMESPACE_URL, location)
    state = new_table_metadata(
        *_columns(table), UNSORTED_SORT_ORDER, location, _properties(table), identity
    ).model_copy(update={"last_updated_ms": moment})
    path = iceberg_state(table)
    below = path.rpartition("/")[0]
    is_whole = table != MEASUREMENTS_TABLE
    of_table = [manifest.file(table_path(table))] if is_whole else [*manifest.shards]
    # A file without rows has no values to sort it by.
    files = {address_of(address, file.path): file for file in of_table if file and file.rows}
    written = []
    if files:
        source = _Files({at: folder / file.path for at, file in files.items()})
        data_files = [parquet_file_to_data_file(source, state, at) for at in files]
        digest = hashlib.sha256("\n".join(f"{at} {files[at].sha256}" for at in files).encode())
        number = int.from_bytes(digest.digest()[:8], "big") >> 1
        commit = uuid.uuid5(identity, digest.hexdigest())
        written = [f"{below}/{commit}-m0.avro", f"{below}/snap-{number}-0-{commit}.avro"]
        with _avro(folder, written[0], address) as output:
            listed = _write_manifest(output, state, data_files, number)
        with (
            _avro(folder, written[1], address) as output,
            manifests.write_manifest_list(_FORMAT, output, number, None, 1, _CODEC) as writer,
        ):
            writer.add_manifests([listed])
        state = _with_snapshot(state, data_files, number, address_of(address, written[1]))
    write_whole(folder / path, state.model_dump_json().encode())
    hint = f"{below}/version-hint.text"
    write_whole(folder / hint, b"1")
    return [*written, path, hint]


def _columns(table: str) -> tuple[Schema, PartitionSpec]:
    """Return the columns of a table, and those that its folders are named by."""
    nullable = {field.name: field.nullable for field in shard_schema()}
    fields = [
        types.NestedField(
            number,
            column.name,
            _TYPES[column.type],
            required=table == MEASUREMENTS_TABLE and not nullable[column.name],
            doc=column.meaning or None,
        )
        for number, column in enumerate(published_columns()[table], 1)
    ]
    parts = [
        PartitionField(field.field_id, 1000 + number, IdentityTransform(), field.name)
        for number, field in enumerate(fields)
        if table == MEASUREMENTS_TABLE and field.name in _FOLDERS
    ]
    return Schema(*fields), PartitionSpec(*parts)


def _properties(table: str) -> dict[str, str]:
    schema, _ = _columns(table)
    return {
        "comment": MEANINGS[table],
        # No engine is to remove files of the release.
        "gc.enabled": "false",
        # Iceberg's faster reader for Spark, at least up to 1.10, fails on BYTE_STREAM_SPLIT.
        "read.parquet.vectorization.enabled": "false",
        # The files hold no numbers of columns.
        TableProperties.DEFAULT_NAME_MAPPING: schema.name_mapping.model_dump_json(),
        # Bounds leave NaN out: an engine to which it is the largest number would pass over files.
        **{
            f"{TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX}.{column.name}": "counts"
            for column in published_columns()[table]
            if column.type in {"FLOAT", "DOUBLE"} or column.name == OTHER_METRICS
        },
    }


def _write_manifest(
    output: OutputFile, table: TableMetadata, data_files: list[DataFile], number: int
) -> ManifestFile:
    with manifests.write_manifest(
        _FORMAT, table.spec(), table.schema(), output, number, _CODEC
    ) as writer:
        for data_file in data_files:
            entry = manifests.ManifestEntry.from_args(
                status=manifests.ManifestEntryStatus.ADDED,
                snapshot_id=number,
                sequence_number=None,
                file_sequence_number=None,
                data_file=data_file,
            )
            writer.add(entry)
    return writer.to_manifest_file()


def _with_snapshot(
    empty: TableMetadata, data_files: list[DataFile], number: int, listing: str
) -> TableMetadata:
    """Return the state of a table after its only snapshot, with the address of its manifests."""
    counts = snapshots.SnapshotSummaryCollector()
    for data_file in data_files:
        counts.add_file(data_file, empty.schema(), empty.spec())
    summary = snapshots.Summary(snapshots.Operation.APPEND, **counts.build())
    added = {
        "snapshot-id": number,
        "sequence-number": 1,
        "timestamp-ms": empty.last_updated_ms,
        "manifest-list": listing,
        "summary": snapshots.update_snapshot_summaries(summary),
        "schema-id": empty.current_schema_id,
    }
    main = {"ref-name": "main", "type": "branch", "snapshot-id": number}
    updates = (
        update.AddSnapshotUpdate(snapshot=snapshots.Snapshot.model_validate(added)),
        update.SetSnapshotRefUpdate.model_validate(main),
    )
    # The library puts the present moment where none has passed.
    same_moment = {"last_updated_ms": empty.last_updated_ms}
    return update.update_table_metadata(empty, updates).model_copy(update=same_moment)


class _Files(PyArrowFileIO):
    """Files of this machine under the addresses that they are to have elsewhere."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        super().__init__()
        self._paths = paths

    def new_input(self, location: str) -> PyArrowFile:
        return PyArrowFile(location, str(self._paths[location]), LocalFileSystem())


@contextlib.contextmanager
def _avro(folder: Path, path: str, address: str) -> Iterator[OutputFile]:
    """Yield an Avro file to write, which gets its name once it is complete."""
    with unfinished((folder / path).parent) as (file, temporary):
        yield PyArrowFile(address_of(address, path), str(temporary), LocalFileSystem())
        content = temporary.read_bytes()
        # The marker between its blocks, with which it ends, is random.
        marker = content[-_SYNC_BYTES:]
        digest = hashlib.sha256(content.replace(marker, b"")).digest()
        file.write(content.replace(marker, digest[:_SYNC_BYTES]))
        finish(file, temporary, folder / path)
