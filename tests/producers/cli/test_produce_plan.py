"""`dbtool produce --plan` as a user runs it: whole releases, gone on with and shared out."""

from pathlib import Path

import pytest

from tests.dbtool.cli.conftest import Call
from tests.support.sweeps import (
    DATA,
    WORKLOAD,
)

OTHER = "mnist/fc_128_128_128/sgd"
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


@pytest.fixture(scope="module")
def replacing(made_up_mnist: Path) -> str:
    """The line of a plan that has it train on made-up images."""
    return f'replace = ["mnist={DATA}:{made_up_mnist}"]\n'


@pytest.fixture(scope="module")
def plan(replacing: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("plans") / "plan.toml"
    path.write_text(replacing + PLAN)
    return path


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
