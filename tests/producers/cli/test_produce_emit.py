"""`dbtool produce --emit`: the job files, and what their tasks train, run as they are written."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.dbtool.cli.conftest import Call
from tests.support.kills import files_below, wait_until
from tests.support.own_workload import FILE
from tests.support.programs import CHECKOUT
from tests.support.sweeps import (
    WORKLOAD,
    assert_same_sweep,
    fast_start,
    footer,
    in_place_of_mnist,
    produced,
    shards,
    told,
)

KINDS = ("slurm", "kubernetes", "skypilot")
# Two blocks of each of two studies.
SWEEP = (*(WORKLOAD, "--batch-sizes", "8,16", "--trials", "4", "--block", "2"),)
SLICES = 4
PATIENCE = 120.0


def emitted(call: Call, kind: str, *words: str) -> str:
    """The job that the command prints; what it tells besides is one line."""
    outcome = call("produce", *words, "--emit", kind)
    assert (outcome.code, outcome.errors.count("\n")) == (0, 1), outcome.errors
    return outcome.output


def script_of(kind: str, job: str) -> str:
    """What the shell of a task runs."""
    if kind == "slurm":
        return job
    task = yaml.safe_load(job)
    if kind == "skypilot":
        return str(task["run"])
    [container] = task["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["/bin/sh", "-c"]
    return str(container["args"][0])


def command_of(kind: str, job: str) -> list[str]:
    """The words of the only command of dbtool in a task."""
    [line] = [line for line in script_of(kind, job).splitlines() if "dbtool produce" in line]
    words = shlex.split(line)
    return words[words.index("dbtool") + 1 :]


def test_a_job_has_a_slice_for_each_block(call):
    words = (*SWEEP, "--out", "my runs", "--cpus-per-task", "8", "--gpus-per-task", "2")
    slurm, kubernetes, skypilot = (emitted(call, kind, *words) for kind in KINDS)
    head = re.findall(r"^#SBATCH (\S+)$", slurm, re.MULTILINE)
    assert {"--array=1-4", "--ntasks=1", "--cpus-per-task=8", "--gpus-per-task=2"} <= set(head)
    assert "\nexport NPROC=8 " in slurm
    subprocess.run(["bash", "-n"], input=slurm, text=True, check=True)
    job = yaml.safe_load(kubernetes)
    assert job["metadata"]["name"] == "dbtool-my-runs"
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"]) == ("Indexed", 4)
    [container] = spec["template"]["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": 8}, "limits": {"nvidia.com/gpu": 2}}
    assert container["env"] == [{"name": "NPROC", "value": "8"}]
    task = yaml.safe_load(skypilot)
    assert task["resources"] == {"cpus": "8+", "accelerators": "?:2", "use_spot": True}
    assert "sky jobs launch --num-jobs 4 " in skypilot
    assert "pip install './FILE.whl[gpu]'" in kubernetes
    assert "installs dbtool from, as in ./FILE.whl[gpu]." in skypilot
    for kind, text in zip(KINDS, (slurm, kubernetes, skypilot), strict=True):
        command = command_of(kind, text)
        assert command[: len(SWEEP) + 1] == ["produce", *SWEEP]
        assert command[-2] == "--slice"
        assert command[-1].endswith("/4")
        assert kind == "skypilot" or command[-4:-2] == ["--out", "my runs"]


def test_a_job_has_a_thousand_slices_at_most_and_no_gpu_unless_asked_for(call):
    # So many that Slurm takes them as it comes.
    job = emitted(call, "slurm", WORKLOAD, "--batch-sizes", "8", "--trials", "1001", "--block", "1")
    assert "\n#SBATCH --array=1-1000\n" in job
    assert job.endswith('/1000"\n')
    jobs = [emitted(call, kind, *SWEEP) for kind in KINDS]
    assert not any("gpu" in job or "accelerators" in job for job in jobs)
    assert [job.count("./FILE.whl[train]") for job in jobs] == [0, 1, 1]


@pytest.mark.parametrize(
    ("out", "name"),
    [
        (".", "dbtool-sweep"),
        ("Größe 7_", "dbtool-gr-e-7"),
        (f"{'x' * 42}-y", "dbtool-" + "x" * 42),
    ],
)
def test_names_are_such_as_kubernetes_takes(call, out, name):
    assert yaml.safe_load(emitted(call, "kubernetes", *SWEEP, "--out", out))["metadata"] == {
        "name": name
    }


PLAN = f"""
release = "planned"
[[sweep]]
workloads = ["{WORKLOAD}"]
batch_sizes = [8, 16]
"""
OF_ALL_SORTS = (
    ("--plan", "it's a plan.toml", "--block", "25", "--dtype", "bfloat16", "--out", "a\nb $HOME"),
    (
        *("--all", "--batches", "shared", "--seed", "3", "--budget", "0.5", "--datasets", "data"),
        *("--measure", "gradient_noise_scale", "--measure", "gradient_lipschitz_constant"),
        *("--checkpoint-minutes", "2.5", "--micro-batch", "64", "--remat"),
    ),
    (
        *(WORKLOAD, "--batch-sizes", "8", "--replace", "mnist=mine:the digits", "--goal", "-0.03"),
        *("--steps", "7", "--release", "mine", "--devices-per-trial", "2"),
    ),
    ("--from", "mine.py", "--trials", "7"),
)


@pytest.mark.usefixtures("registries_as_before")
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        *(("slurm", words) for words in OF_ALL_SORTS),
        *((kind, OF_ALL_SORTS[0]) for kind in KINDS[1:]),
    ],
)
def test_a_task_has_every_word_of_the_command(
    call, kind, words, made_up_mnist, tmp_path, monkeypatch
):
    monkeypatch.delenv("DBTOOL_DATASETS", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("it's a plan.toml").write_text(PLAN)
    Path("the digits").symlink_to(made_up_mnist)
    Path("mine.py").write_text(FILE)
    job = emitted(call, kind, *words)
    command = script_of(kind, job).partition("dbtool produce ")[2]
    given = shlex.split(command)
    given = given[: given.index("--out")]
    out = words[words.index("--out") :] if "--out" in words else ()
    assert sorted([*given, *out]) == sorted(words)
    # The same words lead to the same job.
    assert emitted(call, kind, *given, *out) == job


def test_an_environment_variable_is_given_to_tasks_that_share_the_file_system(call, monkeypatch):
    monkeypatch.setenv("DBTOOL_DATASETS", "/data sets")
    # It need not be there on the machine that submits the job.
    command = command_of("slurm", emitted(call, "slurm", *SWEEP))
    assert command[command.index("--datasets") + 1] == "/data sets"
    for kind in KINDS[1:]:
        assert "data sets" not in emitted(call, kind, *SWEEP)


@pytest.fixture(scope="module")
def words(made_up_mnist: Path) -> tuple[str, ...]:
    # A block takes seconds, and saves a checkpoint after each call: there is time to strike.
    return (
        *(*SWEEP, "--steps", "20000", "--checkpoint-minutes", "0"),
        *in_place_of_mnist(made_up_mnist),
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Has a shell find this dbtool, wherever it runs."""
    programs = tmp_path_factory.mktemp("programs")
    (programs / "dbtool").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dbtool "$@"\n')
    (programs / "dbtool").chmod(0o755)
    paths = {"PATH": f"{programs}:/usr/bin:/bin", "PYTHONPATH": str(CHECKOUT)}
    return paths | fast_start(tmp_path_factory.mktemp("compiled"))


@pytest.fixture(scope="module")
def undisturbed(
    words: tuple[str, ...], environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out: Path = tmp_path_factory.mktemp("undisturbed")
    produced(*words, "--out", out, **environment)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_tasks_that_die_or_run_twice_train_the_sweep(
    call, kind, words, environment, undisturbed, tmp_path
):
    script = script_of(kind, emitted(call, kind, *words, "--out", "runs"))
    if kind == "skypilot":
        script = script.replace("/runs/", f"{tmp_path}/runs/")
    runs = tmp_path / "runs"

    def start(number: int) -> subprocess.Popen[str]:
        of_kind: Any = {
            "slurm": {"SLURM_ARRAY_TASK_ID": str(number)},
            "kubernetes": {"JOB_COMPLETION_INDEX": str(number - 1)},
            "skypilot": {"SKYPILOT_JOB_RANK": str(number - 1)},
        }
        return subprocess.Popen(
            ["bash" if kind != "kubernetes" else "sh", "-c", script],
            cwd=tmp_path,
            env=environment | of_kind[kind],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait(process: subprocess.Popen[str]) -> str:
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        return errors

    for strike in (signal.SIGKILL, signal.SIGTERM):
        struck = start(2)
        wait_until(lambda: any(".work" in path.parts for path in files_below(runs)), struck)
        # Slurm and Kubernetes signal the first process alone; a virtual machine ends with all.
        (os.killpg if kind == "skypilot" else os.kill)(struck.pid, strike)
        struck.communicate(timeout=PATIENCE)
        assert not shards(runs)
    for process in [start(number) for number in range(1, SLICES + 1)]:
        assert told(wait(process))[0].startswith("trained ")
    assert wait(start(3)).startswith("nothing to train: ")
    if kind == "skypilot":
        folders = sorted(runs.iterdir())
        assert [folder.name for folder in folders] == [f"slice-{i}-of-4" for i in (1, 2, 3, 4)]
        outcome = call("ingest", str(runs), "--db", str(tmp_path / "one"))
        assert outcome.code == 0, outcome.errors
        [runs] = (tmp_path / "one").iterdir()
    if kind == "slurm":
        # The script says how many cores there are.
        assert {footer(path, "producer")["devices"] for path in shards(runs)} == {1}
    assert_same_sweep(runs, undisturbed)


@pytest.mark.usefixtures("registries_as_before")
def test_what_to_train_before_it_branches_is_told_with_the_file_and_the_release(call, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    out, of_sweep = tmp_path / "out", ("--batch-sizes", "8", "--release", "branches")
    outcome = call("produce", "--from", str(file), *of_sweep, "--branch-at", "5", "--out", str(out))
    assert outcome.code == 2
    told = f"--from {file} --release branches --batch-sizes 8 --search lockstep --reaching 8 --out"
    assert told in outcome.errors
