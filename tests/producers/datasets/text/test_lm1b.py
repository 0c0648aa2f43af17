from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dbtool.errors import DbtoolError, UsageError
from producers.datasets import HeldOut, Split, TextForm, load_dataset
from producers.datasets.forms import GREY_28
from producers.datasets.text.cache import cache_folder
from producers.datasets.text.vocabulary import load_vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Lm1b

    from producers.datasets import Dataset, Examples

pytestmark = pytest.mark.usefixtures("no_given_folder")
FORM = TextForm(vocabulary=300, length=80)


def texts(data: Dataset, examples: Examples) -> list[str]:
    """The texts of examples, decoded from their targets."""
    vocabulary = load_vocabulary(next(cache_folder("vocabularies").glob("*/*.model")))
    assert data.file_hashes["vocabulary"] == vocabulary.sha256
    read = (
        examples if isinstance(examples, Split) else examples.read(np.arange(len(examples)), None)
    )
    return [vocabulary.decode(row[: row.tolist().index(2)].tolist()) for row in read.targets]


def test_splits_are_those_of_the_shards(lm1b: Lm1b) -> None:
    data = load_dataset("lm1b", form=FORM, folder=lm1b.folder)
    assert data.name == "lm1b"
    assert data.form == FORM
    assert texts(data, data.train) == lm1b.training
    assert texts(data, data.test) == lm1b.test
    assert texts(data, data.validation) == lm1b.validation
    assert isinstance(data.validation, Split)
    assert not data.validation.inputs.flags.writeable
    assert sorted(data.file_hashes) == [
        "news.en.heldout-00000-of-00050",
        "news.en.heldout-00001-of-00050",
        "training-monolingual.tokenized.shuffled",
        "vocabulary",
    ]


def test_sentences_are_cut_in_training_alone(lm1b: Lm1b) -> None:
    folder = lm1b.folder / "heldout-monolingual.tokenized.shuffled"
    shard = folder / "news.en.heldout-00000-of-00050"
    shard.write_text(f"{shard.read_text()}{' '.join(lm1b.validation[:2])}\n")
    most = TextForm(vocabulary=300, length=1_000)
    cut = TextForm(vocabulary=300, length=8, evaluation_length=1_000)
    whole, data = (load_dataset("lm1b", form=form, folder=lm1b.folder) for form in (most, cut))
    assert data.train.read(np.arange(60), None).targets.shape == (60, 8)  # type: ignore[union-attr] # streamed
    for one, other in ((whole.validation, data.validation), (whole.test, data.test)):
        assert isinstance(one, Split)
        assert isinstance(other, Split)
        # As long as the longest, which the end of the sentence tells.
        longest = int(np.argmax(one.targets == 2, axis=1).max()) + 1
        assert 8 < longest < 1_000
        np.testing.assert_array_equal(other.targets, one.targets[:, :longest])
        np.testing.assert_array_equal(other.inputs, one.inputs[:, :longest])
    assert texts(data, data.validation)[-1] == " ".join(lm1b.validation[:2])


def test_evaluations_cut_what_is_longer_still(lm1b: Lm1b) -> None:
    form = TextForm(vocabulary=300, length=8, evaluation_length=12)
    data = load_dataset("lm1b", form=form, folder=lm1b.folder)
    assert data.validation.inputs.shape == (10, 12)  # type: ignore[union-attr] # in memory


def test_examples_are_read_in_the_order_wanted(lm1b: Lm1b) -> None:
    train = load_dataset("lm1b", form=FORM, folder=lm1b.folder).train
    assert not isinstance(train, Split)
    every = train.read(np.arange(60), None)
    order = np.array([59, 0, 31, 31, 5])
    some = train.read(order, None)
    np.testing.assert_array_equal(some.inputs, every.inputs[order], strict=True)
    np.testing.assert_array_equal(some.targets, every.targets[order], strict=True)


def test_smaller_training_sets_are_the_first_sentences(lm1b: Lm1b) -> None:
    data = load_dataset("lm1b", form=FORM, folder=lm1b.folder, train_examples=25)
    assert texts(data, data.train) == lm1b.training[:25]
    for count in (0, 61):
        with pytest.raises(UsageError, match=f"lm1b has from 1 to 60 examples .* not {count};"):
            load_dataset("lm1b", form=FORM, folder=lm1b.folder, train_examples=count)


def test_loading_twice_gives_the_same(lm1b: Lm1b, capfd: pytest.CaptureFixture[str]) -> None:
    first = load_dataset("lm1b", form=FORM, folder=lm1b.folder)
    assert capfd.readouterr().err.count("once\n") == 4
    second = load_dataset("lm1b", form=FORM, folder=lm1b.folder)
    assert capfd.readouterr().err == ""
    assert second.file_hashes == first.file_hashes
    # What was trained in the one cache is what another machine trains.
    for path in cache_folder("vocabularies").glob("*/*.model"):
        path.unlink()
    third = load_dataset("lm1b", form=FORM, folder=lm1b.folder)
    assert third.file_hashes == first.file_hashes


def test_vocabulary_shrinks_to_what_a_replacement_supports(lm1b: Lm1b) -> None:
    data = load_dataset("lm1b", form=TextForm(32_000, 16), folder=lm1b.folder)
    assert isinstance(data.form, TextForm)
    assert 280 < data.form.vocabulary < 1_000
    assert data.form.length == 16
    assert data.validation.inputs.shape == (10, 16)
    assert data.validation.inputs.max() < data.form.vocabulary


def test_vocabulary_may_be_given(lm1b: Lm1b, tmp_path: Path) -> None:
    first = load_dataset("lm1b", form=FORM, folder=lm1b.folder)
    path = next(cache_folder("vocabularies").glob("*/*.model")).rename(tmp_path / "own.model")
    second = load_dataset("lm1b", form=FORM, folder=lm1b.folder, vocabulary=path)
    assert second.file_hashes == first.file_hashes
    with pytest.raises(DbtoolError, match=r"own\.model has 300 tokens, not 400 as the workload"):
        load_dataset("lm1b", form=TextForm(400, 16), folder=lm1b.folder, vocabulary=path)


def test_other_text_is_another_data_set(lm1b: Lm1b) -> None:
    before = load_dataset("lm1b", form=FORM, folder=lm1b.folder)
    shard = lm1b.folder / "training-monolingual.tokenized.shuffled" / "news.en-00002-of-00100"
    shard.write_text(shard.read_text().replace("sentence", "line"))
    after = load_dataset("lm1b", form=FORM, folder=lm1b.folder)
    changed = {
        name for name in after.file_hashes if after.file_hashes[name] != before.file_hashes[name]
    }
    assert changed == {"training-monolingual.tokenized.shuffled", "vocabulary"}


def test_small_folder_is_not_taken_for_the_known_data_set(lm1b: Lm1b) -> None:
    with pytest.raises(
        DbtoolError, match=r"lm1b holds 3 training and 2 held-out shards of lm1b, wh"
    ):
        load_dataset("lm1b", form=FORM, datasets_dir=lm1b.folder.parent)
    training = lm1b.folder / "training-monolingual.tokenized.shuffled"
    for shard in range(4, 100):
        (training / f"news.en-{shard:05d}-of-00100").write_text("A sentence .\n\n")
    with pytest.raises(
        DbtoolError, match="holds 252 lines, not the 30,301,028 of lm1b; unpack http"
    ):
        load_dataset("lm1b", form=FORM, datasets_dir=lm1b.folder.parent)


def test_absent_data_set_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DbtoolError, match=r"statmt\.org/lm-benchmark/1-billion-word-.*\.tar\.gz"):
        load_dataset("lm1b", form=FORM, datasets_dir=tmp_path)
    with pytest.raises(DbtoolError, match=r"the data set lm1b \(training-monolingual"):
        load_dataset("lm1b", form=FORM, folder=tmp_path)
    with pytest.raises(UsageError, match="absent to take lm1b from does not exist"):
        load_dataset("lm1b", form=FORM, folder=tmp_path / "absent")


def test_one_held_out_shard_is_too_few(lm1b: Lm1b) -> None:
    folder = lm1b.folder / "heldout-monolingual.tokenized.shuffled"
    (folder / "news.en.heldout-00001-of-00050").unlink()
    with pytest.raises(
        DbtoolError, match="3 training and 1 held-out shards of lm1b, which needs one"
    ):
        load_dataset("lm1b", form=FORM, folder=lm1b.folder)


def test_what_texts_do_not_have_is_refused(lm1b: Lm1b) -> None:
    with pytest.raises(UsageError, match="lm1b has no subset 'half_images'"):
        load_dataset("lm1b", form=FORM, folder=lm1b.folder, subset="half_images")
    with pytest.raises(UsageError, match="lm1b has texts, which is not what was asked for"):
        load_dataset("lm1b", form=GREY_28, folder=lm1b.folder)
    with pytest.raises(UsageError, match="which examples lm1b holds out cannot be chosen; only"):
        load_dataset("lm1b", form=FORM, folder=lm1b.folder, held_out=HeldOut("first"))
