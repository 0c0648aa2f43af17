"""`dbtool produce` as a user runs it: what it prints, writes and answers to wrong words."""

import hashlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import dbtool
from dbtool.core.manifest import is_release, read_manifest
from producers.workloads.registry import WORKLOADS
from tests.dbtool.cli.conftest import Call
from tests.support.own_workload import FILE, NAME
from tests.support.sweeps import (
    BATCH_SIZE,
    CONSOLE_SCRIPT,
    TRAINED,
    WORKLOAD,
    assert_same_rows,
    fast_start,
    footer,
    free_port,
    in_place_of_mnist,
    produce,
    shards,
    start_produce,
    statuses,
    told,
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
def test_a_study_is_told_and_a_second_run_trains_nothing(
    made_up_mnist: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = (*SMALL, *in_place_of_mnist(made_up_mnist), "--out", out)
    first = produce(*words)
    (path,) = shards(out)
    assert (first.returncode, first.stdout) == (0, "")
    # Without a goal, the best value is what there is to tell.
    best = f"trained {TRAINED} at batch size 8: 2 trials, 0 diverged; best val_classification_error"
    [line] = told(first.stderr)
    assert re.fullmatch(rf"{re.escape(best)} [\d.]+(; the best trial lies at .*)?", line)
    second = produce(*words)
    assert (second.returncode, second.stdout) == (0, "")
    assert second.stderr == f"nothing to train: {out} holds every trial that was requested\n"
    measured = produce(*words, "--measure", "gradient_noise_scale")
    said = "what was trained without --measure is measured in another --out alone"
    assert measured.stderr == f"{second.stderr.rstrip()}; {said}\n"
    assert shards(out) == [path]
    assert "0 trials of 3 steps" in produce(*words, "--dry-run").stdout
    manifest = out / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"local", b"lokal"))
    # A dry run reads what is there as well.
    for more in ((), ("--dry-run",)):
        assert str(manifest) in one_sentence(produce(*words, *more), 1)


def test_time_to_a_goal_is_told_of_a_sweep_that_measured_seconds(
    call: Call, made_up_mnist: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = (*SMALL, "--measure", "seconds", *in_place_of_mnist(made_up_mnist), "--out", str(out))
    assert call("produce", *words).code == 0
    with dbtool.open(out) as db:
        (row,) = db.steps(TRAINED, goal=1.0, by="seconds").to_dicts()
        ((first,),) = db.sql("SELECT min(seconds) FROM measurements")
    assert row["seconds"] == first > 0


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


@pytest.mark.slow
def test_a_shard_tells_that_activations_were_computed_again(tmp_path: Path) -> None:
    words = ("--preset", "smoke", "--remat", "--batch-sizes", "8", "--trials", "1")
    workloads = ("brown/transformer_tiny/adam", "mnist/fc_64_64_64/sgd")
    result = produce(*words, *workloads, "--out", tmp_path)
    assert result.returncode == 0, result.stderr
    remat = {
        footer(path, "study")["workload"]["definition"]["model"]: footer(path, "producer")["remat"]
        for path in shards(tmp_path)
    }
    assert remat == {"transformer_tiny": True, "fc_64_64_64": False}


LISTED = f'workload,goal,batch_sizes\n{NAME},val_classification_error < 0.1,"[2,4]"\n'
WORDS = ("--batch-sizes", "4", "--trials", "2", "--steps", "5")
PLAN = f"""
release = "local"
from = "mine.py"

[[sweep]]
workloads = ["{NAME}"]
batch_sizes = [4]
trials = 2
steps = 5
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return fast_start(tmp_path_factory.mktemp("compiled"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.usefixtures("registries_as_before")
def test_the_workloads_of_a_file_are_listed(call: Call, path: Path) -> None:
    ours = call("produce", "--from", str(path), "--list", "--format", "csv")
    assert (ours.code, ours.output, ours.errors) == (0, LISTED, "")


@pytest.mark.slow
def test_a_plan_trains_what_the_options_train_and_notices_a_changed_file(
    path: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    by_plan, by_words = tmp_path / "by_plan", tmp_path / "by_words"
    planned = ("--plan", tmp_path / "plan.toml", "--out", by_plan)
    for words in (planned, ("--from", path, *WORDS, "--out", by_words)):
        done = produce(*words, **environment)
        assert (done.returncode, len(told(done.stderr))) == (0, 1), done.stderr
    assert_same_rows(by_plan, by_words)
    path.write_text(f"{FILE}# More.\n")
    refused = produce(*planned, **environment)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused.stderr
    assert f"was trained with the code of mine.py (sha256 {digest(FILE)[:8]})" in refused.stderr
    both = produce(*planned, "--from", path)
    assert (both.returncode, both.stderr.count("\n")) == (2, 1)
    assert "leave out --from, or --plan" in both.stderr


@pytest.mark.slow
def test_hosts_train_by_the_same_code_or_not_at_all(
    path: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    other = tmp_path / "other" / "mine.py"
    other.parent.mkdir()
    other.write_text(f"{FILE}# More.\n")
    for number, (paths, code) in enumerate((((path, path), 0), ((path, other), 1))):
        address = f"127.0.0.1:{free_port()}"
        hosts = environment | {
            "JAX_COORDINATOR_ADDRESS": address,
            "JAX_COORDINATOR_BIND_ADDRESS": address,
            "JAX_NUM_PROCESSES": "2",
        }
        out = tmp_path / str(number)
        processes = [
            start_produce(
                *("--from", each, *WORDS, "--distributed", "--out", out),
                **hosts | {"JAX_PROCESS_ID": str(process)},
            )
            for process, each in enumerate(paths)
        ]
        errors = [process.communicate(timeout=600)[1] for process in processes]
        assert [process.returncode for process in processes] == [code, code], errors
        differ = ["the hosts have different code of the user's own" in each for each in errors]
        assert differ == [code == 1] * 2
        assert out.exists() == (code == 0)


def installed(text: str, folder: Path) -> Path:
    """A distribution with an entry point for a module of that text, installed into a folder."""
    target = folder / "installed"
    for name, content in {
        "striped/workloads.py": text,
        "my_stripes-1.5.dist-info/METADATA": "Name: my-stripes\nVersion: 1.5\n",
        "my_stripes-1.5.dist-info/entry_points.txt": (
            "[dbtool.workloads]\nstripes = striped.workloads\n"
        ),
    }.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(content)
    return target


def seeing(folder: Path) -> dict[str, str]:
    """The variables under which Python finds what is installed in a folder, too."""
    others = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), others]))}


@pytest.mark.slow
def test_an_installed_package_brings_its_workloads(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    environment = environment | seeing(installed(FILE, tmp_path))
    assert produce("stripes/*", "--list", "--format", "csv", **environment).stdout == LISTED
    done = produce("stripes/*", *WORDS, "--out", tmp_path / "out", **environment)
    assert (done.returncode, len(told(done.stderr))) == (0, 1), done.stderr
    assert sorted(statuses(tmp_path / "out")) == [0, 1]
    (shard,) = shards(tmp_path / "out")
    expected = {"name": "my-stripes", "sha256": digest(FILE), "version": "1.5"}
    assert footer(shard, "producer")["origin"] == expected
    # A file of the same names may not take its place.
    (tmp_path / "mine.py").write_text(FILE)
    refused = produce("--from", tmp_path / "mine.py", "--list", **environment)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
    assert "mine.py: the model slope is known already; give yours another name" in refused.stderr


def test_an_installed_package_that_fails_is_one_sentence(tmp_path: Path) -> None:
    target = installed(FILE.replace("import math", "import maths"), tmp_path)
    # In a process of its own, as each loads what is installed once.
    done = produce("--list", **seeing(target))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    line = 1 + FILE[: FILE.index("import math")].count("\n")
    assert f"{target}/striped/workloads.py, line {line}: ModuleNotFoundError" in done.stderr
    assert done.stderr.endswith("; `pip uninstall my-stripes` goes on without it\n")
