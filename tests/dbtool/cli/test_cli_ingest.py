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


def test_runs_of_other_tools_need_both_words(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text("run,step\n")
    for words, sentence in (
        (["--from", "csv"], "--from needs --map FILE, which says what the columns are"),
        (["--map", "m.toml"], "--map needs --from csv or --from jsonl; a release folder names "),
        (["--release", "x"], "--release needs --from csv or --from jsonl; a release folder names "),
        (["--from", "xml", "--map", "m.toml"], "'xml' is not one of 'csv', 'jsonl'"),
        (["--from", "csv", "--map", "m.toml"], "cannot read the mapping m.toml: No such file"),
    ):
        outcome = call("ingest", str(file), *words)
        assert (outcome.code, outcome.output) == (2, ""), words
        assert sentence in outcome.errors
        assert outcome.errors.count("\n") == 1


def test_a_mistake_in_a_mapping_makes_no_database(call: Call, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("run,step\n")
    (tmp_path / "m.toml").write_text('release = "x"\n')
    words = (str(tmp_path / "runs.csv"), "--from", "csv", "--map", str(tmp_path / "m.toml"))
    outcome = call("ingest", *words, "--db", str(tmp_path / "new"))
    assert (outcome.code, outcome.errors) == (
        2,
        f"dbtool: the mapping {tmp_path / 'm.toml'}: it has no files\n",
    )
    assert not (tmp_path / "new").exists()
