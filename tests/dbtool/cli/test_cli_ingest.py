"""`dbtool ingest`: what goes in, what is refused."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.support.made_up import write_release

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Call


def test_ingest_twice(call: Call, database: Path, tmp_path: Path) -> None:
    path = tmp_path / "new"
    first = call("ingest", str(database), "--db", str(path))
    assert (first.code, first.output) == (0, "")
    assert first.errors == (
        "added 3 shards with 7 trials and 157 measurements to made-up; 0 shards already there\n"
    )
    second = call("ingest", str(database), "--db", str(path))
    assert second.errors == (
        "added 0 shards with 0 trials and 0 measurements to made-up; 3 shards already there\n"
    )
    assert call("studies", "--db", str(path)).output == call("studies").output


def test_several_releases_of_which_one_is_damaged(
    call: Call, database: Path, tmp_path: Path
) -> None:
    releases = tmp_path / "releases"
    shutil.copytree(database, releases / "made-up")
    write_release(releases / "sound", "sound")
    damaged = min((releases / "made-up").rglob("*.parquet"))
    contents = bytearray(damaged.read_bytes())
    contents[len(contents) // 2] ^= 1
    damaged.write_bytes(contents)
    outcome = call("ingest", str(releases), "--db", str(tmp_path / "own"))
    assert (outcome.code, outcome.output) == (1, "")
    refused, summary, sentence = outcome.errors.splitlines()
    assert refused.startswith(f"refused {releases / 'made-up'}: {damaged} is damaged: ")
    assert summary.startswith("added 1 shard with 1 trial")
    assert sentence.startswith("dbtool: 1 of 2 releases were refused")
