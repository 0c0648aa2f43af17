"""Sweeps in processes of their own that are killed, interrupted, or find the disk full."""

import random
import re
import resource
import time
from pathlib import Path
from subprocess import Popen

import pytest

from dbtool.core.shards import check_shard
from tests.support.kills import wait_until
from tests.support.sweeps import (
    BATCH_SIZE,
    WORKLOAD,
    assert_same_rows,
    in_place_of_mnist,
    produced,
    shards,
    start_produce,
    statuses,
    told,
    unlisted,
)

TRIALS = 12
WORDS = (
    *(WORKLOAD, "--batch-sizes", str(BATCH_SIZE), "--trials", str(TRIALS)),
    # A block of these takes a tenth of a second, so that there is time to strike between two.
    *("--steps", "1000", "--block", "2", "--release", "tests"),
)
PATIENCE = 90.0


@pytest.fixture(scope="module")
def words(made_up_mnist: Path) -> tuple[str, ...]:
    """The command that all of these tests give, each with a folder of its own."""
    return (*WORDS, *in_place_of_mnist(made_up_mnist), "--out")


@pytest.fixture(scope="module")
def undisturbed(
    words: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, float]:
    """The whole sweep, and how many seconds its shards took to appear, from first to last."""
    out: Path = tmp_path_factory.mktemp("undisturbed")
    produced(*words, out)
    written = [path.stat().st_mtime for path in shards(out)]
    assert len(written) == TRIALS // 2
    return out, max(written) - min(written)


def wait_for_shards(out: Path, count: int, process: Popen[str]) -> None:
    wait_until(lambda: len(shards(out)) >= count or process.poll() is not None)


def assert_whole(out: Path) -> None:
    for path in shards(out):
        check_shard(path)


def kill_until_done(
    undisturbed: tuple[Path, float], words: tuple[str, ...], out: Path, kills: int, seed: int
) -> None:
    """Kills a sweep at random moments while it writes shards, and lets it end at last."""
    expected, seconds = undisturbed
    moments = random.Random(seed)
    for _ in range(kills):
        process = start_produce(*words, out)
        # Half of the kills come after this process has written a shard, half at any time before.
        if moments.random() < 0.5:
            wait_for_shards(out, len(shards(out)) + 1, process)
            time.sleep(moments.uniform(0, seconds / TRIALS))
        else:
            time.sleep(moments.uniform(0, seconds + 2))
        process.kill()
        process.communicate()
        assert_whole(out)
        statuses(out)
    produced(*words, out)
    assert_same_rows(out, expected)
    assert len(statuses(out)) == TRIALS
    assert unlisted(out) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_often_killed_sweeps_end_with_the_same_rows(undisturbed, words, tmp_path, seed):
    kill_until_done(undisturbed, words, tmp_path, kills=5, seed=100 + seed)


@pytest.mark.slow
def test_full_disk_is_one_sentence_and_leaves_earlier_shards(undisturbed, words, tmp_path):
    process = start_produce(*words, tmp_path)
    wait_for_shards(tmp_path, 1, process)
    # From now on no file of the process may grow past a few bytes, as on a full disk.
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100, 100))
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, errors
    sentences = [line for line in told(errors) if not line.startswith("trained ")]
    assert len(sentences) == 1, errors
    # Of the shard or of the manifest, whichever was to be written next.
    assert re.fullmatch(
        rf"dbtool: (could not write a shard into {tmp_path}\S*: File too large; "
        rf"free some space or choose another folder|cannot write to the release {tmp_path}: "
        "File too large; what it holds is unharmed; free some space or allow writing there), "
        "then run the same command again",
        sentences[0],
    )
    assert_whole(tmp_path)
    assert set(unlisted(tmp_path)) <= set(shards(tmp_path))
    produced(*words, tmp_path)
    assert_same_rows(tmp_path, undisturbed[0])
