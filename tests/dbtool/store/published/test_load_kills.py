"""Loading a published release that is killed, or runs out of disk, goes on where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.kills import fill_the_disk_and_repeat, kill_and_repeat, run_undisturbed
from support.made_up import curve, write_shard
from support.published import database, everything, published

from dbtool.release.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from support.kills import Undisturbed


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Loading eight studies of three trials, 86,000 rows."""
    folder = tmp_path_factory.mktemp("folder")
    for power in range(8):
        trials = [
            (number, "COMPLETE", {"learning_rate": 0.1}, curve([0.5] * 361)) for number in range(3)
        ]
        write_shard(folder / "shards", batch_size=2**power, trials=trials)
    stored = database(folder / "db", folder / "shards")
    out = published(stored, folder / "out")
    return run_undisturbed(("ingest", str(out)), everything, folder / "undisturbed")


def is_sound(database: Path) -> None:
    assert verify(database).problems == ()


@pytest.mark.parametrize("seed", range(3))
def test_killed_loading_goes_on(tmp_path: Path, undisturbed: Undisturbed, seed: int) -> None:
    kill_and_repeat(undisturbed, tmp_path / "db", 5, seed, is_sound)


def test_a_full_disk_is_one_sentence(tmp_path: Path, undisturbed: Undisturbed) -> None:
    fill_the_disk_and_repeat(undisturbed, tmp_path / "db", is_sound)
