"""What `dbtool verify` finds in a database, and what it answers to other files."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest
from support.made_up import curve, write_shard

from dbtool.errors import UsageError
from dbtool.release.merge import merge_shards
from dbtool.release.reduction import Reduction
from dbtool.release.verify import verify
from dbtool.resources import queries_folder
from dbtool.store.database import open_for_writing
from dbtool.store.ingest import find_shards, ingest

if TYPE_CHECKING:
    from pathlib import Path

# Sizes in a DuckDB file: its three headers, and a block.
DUCKDB_HEADERS = 3 * 4096
DUCKDB_BLOCK = 262_144
DAMAGED = "is damaged: its checksum does not match"
LEARNING_RATE = {"learning_rate": 0.1}


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Two studies of two trials of 41 rows; those of batch size 8 lie in two shards."""
    folder = tmp_path / "shards"
    first, second = (
        (number, "COMPLETE", LEARNING_RATE, curve([0.9, 0.5, 0.3, 0.2, 0.1])) for number in (0, 1)
    )
    return [
        write_shard(folder, batch_size=8, trials=[second]),
        write_shard(folder, batch_size=8, trials=[first]),
        write_shard(folder, batch_size=64, trials=[first, second]),
    ]


@pytest.fixture
def database(shards: list[Path], tmp_path: Path) -> Path:
    path = tmp_path / "db.duckdb"
    with open_for_writing(path) as connection:
        ingest(connection, shards)
    return path


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)


def reasons(path: Path) -> list[str]:
    return sorted(problem.reason for problem in verify(path).problems)


def test_a_sound_database_passes(database: Path) -> None:
    found = verify(database)
    assert (found.problems, found.databases, found.measurements) == ((), 1, 164)


def test_rows_that_do_not_add_up_are_found(database: Path) -> None:
    change(database, "DELETE FROM stored.measurement WHERE trial_id = 1 AND step = 7")
    assert reasons(database) == [
        f"trial 1 of study {study} has 40 rows and should have 41" for study in (1, 2)
    ]


def test_shards_that_do_not_add_up_are_found(database: Path) -> None:
    change(
        database,
        "DELETE FROM stored.shard WHERE measurements = 82",
        "UPDATE stored.shard SET measurements = 42 WHERE shard_id = 1",
    )
    with duckdb.connect(database, read_only=True) as connection:
        [(name,)] = connection.execute(
            "SELECT name FROM stored.shard WHERE shard_id = 1"
        ).fetchall()
    assert reasons(database) == [
        f"the trials of shard {name} have 41 measurements and should have 42",
        "trial 0 of study 2 names a shard that is not there",
        "trial 1 of study 2 names a shard that is not there",
    ]


@pytest.mark.parametrize(
    ("statement", "trials"),
    [
        ("DELETE FROM stored.improvement WHERE study_id = 2 AND trial_id = 1 AND step = 20", [1]),
        ("UPDATE stored.improvement SET step = 21 WHERE study_id = 2 AND step = 20", [0, 1]),
        ("UPDATE stored.improvement SET value = 0.31 WHERE study_id = 2 AND step = 20", [0, 1]),
        ("INSERT INTO stored.improvement VALUES (2, 7, 0, 0.9)", [7]),
        ("INSERT INTO stored.improvement VALUES (2, 0, 40, 0.1)", [0]),
        ("UPDATE stored.trial SET status = 'INFEASIBLE' WHERE study_id = 2 AND trial_id = 0", [0]),
    ],
)
def test_improvements_that_do_not_follow_are_found(
    database: Path, statement: str, trials: list[int]
) -> None:
    change(database, statement)
    assert reasons(database) == [
        f"the improvements of trial {trial} of study 2 are not those of its rows"
        for trial in trials
    ]


def test_improvements_of_no_study_are_found(database: Path) -> None:
    change(database, "INSERT INTO stored.improvement VALUES (9, 7, 0, 0.9)")
    assert reasons(database) == ["the improvements of trial 7 of study 9 are not those of its rows"]


def reorder(path: Path, order: str) -> None:
    """Stores all measurements anew in another order."""
    change(
        path,
        f"CREATE TABLE other AS FROM stored.measurement ORDER BY {order}",
        "DELETE FROM stored.measurement",
        "INSERT INTO stored.measurement FROM other",
        "DROP TABLE other",
        "CHECKPOINT",
    )


def unsorted(*trials: tuple[int, int]) -> list[str]:
    return [
        f"the rows of trial {trial} of study {study} are not sorted by step in one place"
        for trial, study in sorted(trials)
    ]


ALL_TRIALS = [(0, 1), (0, 2), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("order", "wrong"),
    [
        ("study_id, trial_id, step", []),
        # A later load adds the trials of a study that is there already behind other studies.
        ("trial_id, study_id DESC, step", []),
        ("study_id, step, trial_id", ALL_TRIALS),
        ("study_id, trial_id, step DESC", ALL_TRIALS),
        ("study_id, trial_id, if(study_id = 2 AND step = 40, -1, step)", [(0, 2), (1, 2)]),
        ("step = 40 AND trial_id = 0 AND study_id = 1, study_id, trial_id, step", [(0, 1)]),
    ],
)
def test_rows_out_of_order_are_found(
    database: Path, order: str, wrong: list[tuple[int, int]]
) -> None:
    reorder(database, order)
    assert reasons(database) == unsorted(*wrong)


def test_steps_may_repeat_in_an_archive_and_not_in_a_shard(database: Path) -> None:
    change(
        database,
        "UPDATE stored.measurement SET step = 6 WHERE step = 7 AND trial_id = 1 AND study_id = 2",
    )
    # An update may store the row elsewhere.
    reorder(database, "study_id, trial_id, step")
    assert reasons(database) == ["trial 1 of study 2 has a step twice"]
    change(
        database,
        "UPDATE stored.trial SET shard_id = NULL WHERE study_id = 2",
        "DELETE FROM stored.shard WHERE study_id = 2",
    )
    assert reasons(database) == []


def test_the_order_is_checked_without_sorting(database: Path) -> None:
    query = (queries_folder() / "verify" / "database.sql").read_text()
    with duckdb.connect(database, read_only=True) as connection:
        [(_, plan)] = connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
    assert '"STREAMING_WINDOW"' in plan
    assert '"WINDOW"' not in plan


def test_every_damaged_block_that_a_query_may_read_is_found(tmp_path: Path) -> None:
    """Data, indexes of one column, and the file's own headers and metadata."""
    path = tmp_path / "db.duckdb"
    values = [0.9 - 0.001 * index for index in range(300)]
    trial = (0, "COMPLETE", LEARNING_RATE, curve(values))
    for release in ("one", "two"):
        for workload in ("a/b/c", "d/e/f"):
            write_shard(tmp_path / release, workload=workload, release=release, trials=[trial])
    with open_for_writing(path) as connection:
        ingest(connection, find_shards([tmp_path / "one", tmp_path / "two"]))
    change(path, "CHECKPOINT")
    sound = path.read_bytes()
    places = [*(DUCKDB_HEADERS * third // 3 for third in range(3))]
    places += range(DUCKDB_HEADERS, len(sound), DUCKDB_BLOCK)
    found = []
    for place in places:
        damaged = bytearray(sound)
        damaged[place + 1000] ^= 1
        path.write_bytes(damaged)
        problems = reasons(path)
        assert problems in ([], [f"the block at byte {place} {DAMAGED}"])
        found += problems
    path.write_bytes(sound)
    assert reasons(path) == []
    with duckdb.connect(path, read_only=True) as connection:
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'stored'"
        ).fetchall()
        used = {
            block
            for (table,) in tables
            for block, more in connection.execute(
                f"SELECT block_id, additional_block_ids FROM pragma_storage_info('stored.{table}')"
            ).fetchall()
            for block in (block, *(more or []))
            if block >= 0
        }
    for block in used:
        assert f"the block at byte {DUCKDB_HEADERS + block * DUCKDB_BLOCK} {DAMAGED}" in found
    # The six indexes of one column too; two of several columns only serve loading.
    assert len(found) >= len(used) + 6


def test_a_database_that_was_cut_is_found(database: Path) -> None:
    sound = database.read_bytes()
    for size in (0, 3, 4096, DUCKDB_HEADERS, DUCKDB_HEADERS + 2 * DUCKDB_BLOCK):
        database.write_bytes(sound[:size])
        [problem] = verify(database).problems
        assert str(problem).startswith((f"{database}: ", f"{database} ", "the database "))
        assert "\n" not in str(problem)


def test_a_database_in_use_is_told_in_one_sentence(database: Path) -> None:
    with open_for_writing(database):
        done = subprocess.run(
            [sys.executable, "-m", "dbtool", "verify", str(database)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    [line, counts, last] = done.stderr.splitlines()
    assert line.startswith(
        f"the database {database} is in use by another process (PID {os.getpid()})"
    )
    assert line.endswith("try again when that has ended")
    assert counts == f"{database}: nothing sound, 0 measurements"
    assert last == "dbtool: 1 problem found (listed above)"


def test_a_file_of_another_program(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE made_up AS SELECT 1 AS a")
    (tmp_path / "text.duckdb").write_text("made up")
    [other] = verify(tmp_path / "other").problems
    assert str(other) == (
        f"{tmp_path / 'other'} is a DuckDB database that dbtool did not make: "
        "give one that `dbtool ingest` made"
    )
    [text] = verify(tmp_path / "text.duckdb").problems
    assert str(text) == (
        f"{tmp_path / 'text.duckdb'} is not a database: give one that `dbtool ingest` made"
    )


def test_files_are_known_by_their_letters(
    database: Path, shards: list[Path], tmp_path: Path
) -> None:
    assert verify(database.rename(tmp_path / "renamed.1")).databases == 1
    [problem] = verify(shards[0].rename(tmp_path / "renamed.2")).problems
    assert "name" in problem.reason


def test_a_manifest_stands_for_its_folder(shards: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "release"
    about = {"release": "made-up", "title": "", "licence": "CC0-1.0"}
    merge_shards(shards, out, **about, reduction=Reduction())
    assert verify(out / "manifest.json") == verify(out)
    next(out.rglob("*.parquet")).unlink()
    assert [problem.reason for problem in verify(out / "manifest.json").problems] == [
        "it is missing"
    ]


KINDS = "give a release folder, its manifest.json, a folder of shards, a shard or a database"


@pytest.mark.parametrize("name", ["README.md", "points.csv", "pipe", "empty"])
def test_what_cannot_be_checked(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "pipe":
        os.mkfifo(path)
    else:
        path.write_text("" if name == "empty" else "made up")
    with pytest.raises(UsageError) as caught:
        verify(path)
    assert str(caught.value) == f"{path} is none of what can be checked; {KINDS}"


def test_verify_needs_something_to_check(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no release and no shards"):
        verify(tmp_path)
    with pytest.raises(UsageError, match=f"there is no .*; {KINDS}"):
        verify(tmp_path / "nowhere")
    archive = tmp_path / "archive.tar.bz2"
    archive.touch()
    with pytest.raises(UsageError, match=f"`dbtool import {archive}` checks it"):
        verify(archive)
