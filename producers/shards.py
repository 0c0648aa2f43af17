"""Writes shards: whole or not at all, named by their contents.

The contract is schema/shard.toml.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from dbtool.errors import DbtoolError
from dbtool.store.contract import OTHER_METRICS, shard_format, shard_name, shard_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

TEMPORARY_PREFIX = ".writing-"
# Steps count up, and losses rarely repeat: these halve the file.
_ENCODINGS = {
    "step": "DELTA_BINARY_PACKED",
    "batch_cross_entropy_error": "BYTE_STREAM_SPLIT",
    "train_cross_entropy_error": "BYTE_STREAM_SPLIT",
    "val_cross_entropy_error": "BYTE_STREAM_SPLIT",
    "test_cross_entropy_error": "BYTE_STREAM_SPLIT",
    "train_average_precision": "BYTE_STREAM_SPLIT",
    "val_average_precision": "BYTE_STREAM_SPLIT",
    "test_average_precision": "BYTE_STREAM_SPLIT",
    f"{OTHER_METRICS}.key_value.value": "BYTE_STREAM_SPLIT",
}


def write_shard(
    folder: Path,
    *,
    study: Mapping[str, Any],
    trials: Sequence[Mapping[str, Any]],
    producer: Mapping[str, Any],
    tables: Iterable[pa.Table],
    compression_level: int | None = None,
) -> Path:
    """Writes one block of trials as a Parquet file and returns its path.

    The file is written under a temporary name in the same folder, synced, hashed and then renamed,
    so that a shard that can be seen is complete, also after a crash of the machine.

    Args:
        folder: where the shard goes; made when absent.
        study: what the metadata key dbtool_study holds.
        trials: what dbtool_trials holds, sorted by trial_id.
        producer: what dbtool_producer holds.
        tables: the rows, sorted by trial_id, step, at least one table; each becomes a row group, so
            that a large block never lies in memory whole. All have the same columns: those of the
            contract, and of its optional ones those of which some row has a value.
        compression_level: of zstd, up to 22; None is its default, which costs no time to speak of.

    Raises:
        DbtoolError: when the file cannot be written, for instance because the disk is full.
    """
    metadata = {
        "dbtool_shard_format": str(shard_format()),
        "dbtool_study": _json(study),
        "dbtool_trials": _json(trials),
        "dbtool_producer": _json(producer),
    }
    with _disk_errors(folder), contextlib.ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, suffix=".parquet", dir=folder)
        temporary = Path(name)
        stack.callback(temporary.unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            _write_tables(file, tables, metadata, compression_level)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        with temporary.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        ids = [trial["trial_id"] for trial in trials]
        path = folder / shard_name(ids[0], ids[-1], digest)
        temporary.rename(path)
        _sync_folder(folder)
    return path


def place_shard(shard: Path, folder: Path) -> Path:
    """Moves a shard, which lies on the same disk, into a folder and returns its path there.

    Raises:
        DbtoolError: when it cannot be moved.
    """
    with _disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = shard.rename(folder / shard.name)
        _sync_folder(folder)
    return path


def receive_shard(folder: Path, name: str, content: bytes) -> Path:
    """Writes a shard that came from elsewhere, whole or not at all, and returns its path.

    Raises:
        DbtoolError: when the file cannot be written, for instance because the disk is full.
    """
    with _disk_errors(folder), contextlib.ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{TEMPORARY_PREFIX}{name}"
        stack.callback(temporary.unlink, missing_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        path = temporary.rename(folder / name)
        _sync_folder(folder)
    return path


@contextlib.contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    """Says in one sentence why a shard cannot be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise DbtoolError(
            f"could not write a shard into {folder}: {reason}; "
            "free some space or choose another folder with --out, then run the same command again"
        ) from error


def _write_tables(
    file: BinaryIO,
    tables: Iterable[pa.Table],
    metadata: Mapping[str, str],
    compression_level: int | None,
) -> None:
    """Writes tables of the same columns as the row groups of a Parquet file."""
    import pyarrow.parquet as pq

    following = iter(tables)
    first = next(following)
    schema = shard_schema(frozenset(first.column_names)).with_metadata(dict(metadata))
    leaves = [f"{name}.key_value.key" if name == OTHER_METRICS else name for name in schema.names]
    with pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=compression_level,
        use_dictionary=[leaf for leaf in leaves if leaf not in _ENCODINGS],
        column_encoding=_ENCODINGS,
        write_page_checksum=True,
    ) as writer:
        for table in chain([first], following):
            writer.write_table(table.cast(schema))


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
