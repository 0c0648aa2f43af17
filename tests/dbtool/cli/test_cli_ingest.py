"""`dbtool ingest`: what goes in, what is refused."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Call


def test_ingest_twice(call: Call, shard_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "own.duckdb"
    first = call("ingest", str(shard_folder), "--db", str(path))
    assert (first.code, first.output) == (0, "")
    assert first.errors == (
        "added 3 shards with 7 trials and 157 measurements; 0 shards already there\n"
    )
    second = call("ingest", str(shard_folder), "--db", str(path))
    assert second.errors == (
        "added 0 shards with 0 trials and 0 measurements; 3 shards already there\n"
    )
    assert call("studies", "--db", str(path)).output == call("studies").output


def test_damaged_shard_is_named_and_the_rest_goes_in(
    call: Call, shard_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "shards"
    shutil.copytree(shard_folder, folder)
    damaged = min(folder.rglob("*.parquet"))
    contents = bytearray(damaged.read_bytes())
    contents[len(contents) // 2] ^= 1
    damaged.write_bytes(contents)
    outcome = call("ingest", str(folder), "--db", str(tmp_path / "own.duckdb"))
    assert (outcome.code, outcome.output) == (1, "")
    refused, summary, sentence = outcome.errors.splitlines()
    assert refused.startswith(f"refused {damaged}: ")
    assert summary.startswith("added 2 shards")
    assert sentence.startswith("dbtool: 1 of 3 shards were refused; ")
