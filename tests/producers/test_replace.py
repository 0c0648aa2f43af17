"""Workloads on other data than their own: names, sizes, and what the words may be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.errors import UsageError
from producers.datasets.forms import GREY_28, ImageForm, TextForm
from producers.datasets.made_up import write_made_up
from producers.datasets.permutation import HeldOut
from producers.datasets.text.vocabulary import train_vocabulary
from producers.workloads.registry import WORKLOADS
from producers.workloads.replace import Replacement, parse_replacement, replace_data, replaced

if TYPE_CHECKING:
    from pathlib import Path

SHALLOW = WORKLOADS["lm1b/transformer_shallow/sgd"]
NAMES = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", min_size=1)


def test_name_and_definition_say_what_replaces_what() -> None:
    form = TextForm(vocabulary=300, length=16)
    workload = replaced(SHALLOW, "letters", form, 1_000, None)
    assert workload.name == "replaced/letters/transformer_shallow/sgd"
    definition = workload.definition()
    assert json.loads(json.dumps(definition)) == definition | {
        "batch_sizes": [32, 128, 512],
    }
    assert definition["replaces"] == "lm1b"
    assert definition["goal"] is None
    assert definition["paper"] is None
    assert definition["train_examples"] == workload.train_limit == 1_000
    assert definition["form"] == {"vocabulary": 300, "length": 16}
    assert definition["certainty"]["goal"] == "chosen"
    assert replaced(SHALLOW, "letters", form, 1_000, 2.5).goal == 2.5


def test_collections_and_subsets_stay_apart() -> None:
    def name(workload: str, examples: int = 12_000) -> str:
        return replaced(WORKLOADS[workload], "mine", GREY_28, examples, None).name

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
        ("mnist/simple_cnn_base/nesterov_momentum", 32, (1, 2, 8, 32)),
        ("lm1b/transformer_shallow/sgd", 129, (32, 128)),
        ("lm1b/transformer_shallow/sgd", 31, (16,)),
        ("lm1b/transformer_shallow/sgd", 1, (1,)),
    ],
)
def test_batch_sizes_fit_by_hand(name: str, examples: int, batch_sizes: tuple[int, ...]) -> None:
    workload = WORKLOADS[name]
    assert replaced(workload, "mine", workload.form, examples, None).batch_sizes == batch_sizes


@given(st.sampled_from(sorted(WORKLOADS)), NAMES, st.integers(1, 10**9))
def test_no_replacement_is_taken_for_a_registered_workload(
    name: str, data: str, examples: int
) -> None:
    workload = replaced(WORKLOADS[name], data, WORKLOADS[name].form, examples, 0.5)
    assert workload.name not in WORKLOADS
    assert workload.name.startswith("replaced/")
    assert workload.paper is None
    assert workload.replaces == WORKLOADS[name].source
    assert all(1 <= size <= workload.train_examples for size in workload.batch_sizes)
    assert list(workload.batch_sizes) == sorted(set(workload.batch_sizes))


def test_words_name_source_name_and_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a:b=c"
    folder.mkdir()
    parsed = parse_replacement(f"lm1b=my-Text_2:{folder}")
    assert parsed == Replacement("lm1b", "my-Text_2", folder)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("lm1b", "does not say what replaces what"),
        ("lm1b=text", "does not say what replaces what"),
        ("lm1b=text:", "does not say what replaces what"),
        ("lm1c=text:{folder}", "unknown data set 'lm1c'; closest: lm1b"),
        ("lm1b=my text:{folder}", "'my text' cannot name data"),
        ("lm1b=../mnist:{folder}", "'../mnist' cannot name data"),
        ("lm1b=:{folder}", "'' cannot name data"),
        ("lm1b=caf\u00e9:{folder}", "cannot name data"),
        ("lm1b=mnist_6875:{folder}", "'mnist_6875' is a data set of the papers"),
        ("lm1b=lm1b:{folder}", "'lm1b' is a data set of the papers"),
        ("lm1b=text:{folder}/gone", "that is to replace lm1b does not exist"),
    ],
)
def test_wrong_words_are_named(text: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        parse_replacement(text.format(folder=tmp_path))
    assert part in str(caught.value)


@given(st.text())
def test_any_other_words_are_a_usage_error(text: str) -> None:
    try:
        parsed = parse_replacement(text)
    except UsageError:
        return
    assert parsed.folder.is_dir()


def test_sizes_and_hashes_are_those_of_the_folder(tmp_path: Path) -> None:
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


def test_each_workload_holds_out_its_own_share(tmp_path: Path) -> None:
    write_made_up("mnist", tmp_path)
    whole = WORKLOADS["mnist/fc_1024/sgd"]
    quarter = replace(whole, collection="quarter", held_out=HeldOut("last", 15_000))
    found = replace_data([whole, quarter], [Replacement("mnist", "mine", tmp_path)], goal=None)
    assert [each.train_examples for each, _ in found.values()] == [88, 72]


def test_replacements_must_be_used_once(tmp_path: Path) -> None:
    mnist = Replacement("mnist", "mine", tmp_path)
    with pytest.raises(UsageError, match="mnist is replaced twice"):
        replace_data([WORKLOADS["mnist/fc_1024/sgd"]], [mnist, mnist], goal=None)
    with pytest.raises(UsageError, match="examples from mnist, but from lm1b"):
        replace_data([SHALLOW], [mnist], goal=None)


def test_subsets_that_would_be_alike_are_refused(tmp_path: Path) -> None:
    write_made_up("mnist", tmp_path)
    for path in tmp_path.iterdir():
        # Three examples, of which one is held out, after the header of two or four numbers.
        size = 8 + 3 if "labels" in path.name else 16 + 3 * 28 * 28
        content = path.read_bytes()[:size]
        path.write_bytes(content[:4] + (3).to_bytes(4, "big") + content[8:])
    subsets = [each for each in WORKLOADS.values() if each.collection == "mnist_subsets"]
    with pytest.raises(UsageError, match="too few examples to tell"):
        replace_data(subsets, [Replacement("mnist", "mine", tmp_path)], goal=None)


def test_a_given_vocabulary_says_how_large_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_made_up("brown", tmp_path / "data")
    workload = WORKLOADS["brown/transformer_tiny/sgd"]
    sentences = (tmp_path / "data/ca01").read_text().splitlines()
    train_vocabulary(300, ["test"], lambda: sentences)
    (model,) = (tmp_path / "cache").rglob("sentencepiece.model")
    mine = Replacement("brown", "mine", tmp_path / "data")
    found = replace_data([workload], [mine], goal=None, vocabulary=model)
    ((changed, _),) = found.values()
    assert changed.form == TextForm(300, workload.form.length)
    own = replace_data([workload], [mine], goal=None)["replaced/mine/transformer_tiny/sgd"][0]
    assert own.form != changed.form
    assert own.data_sha256 != changed.data_sha256


@pytest.mark.parametrize(
    ("source", "form", "train", "validation", "test"),
    [
        # Worked by hand from the sizes in the writers and the shares that the loaders hold out.
        ("mnist", GREY_28, 88, 8, 8),
        ("fashion_mnist", GREY_28, 88, 8, 8),
        ("cifar_10", ImageForm(32, 32, 3, 10), 72, 8, 8),
        ("imagenet", ImageForm(16, 16, 3, 4), 200, 8, 8),
        ("open_images_v4", ImageForm(16, 16, 3, 5, multi_label=True), 64, 8, 8),
        ("lm1b", TextForm(300, 16), 120, 8, 8),
        ("common_crawl", TextForm(300, 16), 144, 8, 8),
        ("brown", TextForm(300, 16), 213, 8, 8),
    ],
)
def test_made_up_data_is_read_as_the_real_is(
    source: str,
    form: ImageForm | TextForm,
    train: int,
    validation: int,
    test: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from producers.datasets.load import load_dataset

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_made_up(source, tmp_path / "data")
    data = load_dataset(source, form=form, folder=tmp_path / "data")
    assert (len(data.train), len(data.validation), len(data.test)) == (train, validation, test)
    first = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()}
    write_made_up(source, tmp_path / "data")
    assert first == {path: path.read_bytes() for path in first}


def test_made_up_data_of_an_unknown_data_set(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown data set 'mnits'; closest: mnist"):
        write_made_up("mnits", tmp_path)
