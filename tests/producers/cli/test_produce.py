"""`dbtool produce` as a user runs it: what it prints, writes and answers to wrong words."""

import hashlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import dbtool
from dbtool.core.manifest import is_release, read_manifest
from producers.workloads.registry import WORKLOADS
from tests.support.kills import wait_until
from tests.support.own_workload import FILE, NAME
from tests.support.sweeps import (
    BATCH_SIZE,
    CONSOLE_SCRIPT,
    TRAINED,
    WORKLOAD,
    footer,
    hosts,
    in_place_of_mnist,
    produce,
    produced,
    refused,
    shards,
    start_produce,
    statuses,
    told,
)

SMALL = (WORKLOAD, "--batch-sizes", str(BATCH_SIZE), "--trials", "2", "--steps", "3")
# The last workload of each; those of other optimizers and data sets train the same.
NETWORKS = {(name.startswith("sparsity"), each.model): name for name, each in WORKLOADS.items()}


def test_dry_run_tells_and_writes_nothing(call, tmp_path, monkeypatch):
    out = tmp_path / "out"
    # The data set is not there, and need not be.
    monkeypatch.setenv("DBTOOL_DATASETS", str(tmp_path))
    outcome = call("produce", *SMALL, "--dry-run", "--out", str(out))
    assert (outcome.code, outcome.errors) == (0, "")
    first, total = outcome.output.splitlines()
    assert first.startswith(f"{WORKLOAD} at batch size 8: 2 trials of 3 steps, 8 measurements, ")
    assert total.endswith(f"in {out}, 8 measurements")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_study_is_told_and_a_second_run_trains_nothing(made_up_mnist, tmp_path):
    out = tmp_path / "out"
    words = (*SMALL, *in_place_of_mnist(made_up_mnist), "--out", out)
    first = produce(*words)
    (path,) = shards(out)
    assert (first.returncode, first.stdout) == (0, "")
    # Without a goal, the best value is what there is to tell.
    best = f"trained {TRAINED} at batch size 8: 2 trials, 0 diverged; best val_classification_error"
    [line] = told(first.stderr)
    assert re.fullmatch(rf"{re.escape(best)} [\d.]+(; the best trial lies at .*)?", line)
    nothing = f"nothing to train: {out} holds every trial that was requested"
    assert produced(*words) == f"{nothing}\n"
    said = "what was trained without --measure is measured in another --out alone"
    assert produced(*words, "--measure", "gradient_noise_scale") == f"{nothing}; {said}\n"
    assert shards(out) == [path]
    assert "0 trials of 3 steps" in produce(*words, "--dry-run").stdout
    manifest = out / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"local", b"lokal"))
    # A dry run reads what is there as well.
    for more in ((), ("--dry-run",)):
        assert str(manifest) in refused(1, *words, *more)


def test_time_to_a_goal_is_told_of_a_sweep_that_measured_seconds(call, made_up_mnist, tmp_path):
    out = tmp_path / "out"
    words = (*SMALL, "--measure", "seconds", *in_place_of_mnist(made_up_mnist), "--out", str(out))
    assert call("produce", *words).code == 0
    with dbtool.open(out) as db:
        (row,) = db.steps(TRAINED, goal=1.0, by="seconds").to_dicts()
        ((first,),) = db.sql("SELECT min(seconds) FROM measurements")
    assert row["seconds"] == first > 0


@pytest.mark.slow
def test_questions_are_answered_while_a_sweep_is_in_progress(made_up_mnist, tmp_path):
    words = [WORKLOAD, "--batch-sizes", str(BATCH_SIZE), "--trials", "1000", "--block", "1"]
    words += ["--steps", "3000"]
    data = in_place_of_mnist(made_up_mnist)
    out = tmp_path / "out"
    process = start_produce(*words, *data, "--out", out)
    try:
        wait_until(lambda: is_release(out) and bool(read_manifest(out).shards), process)
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
def test_smoke_trains_every_network(workload, tmp_path):
    out = tmp_path / "out"
    produced("--preset", "smoke", workload, "--out", out)
    (path,) = shards(out)
    assert footer(path, "study")["workload"]["definition"]["model"] == WORKLOADS[workload].model
    steps = [trial["steps"] for trial in footer(path, "trials")]
    assert steps == [3, 3]


@pytest.mark.slow
def test_a_shard_tells_that_activations_were_computed_again(tmp_path):
    words = ("--preset", "smoke", "--remat", "--batch-sizes", "8", "--trials", "1")
    workloads = ("brown/transformer_tiny/adam", "mnist/fc_64_64_64/sgd")
    produced(*words, *workloads, "--out", tmp_path)
    remat = {
        footer(path, "study")["workload"]["definition"]["model"]: footer(path, "producer")["remat"]
        for path in shards(tmp_path)
    }
    assert remat == {"transformer_tiny": True, "fc_64_64_64": False}


LISTED = f'workload,goal,batch_sizes\n{NAME},val_classification_error < 0.1,"[2,4]"\n'
WORDS = ("--batch-sizes", "4", "--trials", "2", "--steps", "5")


@pytest.mark.usefixtures("registries_as_before")
def test_the_workloads_of_a_file_are_listed(call, path):
    ours = call("produce", "--from", str(path), "--list", "--format", "csv")
    assert (ours.code, ours.output, ours.errors) == (0, LISTED, "")


@pytest.mark.slow
def test_hosts_with_other_code_train_nothing(path, tmp_path):
    other = tmp_path / "other" / "mine.py"
    other.parent.mkdir()
    other.write_text(f"{FILE}# More.\n")
    processes = [
        start_produce("--from", each, *WORDS, "--distributed", "--out", tmp_path / "out", **host)
        for each, host in zip((path, other), hosts(), strict=True)
    ]
    errors = [process.communicate(timeout=600)[1] for process in processes]
    assert [process.returncode for process in processes] == [1, 1], errors
    assert all("the hosts have different code or data of the" in each for each in errors)
    assert not (tmp_path / "out").exists()


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
def test_an_installed_package_brings_its_workloads(tmp_path):
    environment = seeing(installed(FILE, tmp_path))
    assert produce("stripes/*", "--list", "--format", "csv", **environment).stdout == LISTED
    done = produced("stripes/*", *WORDS, "--out", tmp_path / "out", **environment)
    assert len(told(done)) == 1
    assert sorted(statuses(tmp_path / "out")) == [0, 1]
    (shard,) = shards(tmp_path / "out")
    digest = hashlib.sha256(FILE.encode()).hexdigest()
    expected = {"name": "my-stripes", "sha256": digest, "version": "1.5"}
    assert footer(shard, "producer")["origin"] == expected
    # A file of the same names may not take its place.
    (tmp_path / "mine.py").write_text(FILE)
    said = refused(2, "--from", tmp_path / "mine.py", "--list", **environment)
    assert "mine.py: the model slope is known already; give yours another name" in said


def test_an_installed_package_that_fails_is_one_sentence(tmp_path):
    target = installed(FILE.replace("import math", "import maths"), tmp_path)
    # In a process of its own, as each loads what is installed once.
    said = refused(1, "--list", **seeing(target))
    line = 1 + FILE[: FILE.index("import math")].count("\n")
    assert f"{target}/striped/workloads.py, line {line}: ModuleNotFoundError" in said
    assert said.endswith("; `pip uninstall my-stripes` goes on without it\n")
