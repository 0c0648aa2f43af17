"""Writers that are killed at any moment lose at most the shard in work, and readers see no harm."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dbtool.core.manifest import MANIFEST, About, read_manifest
from dbtool.core.release import load_shard, read_release, shard_paths
from dbtool.core.writer import ReleaseWriter
from dbtool.database import open_database
from dbtool.release.verify import verify
from tests.support.published import bytes_of
from tests.support.slow import quick_few

STUDIES, ROWS, KILLS = 8, 41, 2
# Writes studies that are not there yet, each listed at once, in an order of its own.
WRITER = f"""
import pathlib, random, sys
from tests.support.made_up import curve, shard_footer, shard_table
from dbtool.core.writer import About, ReleaseWriter
folder, seed = pathlib.Path(sys.argv[1]), sys.argv[2]
print("started", flush=True)
sizes = [2**power for power in range({STUDIES})]
random.Random(seed).shuffle(sizes)
trials = [(number, "COMPLETE", {{}}, curve([0.9] * 5)) for number in (0, 1)]
for size in sizes:
    with ReleaseWriter(folder, About(release="made-up")) as writer:
        if not any(held == size for _, held in writer.index.studies):
            writer.write(shard_footer(trials, batch_size=size), [shard_table(trials)])
    print("listed", flush=True)
"""


def start(folder: Path, seed: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, str(folder), str(seed)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate()
    assert process.returncode == 0, errors


@pytest.fixture(autouse=True)
def _support(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath))


def assert_sound(folder: Path) -> None:
    """What is listed is whole, and what is not listed yet is whole too."""
    for path in shard_paths(folder):
        load_shard(folder, path)
    if not (folder / MANIFEST).exists():
        return
    manifest, _ = read_release(folder)
    assert {file.path for file in manifest.shards} <= set(shard_paths(folder))
    with open_database(folder) as db:
        counts = {
            count
            for (count,) in db.sql("""
            SELECT count(step) FROM trials LEFT JOIN measurements
            USING (release, workload, batch_size, trial_id) GROUP BY batch_size, trial_id
        """)
        }
    assert counts <= {ROWS}


@pytest.mark.parametrize("seed", quick_few(range(4), {0}))
def test_kills_lose_nothing_that_was_stored(tmp_path, seed):
    folder, whole = tmp_path / "release", tmp_path / "whole"
    finish(start(whole, 0))
    chance = random.Random(seed)
    held: set[str] = set()
    for number in range(KILLS):
        process = start(folder, number)
        assert process.stdout is not None
        for _ in range(chance.randint(0, STUDIES // 2)):
            assert process.stdout.readline() == "listed\n"
        # Some strike while a shard is written, others between two.
        time.sleep(chance.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert_sound(folder)
        assert held <= set(shard_paths(folder))
        held = set(shard_paths(folder))
    finish(start(folder, 0))
    assert bytes_of(folder) == bytes_of(whole)
    assert verify(folder).problems == ()
    assert not list(folder.rglob(".writing*"))


@pytest.mark.slow
def test_writers_at_once_of_which_some_are_killed(tmp_path):
    """While readers open the release again and again."""
    folder = tmp_path / "release"
    processes = [start(folder, number) for number in range(3)]
    seen = 0
    while any(process.poll() is None for process in processes):
        if (folder / MANIFEST).exists():
            with open_database(folder) as db:
                [(sizes, rows)] = db.sql(
                    "SELECT count(DISTINCT batch_size), count(step) FROM measurements"
                ).rows()
            assert rows == 2 * ROWS * sizes
            assert sizes >= seen
            seen = sizes
            processes[0].kill()
    for process in processes[1:]:
        _, errors = process.communicate()
        # Who finds that another one wrote the same study first is told.
        assert process.returncode == 0 or "its trial 0 is already there" in errors
    processes[0].communicate()
    with ReleaseWriter(folder, About(release="made-up")):
        pass
    assert verify(folder).problems == ()
    assert {file.rows for file in read_manifest(folder).shards} == {2 * ROWS}
