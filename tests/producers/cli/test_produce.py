"""`dbtool produce` as a user runs it: what it prints, writes and answers to wrong words."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dbtool.core.manifest import is_release, read_manifest
from producers.workloads.registry import WORKLOADS
from tests.dbtool.cli.conftest import Call
from tests.support.sweeps import (
    BATCH_SIZE,
    CONSOLE_SCRIPT,
    TRAINED,
    WORKLOAD,
    footer,
    in_place_of_mnist,
    produce,
    shards,
    start_produce,
)

SMALL = (WORKLOAD, "--batch-sizes", str(BATCH_SIZE), "--trials", "2", "--steps", "3")
PATIENCE = 90.0
# The last workload of each; those of other optimizers and data sets train the same.
NETWORKS = {(name.startswith("sparsity"), each.model): name for name, each in WORKLOADS.items()}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of compiled programs that the processes share: compiling is most of their time."""
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(autouse=True)
def _programs_compiled_once(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(compiled))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def one_sentence(result: subprocess.CompletedProcess[str], code: int) -> str:
    """The only line that a failed command prints."""
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("dbtool: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr.strip()


def test_dry_run_tells_and_writes_nothing(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setenv("DBTOOL_DATASETS", str(tmp_path / "nowhere"))
    outcome = call("produce", *SMALL, "--dry-run", "--out", str(out))
    assert (outcome.code, outcome.errors) == (0, "")
    first, total = outcome.output.splitlines()
    assert first.startswith(f"{WORKLOAD} at batch size 8: 2 trials of 3 steps, 8 measurements, ")
    assert total.endswith(f"in {out}, 8 measurements")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_shards_are_told_and_a_second_run_trains_nothing(
    made_up_mnist: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = (*SMALL, *in_place_of_mnist(made_up_mnist), "--out", out)
    first = produce(*words)
    (path,) = shards(out)
    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr == f"wrote {path} (8 measurements)\n"
    second = produce(*words)
    assert (second.returncode, second.stdout) == (0, "")
    assert second.stderr == f"nothing to train: {out} holds every trial that was requested\n"
    assert shards(out) == [path]
    assert "0 trials of 3 steps" in produce(*words, "--dry-run").stdout
    manifest = out / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"local", b"lokal"))
    # A dry run reads what is there as well.
    for more in ((), ("--dry-run",)):
        assert str(manifest) in one_sentence(produce(*words, *more), 1)


@pytest.mark.slow
def test_questions_are_answered_while_a_sweep_is_in_progress(
    made_up_mnist: Path, tmp_path: Path
) -> None:
    words = [WORKLOAD, "--batch-sizes", str(BATCH_SIZE), "--trials", "1000", "--block", "1"]
    words += ["--steps", "3000"]
    data = in_place_of_mnist(made_up_mnist)
    out = tmp_path / "out"
    process = start_produce(*words, *data, "--out", out)
    try:
        patience = time.monotonic() + PATIENCE
        while not (is_release(out) and read_manifest(out).shards):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < patience, "no shard is listed"
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        question = [CONSOLE_SCRIPT, "steps", TRAINED, "--goal", "0.95", "--format", "jsonl"]
        answer = subprocess.run(
            [*question, "--db", str(out)], capture_output=True, text=True, check=False
        )
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    assert (answer.returncode, answer.stderr) == (0, "")
    (row,) = map(json.loads, answer.stdout.splitlines())
    assert (row["workload"], row["batch_size"]) == (TRAINED, BATCH_SIZE)
    assert row["trials"] == sum(file.rows == 3001 for file in read_manifest(out).shards)


@pytest.mark.slow
@pytest.mark.parametrize("workload", NETWORKS.values())
def test_smoke_trains_every_network(workload: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = produce("--preset", "smoke", workload, "--out", out)
    assert result.returncode == 0, result.stderr
    (path,) = shards(out)
    assert footer(path, "study")["workload"]["definition"]["model"] == WORKLOADS[workload].model
    steps = [trial["steps"] for trial in footer(path, "trials")]
    assert steps == [3, 3]


def test_folder_of_data_sets_that_does_not_exist(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere, out = str(tmp_path / "nowhere"), tmp_path / "out"
    words = ("produce", *SMALL, "--out", str(out))
    given = call(*words, "--datasets", nowhere).sentence(2)
    assert f"{nowhere} does not exist" in given
    assert "--datasets" in given
    monkeypatch.setenv("DBTOOL_DATASETS", nowhere)
    assert f"{nowhere} does not exist" in call(*words).sentence(2)
    assert shards(out) == []
