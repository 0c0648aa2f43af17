"""Plan files that train on data of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbtool.errors import DbtoolError, UsageError
from producers.datasets.made_up import write_made_up
from producers.plan import plan_studies
from producers.plan_file import read_plan
from producers.workloads.registry import WORKLOADS, find_workloads
from producers.workloads.replace import Replacement, replace_data

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = "mnist/fc_64_64_64/sgd"
FASHION = "fashion_mnist/fc_128_128_128/sgd"
SWEEP = f'[[sweep]]\nworkloads = ["{WORKLOAD}"]\nbatch_sizes = [8]\n'
RELEASE = 'release = "x"\n'
REPLACE = f'{RELEASE}replace = ["mnist=mine:digits"]\n'


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Where a plan is to be written: beside a folder of made-up digits."""
    write_made_up("mnist", tmp_path / "digits")
    return tmp_path / "plan.toml"


def test_studies_are_those_of_the_command_line(plan: Path) -> None:
    plan.write_text(f"{REPLACE}goal = 1\nseed = 4\n{SWEEP}")
    folder = plan.parent / "digits"
    own = Replacement("mnist", "mine", folder)
    found = replace_data([WORKLOADS[WORKLOAD]], [own], goal=1.0)
    expected = plan_studies(
        [workload for workload, _ in found.values()],
        release="x",
        batch_sizes=[8],
        steps=None,
        budget_scale=1.0,
        root_seed=4,
        shared_batches=False,
        replacements=dict.fromkeys(found, folder),
    )
    (study,) = read_plan(plan).studies()
    assert [study] == expected
    assert study.replacement == folder
    assert study.name == "replaced/mine/fc_64_64_64/sgd at batch size 8"
    # A whole number is not told from the same one with a fraction.
    assert repr(study.workload.goal) == "1.0"


def test_other_data_sets_of_the_plan_stay_their_own(plan: Path) -> None:
    other = f'[[sweep]]\nworkloads = ["{FASHION}"]\nbatch_sizes = [8]\n'
    plan.write_text(f"{REPLACE}{SWEEP}{other}")
    mine, fashion = read_plan(plan).studies()
    assert (mine.workload.goal, mine.workload.train_examples) == (None, 88)
    assert (fashion.workload, fashion.replacement) == (WORKLOADS[FASHION], None)


def test_batch_sizes_are_those_that_fit_the_folder(plan: Path) -> None:
    plan.write_text(f'{REPLACE}[[sweep]]\nworkloads = ["{WORKLOAD}"]')
    # The published sizes below the 88 examples, and all of these, as the published ones end.
    sizes = [study.batch_size for study in read_plan(plan).studies()]
    assert sizes == [1, 2, 4, 8, 16, 32, 64, 88]


def test_sweeps_may_share_a_workload_on_the_folder(plan: Path) -> None:
    twice = SWEEP.replace("[8]", "[16]")
    plan.write_text(f"{REPLACE}{SWEEP}{twice}")
    assert [study.batch_size for study in read_plan(plan).studies()] == [8, 16]
    plan.write_text(f"{REPLACE}{SWEEP}{SWEEP}")
    with pytest.raises(
        UsageError, match=r"\[\[sweep\]\] 2: replaced/mine/fc_64_64_64/sgd at batch"
    ):
        read_plan(plan).studies()


def test_vocabulary_is_that_of_the_option(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from producers.datasets.forms import TextForm
    from producers.datasets.text.vocabulary import train_vocabulary

    monkeypatch.setenv("XDG_CACHE_HOME", str(plan.parent / "cache"))
    write_made_up("brown", plan.parent / "sentences")
    sentences = (plan.parent / "sentences/ca01").read_text().splitlines()
    train_vocabulary(300, ["test"], lambda: sentences)
    (model,) = (plan.parent / "cache").rglob("sentencepiece.model")
    (workload,) = find_workloads(["brown/transformer_tiny/sgd"])
    plan.write_text(
        f'{RELEASE}replace = ["brown=mine:sentences"]\n'
        f'[[sweep]]\nworkloads = ["{workload.name}"]\nbatch_sizes = [8]\n'
    )
    (study,) = read_plan(plan).studies(vocabulary=model)
    assert study.workload.form == TextForm(300, 64)


@pytest.mark.parametrize(
    ("top", "part"),
    [
        ('replace = "mnist=mine:digits"', "; give it a list of SOURCE=NAME:FOLDER, such as ["),
        ("replace = []", "replace is []; give it a list of SOURCE=NAME:FOLDER, such as ["),
        ('replace = ["mnist"]', "'mnist' does not say what replaces what; write it as lm1b=my_t"),
        ('replace = ["mnits=mine:digits"]', "unknown data set 'mnits'; closest: mnist"),
        ('replace = ["mnist=mine:gone"]', "the folder gone that is to replace mnist does not ex"),
        ('replace = ["lm1b=mine:digits"]', "takes its examples from lm1b, but from mnist"),
        ('replace = ["mnist=a:digits", "mnist=b:digits"]', "mnist is replaced twice; give one"),
        ("goal = 0.1", "goal is for data that replace names"),
        ('replace = ["mnist=mine:digits"]\ngoal = nan', "goal is nan; give it a number, such as"),
        ('replace = ["mnist=mine:digits"]\ngoal = true', "goal is true; give it a number"),
        ('replace = ["mnist=mine:digits"]\ngoal = 1' + "0" * 400, "goal is an endless number; "),
    ],
)
def test_what_replaces_nothing_is_one_sentence(top: str, part: str, plan: Path) -> None:
    plan.write_text(f"{RELEASE}{top}\n{SWEEP}")
    with pytest.raises(UsageError) as caught:
        read_plan(plan).studies()
    said = str(caught.value)
    assert said.startswith(f"{plan}: ")
    assert part in said
    assert "\n" not in said


def test_folder_of_another_format_is_named(plan: Path) -> None:
    (plan.parent / "digits/train-labels-idx1-ubyte").write_bytes(b"no labels")
    plan.write_text(f"{REPLACE}{SWEEP}")
    with pytest.raises(DbtoolError, match="digits/train-labels-idx1-ubyte is not an IDX file"):
        read_plan(plan).studies()
