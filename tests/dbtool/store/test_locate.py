"""Which database is opened, and the bundled release's cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest
from support.made_up import curve, write_shard

from dbtool.errors import DbtoolError, UsageError
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.locate import bundled_database, database_to_read, database_to_write

OPEN = """
import pathlib, sys
from dbtool.store.database import open_for_reading
from dbtool.store.locate import bundled_database
path = bundled_database(pathlib.Path(sys.argv[1]))
with open_for_reading(path) as connection:
    print(path, connection.execute("SELECT count(*) FROM measurements").fetchall())
"""

# Stops for good when the first shard is loaded.
STOP = """
import pathlib, sys, time
from dbtool.store.locate import bundled_database
def stop(done, total):
    print(done, flush=True)
    time.sleep(600)
bundled_database(pathlib.Path(sys.argv[1]), stop)
"""


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, 0.2]))]
    for batch_size in (1, 2):
        write_shard(folder, batch_size=batch_size, trials=trials)
    (folder / "manifest.json").write_text("{}")
    return folder


def cached() -> list[Path]:
    return sorted(platformdirs.user_cache_path("dbtool").iterdir())


def measurements(path: Path) -> int:
    with open_for_reading(path) as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM measurements").fetchall()
        return int(count)


def test_the_option_goes_before_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    option, variable = tmp_path / "option", tmp_path / "variable"
    for path in (option, variable):
        open_for_writing(path).close()
    assert database_to_read(option) == option
    monkeypatch.setenv("DBTOOL_DB", str(variable))
    assert database_to_read(option) == option
    assert database_to_read(None) == variable
    assert database_to_write(option) == option
    assert database_to_write(None) == variable


def test_a_named_database_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"that --db names does not exist.*`dbtool ingest --db"):
        database_to_read(tmp_path / "none")
    monkeypatch.setenv("DBTOOL_DB", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="that DBTOOL_DB names does not exist"):
        database_to_read(None)


def test_the_users_own_database() -> None:
    own = database_to_write(None)
    assert own == platformdirs.user_data_path("dbtool") / "dbtool.duckdb"
    assert own.parent.is_dir()
    open_for_writing(own).close()
    assert database_to_read(None) == own


def test_folders_of_a_database_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "my.db"
    assert database_to_write(path) == path
    assert path.parent.is_dir()
    with pytest.raises(UsageError, match="is a folder"):
        database_to_write(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(DbtoolError, match="cannot make the folder"):
        database_to_write(tmp_path / "file" / "my.db")


def test_a_release_is_loaded_once(release: Path) -> None:
    path = bundled_database(release)
    assert measurements(path) == 42
    assert cached() == [path]
    before = path.stat()
    assert bundled_database(release) == path
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    (release / "manifest.json").write_text('{"other": true}')
    assert bundled_database(release) != path
    assert len(cached()) == 2


def test_progress_is_told(release: Path) -> None:
    told: list[tuple[int, int]] = []
    bundled_database(release, lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


@pytest.mark.slow
def test_processes_that_load_it_at_once_agree(release: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(release)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    printed = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * 3
    [path] = cached()
    assert printed == {f"{path} [(42,)]\n"}


def test_what_a_killed_process_left_is_removed_and_nothing_else(release: Path) -> None:
    killed, alive = (
        subprocess.Popen([sys.executable, "-c", STOP, str(release)], stdout=subprocess.PIPE)
        for _ in range(2)
    )
    with killed, alive:
        try:
            for process in (killed, alive):
                assert process.stdout is not None
                assert process.stdout.readline() == b"1\n"
            unfinished = cached()
            assert len(unfinished) == 2
            assert all(list(folder.glob("*.duckdb")) for folder in unfinished)
            killed.kill()
            killed.wait()
            assert cached() == unfinished
            first = bundled_database(release)
            [left] = set(cached()) - {first}
            assert left in unfinished
            assert list(left.glob("*.duckdb"))
            # What is there already is not built, and so nothing is removed either.
            alive.kill()
            alive.wait()
            assert bundled_database(release) == first
            assert left.is_dir()
        finally:
            killed.kill()
            alive.kill()
    (release / "manifest.json").write_text('{"other": true}')
    second = bundled_database(release)
    assert cached() == sorted([first, second])


def test_other_things_in_the_cache_stay(release: Path, tmp_path: Path) -> None:
    cache = platformdirs.user_cache_path("dbtool", ensure_exists=True)
    (cache / "datasets").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (cache / ".bundled-link").symlink_to(tmp_path / "elsewhere")
    (cache / ".bundled-file").touch()
    (cache / ".bundled-left").mkdir()
    path = bundled_database(release)
    names = [".bundled-file", ".bundled-link", path.name, "datasets"]
    assert [each.name for each in cached()] == names
    assert (tmp_path / "elsewhere").is_dir()


def test_a_cache_that_cannot_be_written(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(release)], capture_output=True, text=True, check=True
    )
    path, count = done.stdout.strip().split(" ", 1)
    assert count == "[(42,)]"
    assert Path(path).is_relative_to(tmp_path / "temporary")
    # What was temporary is gone with the process.
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_damaged_release_is_named(release: Path) -> None:
    [shard] = (release / "made_up/simple_cnn_base/nesterov_momentum/1").iterdir()
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(DbtoolError, match=r"the bundled release is damaged.*cut short"):
        bundled_database(release)
    assert cached() == []


def test_no_release_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DbtoolError, match=r"no release in .*`dbtool ingest PATH`"):
        bundled_database(tmp_path)
