"""Readers, a loader and second loaders of one database, as processes of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.kills import python_with_disk
from support.made_up import curve, write_shard

import dbtool
from dbtool.errors import DbtoolError
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import find_shards, ingest
from dbtool.store.loading import loading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Loads what it is given, a study at a time, and waits for a line on standard input after each.
LOADER = """
import pathlib, sys
from dbtool.store.ingest import find_shards, ingest
from dbtool.store.loading import loading
database, *folders = map(pathlib.Path, sys.argv[1:])
with loading(database) as connection:
    for folder in folders:
        ingest(connection, find_shards([folder]))
        print("loaded", flush=True)
        sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three folders of a study each, of 22 measurements."""
    folder = tmp_path_factory.mktemp("studies")
    for number in range(3):
        trials = [
            (trial, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5])) for trial in (0, 1)
        ]
        write_shard(folder / str(number), batch_size=2**number, trials=trials)
    return [folder / str(number) for number in range(3)]


@pytest.fixture
def database(studies: list[Path], tmp_path: Path) -> Path:
    """A database that holds the first study."""
    path = tmp_path / "db"
    with open_for_writing(path) as connection:
        ingest(connection, find_shards([studies[0]]))
    return path


@contextlib.contextmanager
def loader(database: Path, *folders: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has loaded the first folder and waits."""
    words = [sys.executable, "-c", LOADER, str(database), *map(str, folders)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:
        try:
            next_study(process)
            yield process
        finally:
            process.kill()


def next_study(process: subprocess.Popen[str]) -> None:
    """Waits until the process has committed another study."""
    assert process.stdout is not None
    assert process.stdout.readline() == "loaded\n"


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def batch_sizes(database: Path) -> list[int]:
    """The studies, read through whole, so that half a study would show."""
    with open_for_reading(database) as connection:
        found = connection.execute(
            "SELECT batch_size, count(*) FROM measurements GROUP BY batch_size ORDER BY ALL"
        ).fetchall()
    assert {count for _, count in found} <= {22}
    return [size for size, _ in found]


def load(database: Path, *folders: Path) -> None:
    """Loads in this process."""
    with loading(database) as connection:
        assert not ingest(connection, find_shards(folders)).refused


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dbtool", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_readers_see_the_old_rows_until_all_new_ones_are_there(
    database: Path, studies: list[Path]
) -> None:
    with dbtool.open(database) as early, loader(database, *studies[1:]) as process:
        # Both studies are committed, one after the other, and nobody sees any of them.
        assert batch_sizes(database) == [1]
        go_on(process)
        next_study(process)
        assert batch_sizes(database) == [1]
        go_on(process)
        assert process.wait() == 0
        assert early.studies()["batch_size"].to_list() == [1]
        there = run("studies", "--db", database, "--format", "csv")
        assert (there.returncode, there.stderr, there.stdout.count("\n")) == (0, "", 4)
    assert batch_sizes(database) == [1, 2, 4]
    assert [path.name for path in database.parent.iterdir()] == ["db"]


def test_a_reader_keeps_no_loader_waiting(database: Path, studies: list[Path]) -> None:
    with open_for_reading(database):
        done = run("ingest", studies[1], "--db", database)
        assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert batch_sizes(database) == [1, 2]


def test_a_second_loader_is_told_which_process_is_first(
    database: Path, studies: list[Path]
) -> None:
    with loader(database, studies[1]) as process:
        second = run("ingest", studies[2], "--db", database)
        assert second.returncode == 1
        assert second.stderr == (
            f"dbtool: another process (PID {process.pid}) is loading into the database {database}: "
            "try again when that has ended\n"
        )
        go_on(process)
        assert process.wait() == 0
    assert batch_sizes(database) == [1, 2]
    load(database, studies[2])
    assert batch_sizes(database) == [1, 2, 4]


@pytest.mark.slow
def test_loaders_at_once_take_turns_or_are_told(database: Path, studies: list[Path]) -> None:
    words = [sys.executable, "-m", "dbtool", "ingest", *map(str, studies), "--db", str(database)]
    started = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in started:
        _, errors = process.communicate()
        assert process.returncode == 0 or "is loading into the database" in errors
    assert 0 in [process.returncode for process in started]
    assert batch_sizes(database) == [1, 2, 4]
    assert [path.name for path in database.parent.iterdir()] == ["db"]


def test_a_killed_load_changes_nothing_and_is_gone_on_with(
    database: Path, studies: list[Path]
) -> None:
    before = database.read_bytes()
    with loader(database, *studies[1:]) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert database.read_bytes() == before
    again = run("ingest", *studies, "--db", database)
    # The study that was committed counts as there.
    assert again.stderr.startswith("added 1 shard with 2 trials and 22 measurements; 2 shards")
    assert batch_sizes(database) == [1, 2, 4]
    assert [path.name for path in database.parent.iterdir()] == ["db"]


def test_what_a_killed_load_left_is_not_taken_for_another_database(
    database: Path, studies: list[Path]
) -> None:
    with loader(database, studies[1]) as process:
        process.kill()
        process.wait()
    database.unlink()
    load(database, studies[2])
    assert batch_sizes(database) == [4]


@pytest.mark.slow
def test_what_was_whole_is_there_after_ctrl_c(database: Path, studies: list[Path]) -> None:
    with loader(database, *studies[1:]) as process:
        process.send_signal(signal.SIGINT)
        process.wait()
        assert process.returncode != 0
    assert batch_sizes(database) == [1, 2]


@pytest.mark.slow
def test_a_new_database_appears_whole(studies: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "db"
    with loader(path, studies[0]) as process:
        assert not path.exists()
        go_on(process)
        assert process.wait() == 0
    assert batch_sizes(path) == [1]


@pytest.mark.slow
def test_what_another_program_left_in_its_log_is_taken_along(
    database: Path, studies: list[Path]
) -> None:
    program = LOADER.replace(
        "loading import loading", "database import open_for_writing as loading"
    )
    words = [sys.executable, "-c", program, str(database), str(studies[1])]
    with subprocess.Popen(
        words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        next_study(process)
        process.kill()
    assert database.with_name("db.wal").exists()
    load(database, studies[2])
    assert batch_sizes(database) == [1, 2, 4]
    assert [path.name for path in database.parent.iterdir()] == ["db"]


def test_a_database_that_another_program_writes_to_is_left_alone(
    database: Path, studies: list[Path]
) -> None:
    with open_for_writing(database):
        done = run("ingest", studies[1], "--db", database)
    assert done.returncode == 1
    assert f"{database} is in use by another process (PID {os.getpid()})" in done.stderr
    assert batch_sizes(database) == [1]


def test_no_room_for_a_copy(database: Path, studies: list[Path]) -> None:
    before = database.read_bytes()
    small = python_with_disk(len(before) // 2)
    words = ["-m", "dbtool", "ingest", str(studies[1]), "--db", str(database)]
    done = subprocess.run([*small, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"dbtool: writing to the database {database} failed (File too la")
    assert done.stderr.count("\n") == 1
    assert database.read_bytes() == before
    load(database, studies[1])
    assert batch_sizes(database) == [1, 2]


def test_links_and_permissions_stay(database: Path, studies: list[Path], tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(database)
    database.chmod(0o640)
    load(link, studies[1])
    assert link.is_symlink()
    assert batch_sizes(database) == batch_sizes(link) == [1, 2]
    assert database.stat().st_mode & 0o777 == 0o640


def test_what_is_no_database_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("no database")
    with pytest.raises(DbtoolError, match=r"words is not a database"), loading(path):
        pass
    assert path.read_text() == "no database"


@pytest.mark.slow
def test_readers_while_loads_follow_each_other(database: Path, tmp_path: Path) -> None:
    """Readers that open it again and again see whole studies, ever more, and no error."""
    folders = []
    for number in range(6):
        trial = (0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.8, 0.5]))
        folders.append(tmp_path / f"more-{number}")
        write_shard(folders[-1], batch_size=1_000 + number, trials=[trial])
    program = (
        "import sys, time, dbtool\n"
        "seen = 0\n"
        "while seen < 7:\n"
        "    with dbtool.open(sys.argv[1]) as db:\n"
        "        found = db.sql('SELECT count(DISTINCT batch_size) AS n, count(*) AS rows "
        "FROM measurements').rows()[0]\n"
        "    assert found[1] == 22 + 21 * (found[0] - 1) and found[0] >= seen, (found, seen)\n"
        "    seen = found[0]\n"
    )
    words = [sys.executable, "-c", program, str(database)]
    readers = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    time.sleep(1)
    for folder in folders:
        assert run("ingest", folder, "--db", database).returncode == 0
    for reader in readers:
        _, errors = reader.communicate(timeout=60)
        assert (reader.returncode, errors) == (0, "")
