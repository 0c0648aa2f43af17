"""Sweeps in processes of their own that are killed, interrupted, or find the disk full."""

import random
import re
import resource
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from dbtool.core.shards import check_shard
from tests.support.kills import wait_until
from tests.support.programs import CHECKOUT, run_python
from tests.support.sweeps import (
    BATCH_SIZE,
    CONSOLE_SCRIPT,
    WORKLOAD,
    assert_same_rows,
    assert_same_sweep,
    fast_start,
    hosts,
    in_place_of_mnist,
    produced,
    shards,
    start_produce,
    statuses,
    told,
    unlisted,
)
from tests.support.terminal import run_on_terminal

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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_often_killed_sweeps_end_with_the_same_rows(undisturbed, words, tmp_path, seed):
    expected, seconds = undisturbed
    moments = random.Random(100 + seed)
    for _ in range(5):
        process = start_produce(*words, tmp_path)
        # Half of the kills come after this process has written a shard, half at any time before.
        if moments.random() < 0.5:
            wait_for_shards(tmp_path, len(shards(tmp_path)) + 1, process)
            time.sleep(moments.uniform(0, seconds / TRIALS))
        else:
            time.sleep(moments.uniform(0, seconds + 2))
        process.kill()
        process.communicate()
        assert_whole(tmp_path)
        statuses(tmp_path)
    produced(*words, tmp_path)
    assert_same_sweep(tmp_path, expected)


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


STEPS = 20_000
BASE = (WORKLOAD, "--batch-sizes", "8", "--trials", "2", "--steps", str(STEPS))
CHOICES = {
    "fixed": ("--watch",),
    # A goal that none reaches, so that a round goes to its end.
    "lockstep": ("--search", "lockstep", "--goal", "-1"),
}
COLUMNS = 80


@dataclass(frozen=True)
class Sweep:
    """A command that trains one block, and the folder of a run that nothing stopped."""

    words: tuple[str, ...]
    expected: Path

    def interrupted(self, out: Path, *at: str, **options: Any) -> tuple[int, str]:
        """What a terminal shows of it, interrupted once each of some texts is shown."""
        words = [CONSOLE_SCRIPT, "produce", *self.words, "--out", str(out)]
        return run_on_terminal(words, columns=COLUMNS, interrupt_at=at, **options)

    def assert_goes_on(self, out: Path) -> None:
        produced(*self.words, "--out", out)
        assert_same_sweep(out, self.expected)


def assert_bars_fit(shown: str) -> None:
    moves, colours = r"\r|\n|\x1b\[\d*[AK]", r"\x1b\[[\d;?]*[a-z]"
    lines = [re.sub(colours, "", line) for line in re.split(moves, shown)]
    bars = [line for line in lines if "compiling …" in line or "trial-steps/s" in line]
    assert all(len(line) < COLUMNS for line in bars), bars
    # The time left ends the line, so that nothing of it was cut.
    assert all(re.search(r"% · .+ · +[-\d:]+ left$", line.rstrip()) for line in bars), bars
    assert "compiling …" in bars[0], bars
    assert "trial-steps/s" in bars[-1], bars


@pytest.fixture(scope="module", params=CHOICES)
def sweep(
    request: pytest.FixtureRequest, made_up_mnist: Path, tmp_path_factory: pytest.TempPathFactory
) -> Sweep:
    words = (*BASE, *CHOICES[request.param], *in_place_of_mnist(made_up_mnist))
    out: Path = tmp_path_factory.mktemp("undisturbed")
    produced(*words, "--out", out)
    return Sweep(words, out)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_trained_is_saved_and_not_trained_again(sweep, tmp_path, number):
    # A speed is shown from the first steps on.
    code, shown = sweep.interrupted(tmp_path, "trial-steps/s", interrupt_with=number)
    assert code == 128 + number, shown
    assert_bars_fit(shown)
    last = shown.strip().splitlines()[-1]
    found = re.search(
        r"dbtool: interrupted; .* holds 0 of 1 study, and .*/fc_64_64_64/sgd at batch size 8 "
        r"is saved at step ([\d,]+); the same command goes on$",
        last,
    )
    assert found, shown
    step = int(found[1].replace(",", ""))
    assert 0 < step < STEPS
    assert [path.stem for path in tmp_path.rglob("*.sha256")] == [str(step)]
    sweep.assert_goes_on(tmp_path)


def test_no_save_is_told_of_where_none_was_made(tmp_path):
    lines = (
        "from pathlib import Path",
        "from producers.cli.interruption import interruptible",
        "from producers.configuration import SweepOptions",
        "from tests.support.sweeps import small_study",
        f"with interruptible([small_study()], Path({str(tmp_path)!r}), SweepOptions()):",
        "    raise KeyboardInterrupt",
    )
    done = run_python("-c", "\n".join(lines), cwd=CHECKOUT)
    assert done.returncode == 130
    told = f"{tmp_path} holds 0 of 1 study, and what was in training is trained again; the same"
    assert done.stderr == f"dbtool: interrupted; {told} command goes on\n"


@pytest.mark.slow
def test_what_is_told_while_compiling_is_what_was_saved(sweep, tmp_path):
    # Without programs that were compiled before, which may be there when the signal comes.
    out = tmp_path / "out"
    environment = fast_start(tmp_path / "compiled")
    code, shown = sweep.interrupted(out, "compiling", environment=environment)
    assert code == 130, shown
    # Where the machine is busy, the first steps may be done by then.
    saved = [path.stem for path in out.rglob("*.sha256")]
    how = "( while compiling|; .* holds 0 of 1 study, and what was .* is trained again)"
    if saved:
        how = f"; .* holds 0 of 1 study, and .* is saved at step {int(saved[0]):,}"
    assert re.search(f"dbtool: interrupted{how}; the same command goes on", shown), shown
    sweep.assert_goes_on(out)


@pytest.mark.slow
def test_a_second_signal_stops_in_the_middle_of_saving(sweep, tmp_path):
    code, shown = sweep.interrupted(tmp_path, "trial-steps/s", "a second Ctrl-C stops at once")
    assert code == 130, shown
    assert "; the same command goes on" in shown.strip().splitlines()[-1]
    sweep.assert_goes_on(tmp_path)


def start_hosts(*words: str | Path) -> list[subprocess.Popen[str]]:
    """Starts two processes that train together."""
    return [start_produce(*words, "--distributed", **host) for host in hosts()]


def ends(processes: list[subprocess.Popen[str]]) -> tuple[list[int], str]:
    """The exit codes, and what the first process told last."""
    try:
        told = [process.communicate(timeout=300)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [process.returncode for process in processes], told[0]


@pytest.mark.slow
def test_a_signal_at_any_of_several_hosts_saves_what_all_have_trained(made_up_mnist, tmp_path):
    # Saved after each call, so that it is seen when one has ended.
    words = (*BASE, *in_place_of_mnist(made_up_mnist), "--checkpoint-minutes", "0", "--out")
    stopped, undisturbed = tmp_path / "stopped", tmp_path / "undisturbed"
    processes = start_hosts(*words, stopped)
    wait_until(lambda: any(stopped.rglob("*.sha256")))
    processes[1].send_signal(signal.SIGTERM)
    codes, told = ends(processes)
    assert codes == [130, 143], told
    found = re.search(r"is saved at step ([\d,]+); the same command goes on\n$", told)
    assert found, told
    assert 0 < int(found[1].replace(",", "")) < STEPS
    for out in (stopped, undisturbed):
        codes, told = ends(start_hosts(*words, out))
        assert codes == [0, 0], told
    assert_same_sweep(stopped, undisturbed)
