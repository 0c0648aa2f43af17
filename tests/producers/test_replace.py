"""Workloads on data of the user's own, named by options and by plan files."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import UsageError
from producers.datasets.forms import GREY_28, TextForm
from producers.datasets.registry import write_made_up
from producers.datasets.text.vocabulary import train_vocabulary
from producers.workloads.registry import WORKLOADS, find_workloads
from producers.workloads.replace import Replacement, parse_replacement, replace_data, replaced
from tests.support.sweeps import planned, studies_of

SHALLOW = WORKLOADS["lm1b/transformer_shallow/sgd"]
NAMES = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", min_size=1)


def test_name_and_definition_say_what_replaces_what():
    form = TextForm(vocabulary=300, length=16)
    workload = replaced(SHALLOW, "letters", form, 1_000, None)
    assert workload.name == "replaced/letters/transformer_shallow/sgd"
    assert workload.batch_sizes == (32, 128, 512)
    definition = workload.definition()
    assert definition["replaces"] == "lm1b"
    assert definition["goal"] is None
    assert definition["train_examples"] == workload.train_limit == 1_000
    assert definition["form"] == {"vocabulary": 300, "length": 16}
    assert definition["certainty"]["goal"] == "chosen"
    assert replaced(SHALLOW, "letters", form, 1_000, 2.5).goal == 2.5


def test_collections_and_subsets_stay_apart():
    def name(workload: str) -> str:
        return replaced(WORKLOADS[workload], "mine", GREY_28, 12_000, None).name

    cnn = "simple_cnn_base/nesterov_momentum"
    assert name(f"mnist/{cnn}") == f"replaced/mine/{cnn}"
    sparse = "simple_cnn/nesterov_momentum"
    assert name(f"sparsity_90/mnist/{sparse}") == f"replaced/sparsity_90/mine/{sparse}"
    # An eighth of the examples, as 6,875 are of 55,000.
    assert name(f"mnist_subsets/mnist_6875/{cnn}") == f"replaced/mnist_subsets/mine_1500/{cnn}"
    assert name(f"mnist_subsets/mnist_55000/{cnn}") == f"replaced/mnist_subsets/mine_12000/{cnn}"
    resnet = "resnet_50/nesterov_momentum"
    assert name(f"imagenet_subsets/imagenet_half_classes/{resnet}") == (
        f"replaced/imagenet_subsets/mine_half_classes/{resnet}"
    )


@pytest.mark.parametrize(
    ("name", "examples", "batch_sizes"),
    [
        # The published study's largest batch is the whole training set, and so is this one's.
        ("mnist/simple_cnn_base/nesterov_momentum", 100, (1, 2, 8, 32, 100)),
        ("lm1b/transformer_shallow/sgd", 129, (32, 128)),
        ("lm1b/transformer_shallow/sgd", 31, (16,)),
    ],
)
def test_batch_sizes_fit_by_hand(name, examples, batch_sizes):
    workload = WORKLOADS[name]
    assert replaced(workload, "mine", workload.form, examples, None).batch_sizes == batch_sizes


@given(st.sampled_from(sorted(WORKLOADS)), NAMES, st.integers(1, 10**9))
def test_no_replacement_is_taken_for_a_registered_workload(name, data, examples):
    workload = replaced(WORKLOADS[name], data, WORKLOADS[name].form, examples, 0.5)
    assert workload.name not in WORKLOADS
    assert workload.name.startswith("replaced/")
    assert workload.paper is None
    assert workload.replaces == WORKLOADS[name].source
    assert all(1 <= size <= workload.train_examples for size in workload.batch_sizes)
    assert list(workload.batch_sizes) == sorted(set(workload.batch_sizes))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("lm1b", "does not say what replaces what"),
        ("lm1c=text:{folder}", "unknown data set 'lm1c'; closest: lm1b"),
        ("lm1b=../mnist:{folder}", "'../mnist' cannot name data"),
        ("lm1b=lm1b:{folder}", "'lm1b' is a data set of the papers"),
        ("lm1b=text:{folder}/gone", "that is to replace lm1b does not exist"),
    ],
)
def test_wrong_words_are_named(text, part, tmp_path):
    with pytest.raises(UsageError, match=re.escape(part)):
        parse_replacement(text.format(folder=tmp_path))


def test_sizes_and_hashes_are_those_of_the_folder(tmp_path):
    write_made_up("mnist", tmp_path / "idx")
    words = ["mnist/fc_64_64_64/sgd", "fashion_mnist/fc_128_128_128/sgd"]
    replacement = Replacement("mnist", "mine", tmp_path / "idx")
    workloads = [WORKLOADS[name] for name in words]
    found = replace_data(workloads, [replacement], goal=0.2)
    own, other = found.values()
    # One in twelve of 96 examples is held out.
    assert (own[0].name, own[0].train_examples) == ("replaced/mine/fc_64_64_64/sgd", 88)
    assert (own[0].goal, own[1]) == (0.2, tmp_path / "idx")
    assert other == (workloads[1], None)
    again = replace_data(workloads, [replacement], goal=0.2)
    assert again == found
    labels = tmp_path / "idx/train-labels-idx1-ubyte"
    content = bytearray(labels.read_bytes())
    content[-1] ^= 1
    labels.write_bytes(content)
    changed, _ = replace_data(workloads, [replacement], goal=0.2).values()
    assert changed[0] == replace(own[0], data_sha256=changed[0].data_sha256)
    assert changed[0].data_sha256 != own[0].data_sha256


def test_replacements_must_be_used_once(tmp_path):
    mnist = Replacement("mnist", "mine", tmp_path)
    with pytest.raises(UsageError, match="mnist is replaced twice"):
        replace_data([WORKLOADS["mnist/fc_1024/sgd"]], [mnist, mnist], goal=None)
    with pytest.raises(UsageError, match="examples from mnist, but from lm1b"):
        replace_data([SHALLOW], [mnist], goal=None)


def test_subsets_that_would_be_alike_are_refused(tmp_path):
    write_made_up("mnist", tmp_path)
    for path in tmp_path.iterdir():
        # Three examples, of which one is held out, after the header of two or four numbers.
        size = 8 + 3 if "labels" in path.name else 16 + 3 * 28 * 28
        content = path.read_bytes()[:size]
        path.write_bytes(content[:4] + (3).to_bytes(4, "big") + content[8:])
    subsets = [each for each in WORKLOADS.values() if each.collection == "mnist_subsets"]
    with pytest.raises(UsageError, match="too few examples to tell"):
        replace_data(subsets, [Replacement("mnist", "mine", tmp_path)], goal=None)


WORKLOAD = "mnist/fc_64_64_64/sgd"
SWEEP = f'[[sweep]]\nworkloads = ["{WORKLOAD}"]\nbatch_sizes = [8]\n'
RELEASE = 'release = "x"\n'
REPLACE = f'{RELEASE}replace = ["mnist=mine:digits"]\n'


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Where a plan is to be written: beside a folder of made-up digits."""
    write_made_up("mnist", tmp_path / "digits")
    return tmp_path / "plan.toml"


def test_studies_are_those_of_the_command_line(plan):
    plan.write_text(f"{REPLACE}goal = 1\nseed = 4\n{SWEEP}")
    folder = plan.parent / "digits"
    own = Replacement("mnist", "mine", folder)
    ((workload, _),) = replace_data([WORKLOADS[WORKLOAD]], [own], goal=1.0).values()
    (study,) = studies_of(plan)
    expected = planned(workload, batch_sizes=[8], seed=4, folder=folder)
    assert [replace(study, release="tests")] == expected
    assert study.replacement == folder
    assert study.name == "replaced/mine/fc_64_64_64/sgd at batch size 8"
    # A whole number is not told from the same one with a fraction.
    assert repr(study.workload.goal) == "1.0"


def test_vocabulary_is_that_of_the_option(plan, monkeypatch):
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
    (study,) = studies_of(plan, vocabulary=model)
    assert study.workload.form == TextForm(300, 64)


@pytest.mark.parametrize(
    ("top", "part"),
    [
        ('replace = "mnist=mine:digits"', "should be a list of SOURCE=NAME:FOLDER, such as ["),
        ("goal = 0.1", "goal is for data that replace names"),
        ('replace = ["mnist=mine:digits"]\ngoal = 1' + "0" * 400, "goal is 10000"),
    ],
)
def test_what_replaces_nothing_is_one_sentence(top, part, plan):
    plan.write_text(f"{RELEASE}{top}\n{SWEEP}")
    with pytest.raises(UsageError) as caught:
        studies_of(plan)
    sentence = str(caught.value)
    assert sentence.startswith(f"the plan {plan}: ")
    assert part in sentence
    assert "\n" not in sentence
