"""Shards appear whole or not at all, under the name of their contents."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.made_up import PRODUCER, curve, shard_metadata, shard_table

from dbtool.errors import DbtoolError
from dbtool.store.contract import (
    PRODUCER_KEY,
    STUDY_KEY,
    TRIALS_KEY,
    parse_shard_name,
    shard_format,
    shard_schema,
)
from producers.shards import TEMPORARY_PREFIX, write_shard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

TRIALS = [
    (3, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, 0.2])),
    (4, "INFEASIBLE", {"learning_rate": 9.0}, curve([0.9, float("inf")])),
]
METADATA = shard_metadata(TRIALS)


def write(folder: Path, tables: Iterable[pa.Table], trials: Any = None) -> Path:
    return write_shard(
        folder,
        study=METADATA[STUDY_KEY],
        trials=trials or METADATA[TRIALS_KEY],
        producer=METADATA[PRODUCER_KEY],
        tables=tables,
    )


def test_shard_keeps_the_contract(tmp_path: Path) -> None:
    table = shard_table(TRIALS)
    path = write(tmp_path / "not" / "there", [table])
    name = parse_shard_name(path.name)
    assert name is not None
    assert (name.first, name.last) == (3, 4)
    assert hashlib.sha256(path.read_bytes()).hexdigest().startswith(name.digest)
    read = pq.read_table(path)
    assert read.replace_schema_metadata(None).equals(table)
    assert read.schema.remove_metadata().equals(shard_schema())
    assert [path.name for path in path.parent.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o644
    metadata = pq.read_metadata(path).metadata
    assert metadata[b"dbtool_shard_format"] == str(shard_format()).encode()
    assert json.loads(metadata[b"dbtool_producer"]) == PRODUCER
    for key in (STUDY_KEY, TRIALS_KEY):
        assert json.loads(metadata[key.encode()]) == METADATA[key]


def test_every_table_is_a_row_group(tmp_path: Path) -> None:
    table = shard_table(TRIALS)
    path = write(tmp_path, [table.slice(0, 7), table.slice(7)])
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(group).num_rows for group in (0, 1)] == [7, len(table) - 7]
    assert file.read().replace_schema_metadata(None).equals(table)


def test_same_contents_have_the_same_name(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name, [shard_table(TRIALS)]) for name in "ab")
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_failure_between_tables_leaves_nothing(tmp_path: Path) -> None:
    def tables() -> Iterator[pa.Table]:
        yield shard_table(TRIALS)
        assert [path.name[: len(TEMPORARY_PREFIX)] for path in tmp_path.iterdir()] == [
            TEMPORARY_PREFIX
        ]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, tables())
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DbtoolError, match=r"could not write a shard into .*file.*--out") as caught:
        write(tmp_path / "file" / "below", [shard_table(TRIALS)])
    assert "\n" not in str(caught.value)
