"""Loading that is killed, or runs out of disk, harms nothing and goes on where it stopped."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.made_up import curve, write_shard

from dbtool.store.database import open_for_reading

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ("measurement", "trial", "study", "workload", "release")
KILLS = 6


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve studies of six trials in two shards each, 260,000 rows."""
    folder = tmp_path_factory.mktemp("shards")
    rows = curve([0.5] * 361)
    for power in range(12):
        for first in (0, 3):
            trials = [
                (number, "COMPLETE", {"learning_rate": 0.1}, rows)
                for number in range(first, first + 3)
            ]
            write_shard(folder, batch_size=2**power, trials=trials)
    return folder


def ingest(shards: Path, database: Path, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dbtool", "ingest", str(shards), "--db", str(database)],
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate()
    return process.returncode, errors


def contents(database: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every table without the ids of shards, which follow the order of loading."""
    with open_for_reading(database) as connection:
        return {
            table: connection.execute(
                f"SELECT COLUMNS(* EXCLUDE shard_id) FROM stored.{table} ORDER BY ALL"
                if table == "trial"
                else f"SELECT * FROM stored.{table} ORDER BY ALL"
            ).fetchall()
            for table in TABLES
        }


@pytest.fixture(scope="module")
def undisturbed(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[float, Any]:
    """How long loading takes, and what it leaves."""
    database = tmp_path_factory.mktemp("undisturbed") / "db"
    started = time.monotonic()
    assert finished(ingest(shards, database))[0] == 0
    return time.monotonic() - started, contents(database)


def killed_and_repeated(
    shards: Path, database: Path, undisturbed: tuple[float, Any], kills: int, seed: int
) -> None:
    seconds, expected = undisturbed
    chance = random.Random(seed)
    struck = 0
    while struck < kills:
        process = ingest(shards, database)
        time.sleep(chance.uniform(0.2, 1.0) * seconds)
        process.send_signal(signal.SIGKILL)
        if finished(process)[0] == 0:
            # The machine is quicker than it was: start over and strike earlier.
            seconds *= 0.7
            database.unlink()
            continue
        struck += 1
        if database.exists():
            # What was stored can be read after every kill.
            with open_for_reading(database) as connection:
                connection.execute("SELECT count(*) FROM measurements").fetchall()
    assert finished(ingest(shards, database))[0] == 0
    assert contents(database) == expected


def test_killed_loading_goes_on(
    shards: Path, tmp_path: Path, undisturbed: tuple[float, Any]
) -> None:
    killed_and_repeated(shards, tmp_path / "db", undisturbed, KILLS, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_killed_loading_goes_on_many_times(
    shards: Path, tmp_path: Path, undisturbed: tuple[float, Any], seed: int
) -> None:
    killed_and_repeated(shards, tmp_path / "db", undisturbed, 5, seed)


def test_ctrl_c_ends_in_one_line(
    shards: Path, tmp_path: Path, undisturbed: tuple[float, Any]
) -> None:
    process = ingest(shards, tmp_path / "db")
    time.sleep(undisturbed[0] * 0.7)
    process.send_signal(signal.SIGINT)
    code, errors = finished(process)
    if code != 0:  # a fast machine may have finished
        assert code == 130
        assert errors == "dbtool: interrupted\n"
    assert finished(ingest(shards, tmp_path / "db"))[0] == 0
    assert contents(tmp_path / "db") == undisturbed[1]


def test_a_full_disk_is_one_sentence(
    shards: Path, tmp_path: Path, undisturbed: tuple[float, Any]
) -> None:
    def at_most_a_megabyte() -> None:
        # Writing past the limit then fails as it does on a full disk.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    database = tmp_path / "db"
    code, errors = finished(ingest(shards, database, preexec_fn=at_most_a_megabyte))
    assert code == 1
    assert errors.count("\n") == 1
    assert "what it held is unharmed" in errors
    with open_for_reading(database) as connection:
        connection.execute("SELECT count(*) FROM measurements").fetchall()
    assert finished(ingest(shards, database))[0] == 0
    assert contents(database) == undisturbed[1]
