"""Sweeps on a real Ray cluster: the same rows, also when workers are killed."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

from dbtool.core.errors import DbtoolError
from dbtool.core.resources import how_to_install
from producers.configuration import SweepOptions
from producers.sweep.ray_sweep import refuse_small_nodes, train_block_of, versions
from producers.workloads.definition import Origin
from tests.support.kills import wait_until
from tests.support.own_workload import FILE
from tests.support.programs import run_python
from tests.support.sweeps import (
    BATCH_SIZE,
    TRAINED,
    WORKLOAD,
    assert_same_sweep,
    free_port,
    in_place_of_mnist,
    produce,
    produced,
    refused,
    shards,
    small_study,
    start_produce,
    statuses,
    told,
    unlisted,
)

WORDS = (
    *(WORKLOAD, "--batch-sizes", str(BATCH_SIZE), "--trials", "5"),
    *("--steps", "100", "--block", "2", "--release", "tests"),
)


PATIENCE = 120.0
_UNTIL_CLOSED = '{ "$@"; kill -9 0; } & read _; kill -9 0'


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs: its RAY_ADDRESS, and the process that started all the others."""

    address: str
    head: psutil.Process

    def workers(self) -> list[psutil.Process]:
        """The processes that train a block at this moment."""
        found = []
        for process in self.head.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.cmdline()[:1] == ["ray::train_block_of"]:
                    found.append(process)
        return found

    def wait_for_worker(self) -> psutil.Process:
        """A process that trains a block, as soon as there is one."""
        wait_until(lambda: bool(self.workers()))
        return self.workers()[0]


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """Starts a cluster with two CPUs and ends it; its workers get this process's variables too."""
    # A socket's path must be short, which pytest's folders are not.
    folder = tempfile.mkdtemp(prefix="ray-")
    # A port of the system's range lies above those that Ray gives its workers.
    port = free_port()
    words = [
        *("start", "--head", "--block", "--port", str(port), "--temp-dir", folder),
        *("--num-cpus", "2", "--object-store-memory", str(100_000_000)),
        *("--include-dashboard", "false", "--dashboard-agent-listen-port", "0"),
        "--disable-usage-stats",
    ]
    log = Path(folder) / "start.log"
    with log.open("wb") as output:
        head = subprocess.Popen(
            # All end when the pipe is closed, which the end of the tests does however they end.
            ["sh", "-c", _UNTIL_CLOSED, "sh", str(Path(sys.executable).with_name("ray")), *words],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(lambda: "Ray runtime started" in log.read_text(), head)
        yield Cluster(f"127.0.0.1:{port}", psutil.Process(head.pid))
    finally:
        # All of its processes are in the group that was made for it.
        os.killpg(head.pid, signal.SIGKILL)
        head.communicate()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def words(made_up_mnist: Path) -> tuple[str, ...]:
    return (*WORDS, *in_place_of_mnist(made_up_mnist))


@pytest.fixture(scope="module")
def long(words: tuple[str, ...]) -> tuple[str, ...]:
    """A block of these takes seconds, so that there is time to kill its worker."""
    return (*words, "--steps", "20000", "--trials", "4")


@pytest.fixture(scope="module")
def _without_tokens() -> Iterator[None]:
    pytest.importorskip("ray", reason="Ray is in the extra `cluster`, which `make test` installs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        yield


@pytest.fixture(scope="module")
def running(_without_tokens: None) -> Iterator[Cluster]:
    with cluster() as started, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", started.address)
        yield started


def in_process(words: tuple[str, ...], out: Path) -> Path:
    produced(*words, "--out", out)
    return out


@pytest.mark.slow
def test_cluster_writes_the_same_rows(running, words, tmp_path):
    assert running.head.is_running()
    out = tmp_path / "ray"
    result = produce(*words, "--out", out, "--on", "ray")
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    # A line for the study, when the last of its blocks has come.
    [line] = told(result.stderr)
    assert line.startswith(f"trained {TRAINED} at batch size 8: 5 trials, ")
    assert len(shards(out)) == 3
    assert_same_sweep(out, in_process(words, tmp_path / "here"))
    # What is there is not trained again, and what was added is.
    again = produced(*words, "--out", out, "--on", "ray")
    assert again == f"nothing to train: {out} holds every trial that was requested\n"
    more = produced(*words, "--trials", "6", "--out", out, "--on", "ray")
    assert len(told(more)) == 1
    assert sorted(statuses(out)) == list(range(6))


@pytest.mark.slow
def test_workers_train_what_a_file_of_the_users_own_defines(running, tmp_path, monkeypatch):
    assert running.head.is_running()
    # A worker that read the file itself would look for it in another folder.
    monkeypatch.chdir(tmp_path)
    path = Path("mine.py")
    path.write_text(FILE)
    words = ("--from", "mine.py", "--batch-sizes", "4", "--trials", "3", "--steps", "20")
    for name, more in (("ray", ("--on", "ray", "--block", "2")), ("here", ("--block", "2"))):
        produced(*words, *more, "--out", name)
    assert_same_sweep(tmp_path / "ray", tmp_path / "here")
    path.write_text(FILE.replace('m["nudge"]', "1 if m['nudge'] else 0"))
    line = 1 + FILE[: FILE.index('m["nudge"]')].count("\n")
    sentence = refused(1, *words, "--on", "ray", "--out", "no")
    assert sentence.startswith(f"dbtool: mine.py, line {line}: TracerBoolConversionError: ")


def test_code_that_a_node_does_not_have_is_one_sentence():
    study = small_study(steps=1)
    missing = Origin("my-stripes", "a" * 64, "1.5")
    study = replace(study, workload=replace(study.workload, origin=missing))
    with pytest.raises(DbtoolError, match=r"does not have my-stripes 1\.5 \(sha256 aaaaaaaa\)"):
        train_block_of(study, (0,), SweepOptions(), versions())


@pytest.mark.slow
def test_sweep_whose_workers_die_all_along_ends_with_the_same_rows(running, long, tmp_path):
    words = (*long, "--trials", "24")
    process = start_produce(*words, "--out", tmp_path / "ray", "--on", "ray")
    moments, killed = random.Random(0), 0
    while killed < 20:
        assert process.poll() is None, process.communicate()
        time.sleep(moments.uniform(0, 2))
        for worker in moments.sample(found := running.workers(), min(1, len(found))):
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.send_signal(signal.SIGKILL)
                worker.wait(PATIENCE)
                killed += 1
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert_same_sweep(tmp_path / "ray", in_process(words, tmp_path / "here"))


@pytest.mark.slow
def test_block_that_always_kills_its_worker_is_one_sentence(running, long, tmp_path):
    words = (*long, "--trials", "1", "--out", str(tmp_path))
    process = start_produce(*words, "--on", "ray")
    killed = 0
    while process.poll() is None:
        for worker in running.workers():
            worker.send_signal(signal.SIGKILL)
            worker.wait(PATIENCE)
            killed += 1
        time.sleep(0.02)
    _, errors = process.communicate()
    assert (process.returncode, len(told(errors))) == (1, 1), errors
    study = f"that trained {TRAINED} at batch size 8, trials 0 to 0, died 4 times while no other"
    assert f"{study} block ended (" in errors
    # A worker may be killed before it is given the task.
    assert killed >= 4
    assert shards(tmp_path) == []


@pytest.mark.slow
def test_interrupt_and_kill_of_the_sweep_end_its_workers(running, long, tmp_path):
    codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
    for number, code in codes.items():
        process = start_produce(*long, "--out", tmp_path / "ray", "--on", "ray")
        worker = running.wait_for_worker()
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == code
        lines = [line for line in told(errors) if not line.startswith("trained ")]
        assert len(lines) == (1 if code > 0 else 0)
        assert all(line.startswith("dbtool: interrupted; ") for line in lines)
        worker.wait(PATIENCE)
    in_process((*long, "--on", "ray"), tmp_path / "ray")
    assert_same_sweep(tmp_path / "ray", in_process(long, tmp_path / "here"))


@pytest.mark.slow
@pytest.mark.usefixtures("_without_tokens")
def test_sigterm_ends_a_cluster_of_the_sweeps_own(long, tmp_path):
    process = start_produce(*long, "--out", tmp_path, "--on", "ray", RAY_ADDRESS="")
    sweep = Cluster("", psutil.Process(process.pid))
    sweep.wait_for_worker()
    started = sweep.head.children(recursive=True)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE)
    lines = [line for line in told(errors) if not line.startswith("trained ")]
    assert (process.returncode, len(lines)) == (143, 1), errors
    assert psutil.wait_procs(started, PATIENCE)[1] == []


@pytest.mark.slow
@pytest.mark.usefixtures("_without_tokens")
def test_cluster_that_does_not_answer_is_one_sentence(tmp_path):
    sentence = refused(1, *WORDS, "--out", tmp_path, "--on", "ray", RAY_ADDRESS="127.0.0.1:9")
    assert "cannot use the Ray cluster at RAY_ADDRESS=127.0.0.1:9 (" in sentence
    assert "ray start --head" in sentence
    assert unlisted(tmp_path) == []


@pytest.mark.slow
def test_missing_ray_names_the_extra(tmp_path):
    without = "import sys; sys.modules['ray'] = None; from dbtool.cli.main import run; run()"
    result = run_python("-c", without, "produce", *WORDS, "--out", tmp_path, "--on", "ray")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"dbtool: --on ray needs ray, which is not installed: {how_to_install('cluster')}\n"
    )


def test_worker_with_other_versions_trains_nothing():
    expected = {**versions(), "jax": "0.0.1"}
    with pytest.raises(DbtoolError, match=r"has jax .* was started with 0\.0\.1; install"):
        train_block_of(small_study(), (0,), SweepOptions(block=1), expected)


@pytest.mark.parametrize(
    ("node", "cpus", "gpus"), [({"CPU": 4.0, "GPU": 1.0}, 5, 0), ({"CPU": 4.0}, 1, 1)]
)
def test_blocks_that_no_node_has_room_for(node, cpus, gpus):
    options = SweepOptions(cpus_per_task=cpus, gpus_per_task=gpus)
    large = {"CPU": float(cpus), "GPU": float(gpus)}
    dead = {"Alive": False, "Resources": large}
    with pytest.raises(DbtoolError, match=f"has {cpus} CPUs and {gpus} GPUs; ask for less"):
        refuse_small_nodes([{"Alive": True, "Resources": node}, dead], options)
    refuse_small_nodes([dead, {"Alive": True, "Resources": large}], options)
