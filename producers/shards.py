"""Writes shards: whole or not at all, named by their contents.

The contract is schema/shard.toml.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbtool.errors import DbtoolError
from dbtool.store.contract import shard_format, shard_name, shard_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

TEMPORARY_PREFIX = ".writing-"
# Steps count up, and losses rarely repeat: these halve the file.
_ENCODINGS = {
    "step": "DELTA_BINARY_PACKED",
    "batch_cross_entropy_error": "BYTE_STREAM_SPLIT",
    "train_cross_entropy_error": "BYTE_STREAM_SPLIT",
    "val_cross_entropy_error": "BYTE_STREAM_SPLIT",
    "test_cross_entropy_error": "BYTE_STREAM_SPLIT",
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
        tables: the rows, with the columns of the contract, sorted by trial_id, step; each table
            becomes a row group, so that a large block never lies in memory whole.
        compression_level: of zstd, up to 22; None is its default, which costs no time to speak of.

    Raises:
        DbtoolError: when the file cannot be written, for instance because the disk is full.
    """
    import pyarrow.parquet as pq

    metadata = {
        "dbtool_shard_format": str(shard_format()),
        "dbtool_study": _json(study),
        "dbtool_trials": _json(trials),
        "dbtool_producer": _json(producer),
    }
    schema = shard_schema().with_metadata(metadata)
    temporary = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, suffix=".parquet", dir=folder)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            with pq.ParquetWriter(
                file,
                schema,
                compression="zstd",
                compression_level=compression_level,
                use_dictionary=[name for name in schema.names if name not in _ENCODINGS],
                column_encoding=_ENCODINGS,
                write_page_checksum=True,
            ) as writer:
                for table in tables:
                    writer.write_table(table.cast(schema))
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        with temporary.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        ids = [trial["trial_id"] for trial in trials]
        path = folder / shard_name(ids[0], ids[-1], digest)
        temporary.rename(path)
        _sync_folder(folder)
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise DbtoolError(
            f"could not write a shard into {folder}: {reason}; "
            "free some space or choose another folder with --out, then run the same command again"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return path


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
