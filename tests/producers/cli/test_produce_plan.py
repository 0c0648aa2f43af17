"""`dbtool produce --plan` as a user runs it: whole releases, gone on with and shared out."""

from pathlib import Path

import pytest

from dbtool.core.contract import study_path
from dbtool.core.manifest import read_manifest
from tests.dbtool.cli.conftest import Call
from tests.support.sweeps import (
    DATA,
    TRAINED,
    WORKLOAD,
    assert_same_rows,
    fast_start,
    footer,
    in_place_of_mnist,
    produce,
    shards,
    statuses,
)

OTHER = "mnist/fc_128_128_128/sgd"
OTHER_TRAINED = f"replaced/{DATA}/fc_128_128_128/sgd"
PLAN = f"""
release = "planned"
seed = 5

[[sweep]]
workloads = ["{WORKLOAD}"]
batch_sizes = [8, 16]
trials = 3
steps = 4

[[sweep]]
workloads = ["{OTHER}"]
batch_sizes = [16]
trials = 1
budget = 0.0001
"""
# A ten-thousandth of 1,000 + 150,000 / 16 steps.
OTHER_STEPS = 1
PATIENCE = 90.0


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return fast_start(tmp_path_factory.mktemp("compiled"))


@pytest.fixture(scope="module")
def replacing(made_up_mnist: Path) -> str:
    """The line of a plan that has it train on made-up images."""
    return f'replace = ["mnist={DATA}:{made_up_mnist}"]\n'


@pytest.fixture(scope="module")
def plan(replacing: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("plans") / "plan.toml"
    path.write_text(replacing + PLAN)
    return path


@pytest.fixture(scope="module")
def undisturbed(
    plan: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out: Path = tmp_path_factory.mktemp("undisturbed")
    result = produce("--plan", plan, "--block", "2", "--out", out, **environment)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    # A trial has a row for each step and the one before them.
    rows = [2, 10, 5, 10, 5]
    studies = [(OTHER_TRAINED, 16), *[(TRAINED, 16)] * 2, *[(TRAINED, 8)] * 2]
    told = [f"wrote {path} ({n} measurements)" for path, n in zip(shards(out), rows, strict=True)]
    assert sorted(result.stderr.splitlines()) == sorted(told)
    folders = [out / study_path(*study) for study in studies]
    assert [path.parent for path in shards(out)] == folders
    return out


@pytest.mark.slow
def test_studies_are_trained_as_their_tables_say(undisturbed: Path) -> None:
    for study, trials in {
        (TRAINED, 8): [0, 1, 2],
        (TRAINED, 16): [0, 1, 2],
        (OTHER_TRAINED, 16): [0],
    }.items():
        assert sorted(statuses(undisturbed, study)) == trials
    assert read_manifest(undisturbed).release == "planned"
    studies = [footer(path, "study") for path in shards(undisturbed)]
    steps = {study["workload"]["model"]: study["train_steps"] for study in studies}
    assert steps == {"fc_64_64_64": 4, "fc_128_128_128": OTHER_STEPS}


@pytest.mark.slow
def test_options_that_say_the_same_train_the_same(
    undisturbed: Path, made_up_mnist: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    common = ("--release", "planned", "--seed", "5", "--block", "2", "--out", tmp_path)
    data = in_place_of_mnist(made_up_mnist)
    for words in (
        (WORKLOAD, "--batch-sizes", "8,16", "--trials", "3", "--steps", "4"),
        (OTHER, "--batch-sizes", "16", "--trials", "1", "--budget", "0.0001"),
    ):
        assert produce(*words, *data, *common, **environment).returncode == 0
    assert_same_rows(tmp_path, undisturbed)
    # Not one byte of what describes the studies is another, so that each goes on with the other.
    for ours, theirs in zip(shards(tmp_path), shards(undisturbed), strict=True):
        assert footer(ours, "study") == footer(theirs, "study")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([WORKLOAD, "--trials", "3"], WORKLOAD),
        (["--all"], "--all"),
        (["--preset", "smoke"], "--preset"),
        (["--trials", "3", "--batch-sizes", "8"], "--batch-sizes"),
        (["--budget", "0"], "--budget"),
        (["--replace", "mnist=mine:."], "--replace"),
        (["--seed", "0"], "--seed"),
        (["--shared-batches"], "--shared-batches"),
    ],
)
def test_words_that_clash_are_named(
    words: list[str], named: str, plan: Path, tmp_path: Path, call: Call
) -> None:
    outcome = call("produce", "--plan", str(plan), *words, "--out", str(tmp_path / "out"))
    assert outcome.sentence(2) == (
        f"dbtool: --plan trains what {plan} says and nothing else; leave out {named}, or --plan\n"
    )
    assert not (tmp_path / "out").exists()


def test_wrong_plan_is_one_sentence(tmp_path: Path, call: Call) -> None:
    plan, out = tmp_path / "plan.toml", str(tmp_path / "out")
    said = call("produce", "--plan", str(plan), "--out", out).sentence(2)
    assert said == f"dbtool: cannot read the plan {plan}: No such file or directory\n"
    plan.write_text(PLAN.replace("trials = 3", "trails = 3"))
    said = call("produce", "--plan", str(plan), "--dry-run", "--out", out).sentence(2)
    assert said.startswith(f'dbtool: the plan {plan}: sweep.0 knows no "trails"; ')
    assert not (tmp_path / "out").exists()
