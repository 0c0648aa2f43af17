"""An import that is killed, interrupted or out of disk harms nothing and goes on where it was."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from replica import published_plans, write_archive
from support.archives import contents

from dbtool.store.database import open_for_reading

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 4
SLOW_KILLS = 16


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve studies with all their trials, in any order, each stored as soon as it is whole."""
    path: Path = tmp_path_factory.mktemp("archive") / "made-up.tar.bz2"
    plans = published_plans(1.0, evaluations=40, odd=True)[:12]
    write_archive(path, studies=plans, layout="tar.bz2", order="shuffled")
    return path


def start(archive: Path, database: Path, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dbtool", "import", str(archive), "--db", str(database)],
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate()
    return process.returncode, errors


@pytest.fixture(scope="module")
def undisturbed(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[float, Any]:
    """How long an import takes, and what it leaves."""
    database = tmp_path_factory.mktemp("undisturbed") / "db"
    started = time.monotonic()
    code, errors = finished(start(archive, database))
    assert (code, "12 of 454" in errors) == (0, True)
    return time.monotonic() - started, contents(database)


def killed_and_repeated(
    archive: Path, database: Path, undisturbed: tuple[float, Any], kills: int, seed: int
) -> None:
    seconds, expected = undisturbed
    chance = random.Random(seed)
    struck = 0
    while struck < kills:
        process = start(archive, database)
        time.sleep(chance.uniform(0.2, 1.0) * seconds)
        process.send_signal(signal.SIGKILL)
        if finished(process)[0] == 0:
            # The machine is quicker than it was: start over and strike earlier.
            seconds *= 0.7
            database.unlink()
            continue
        struck += 1
        if database.exists():
            # Studies are there whole or not at all after every kill.
            with open_for_reading(database) as connection:
                found = connection.execute("SELECT * FROM studies").fetchall()
            assert {str(row) for row in found} <= set(expected["studies"])
    assert finished(start(archive, database))[0] == 0
    assert contents(database) == expected
    assert not list(database.parent.glob(".dbtool-import-*"))


def test_a_killed_import_goes_on(
    archive: Path, tmp_path: Path, undisturbed: tuple[float, Any]
) -> None:
    killed_and_repeated(archive, tmp_path / "db", undisturbed, KILLS, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_killed_import_goes_on_many_times(
    archive: Path, tmp_path: Path, undisturbed: tuple[float, Any], seed: int
) -> None:
    killed_and_repeated(archive, tmp_path / "db", undisturbed, SLOW_KILLS // 4, seed)


def test_ctrl_c_ends_in_one_line(
    archive: Path, tmp_path: Path, undisturbed: tuple[float, Any]
) -> None:
    process = start(archive, tmp_path / "db")
    time.sleep(undisturbed[0] * 0.7)
    process.send_signal(signal.SIGINT)
    code, errors = finished(process)
    if code != 0:  # a fast machine may have finished
        assert code == 130
        assert errors == "dbtool: interrupted\n"
    assert finished(start(archive, tmp_path / "db"))[0] == 0
    assert contents(tmp_path / "db") == undisturbed[1]


def test_a_full_disk_is_one_sentence(
    archive: Path, tmp_path: Path, undisturbed: tuple[float, Any]
) -> None:
    def at_most_a_megabyte() -> None:
        # Writing past the limit then fails as it does on a full disk.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    database = tmp_path / "db"
    code, errors = finished(start(archive, database, preexec_fn=at_most_a_megabyte))
    assert code == 1
    assert errors.count("\n") == 1
    assert "what it held is unharmed" in errors
    assert "`dbtool import`" in errors
    assert finished(start(archive, database))[0] == 0
    assert contents(database) == undisturbed[1]
