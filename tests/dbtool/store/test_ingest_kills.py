"""Loading that is killed, or runs out of disk, harms nothing and goes on where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.kills import (
    Undisturbed,
    fill_the_disk_and_repeat,
    interrupt_and_repeat,
    kill_and_repeat,
    run_undisturbed,
)
from support.made_up import curve, write_shard

from dbtool.store.database import open_for_reading

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ("measurement", "improvement", "trial", "study", "workload", "release")
KILLS = 3


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
def undisturbed(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    database = tmp_path_factory.mktemp("undisturbed") / "db"
    return run_undisturbed(("ingest", str(shards)), contents, database)


def can_be_read(database: Path) -> None:
    with open_for_reading(database) as connection:
        connection.execute("SELECT count(*) FROM measurements").fetchall()


def test_killed_loading_goes_on(tmp_path: Path, undisturbed: Undisturbed) -> None:
    kill_and_repeat(undisturbed, tmp_path / "db", KILLS, seed=1, check=can_be_read)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_killed_loading_goes_on_many_times(
    tmp_path: Path, undisturbed: Undisturbed, seed: int
) -> None:
    kill_and_repeat(undisturbed, tmp_path / "db", 5, seed, can_be_read)


def test_ctrl_c_ends_in_one_line(tmp_path: Path, undisturbed: Undisturbed) -> None:
    interrupt_and_repeat(undisturbed, tmp_path / "db")


def test_a_full_disk_is_one_sentence(tmp_path: Path, undisturbed: Undisturbed) -> None:
    fill_the_disk_and_repeat(undisturbed, tmp_path / "db", can_be_read)
