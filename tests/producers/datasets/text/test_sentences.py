"""LM1B and Common Crawl in their formats: splits, vocabularies, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError, UsageError
from producers.datasets.forms import TextForm
from producers.datasets.registry import load_dataset
from producers.datasets.split import Split
from producers.datasets.text.sentences import draw_numbers, sentence_numbers
from producers.datasets.text.vocabulary import Vocabulary, load_vocabulary, train_vocabulary
from tests.support.texts import cached_vocabularies, numbered, texts, wet

FORM = TextForm(vocabulary=300, length=80)
TRAINING = "training-monolingual.tokenized.shuffled"
HELD_OUT = "heldout-monolingual.tokenized.shuffled"


@pytest.fixture
def lm1b(tmp_path: Path) -> Path:
    """As LM1B unpacks to: three training shards of 20 sentences each, two held-out ones of ten."""
    folder = tmp_path / "lm1b"
    shards = {f"{TRAINING}/news.en-{n + 1:05d}-of-00100": numbered(20 * n, 20) for n in range(3)}
    for n in range(2):
        shards[f"{HELD_OUT}/news.en.heldout-{n:05d}-of-00050"] = numbered(1_000 + 10 * n, 10)
    for name, sentences in shards.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(f"{sentence}\n" for sentence in sentences))
    return folder


def test_splits_are_those_of_the_shards_and_indexed_once(lm1b, capfd):
    data = load_dataset("lm1b", form=FORM, folder=lm1b)
    assert data.form == FORM
    assert texts(data, data.train) == numbered(0, 60)
    assert texts(data, data.test) == numbered(1_010, 10)
    assert texts(data, data.validation) == numbered(1_000, 10)
    assert sorted(data.file_hashes) == [
        "news.en.heldout-00000-of-00050",
        "news.en.heldout-00001-of-00050",
        TRAINING,
        "vocabulary",
    ]
    assert capfd.readouterr().err.count("once\n") == 4
    again = load_dataset("lm1b", form=FORM, folder=lm1b)
    assert (again.file_hashes, capfd.readouterr().err) == (data.file_hashes, "")


def test_sentences_are_cut_in_training_alone(lm1b):
    shard = lm1b / HELD_OUT / "news.en.heldout-00000-of-00050"
    long = " ".join(numbered(1_000, 2))
    shard.write_text(f"{shard.read_text()}{long}\n")
    most = TextForm(vocabulary=300, length=1_000)
    cut = TextForm(vocabulary=300, length=8, evaluation_length=1_000)
    whole, data = (load_dataset("lm1b", form=form, folder=lm1b) for form in (most, cut))
    assert data.train.read(np.arange(60), None).targets.shape == (60, 8)  # type: ignore[union-attr] # streamed
    for one, other in ((whole.validation, data.validation), (whole.test, data.test)):
        assert isinstance(one, Split)
        assert isinstance(other, Split)
        # As long as the longest, which the end of the sentence tells.
        longest = int(np.argmax(one.targets == 2, axis=1).max()) + 1
        assert 8 < longest < 1_000
        np.testing.assert_array_equal(other.targets, one.targets[:, :longest])
        np.testing.assert_array_equal(other.inputs, one.inputs[:, :longest])
    assert texts(data, data.validation)[-1] == long
    shorter = TextForm(vocabulary=300, length=8, evaluation_length=12)
    data = load_dataset("lm1b", form=shorter, folder=lm1b)
    assert data.validation.inputs.shape == (11, 12)  # type: ignore[union-attr] # in memory


def test_vocabulary_may_be_given(lm1b, tmp_path):
    first = load_dataset("lm1b", form=FORM, folder=lm1b)
    path = cached_vocabularies()[0].rename(tmp_path / "own.model")
    second = load_dataset("lm1b", form=FORM, folder=lm1b, vocabulary=path)
    assert second.file_hashes == first.file_hashes
    with pytest.raises(DbtoolError, match=r"own\.model has 300 tokens, not 400 as the workload"):
        load_dataset("lm1b", form=TextForm(400, 16), folder=lm1b, vocabulary=path)


def test_missing_shards_and_lines_are_counted(lm1b):
    with pytest.raises(DbtoolError, match="lm1b holds 3 training and 2 held-out shards of lm1b, w"):
        load_dataset("lm1b", form=FORM, datasets_dir=lm1b.parent)
    for shard in range(4, 100):
        path = lm1b / TRAINING / f"news.en-{shard:05d}-of-00100"
        path.write_text("A sentence .\n\n")
    with pytest.raises(DbtoolError, match="holds 252 lines, not the 30,301,028 of lm1b; unpack ht"):
        load_dataset("lm1b", form=FORM, datasets_dir=lm1b.parent)
    (lm1b / HELD_OUT / "news.en.heldout-00001-of-00050").unlink()
    with pytest.raises(DbtoolError, match=r"99 training and 1 held-out shards .* which needs one"):
        load_dataset("lm1b", form=FORM, folder=lm1b)


SENTENCES = numbered(0, 100)


@pytest.mark.parametrize(
    ("subfolder", "compressed"),
    [("wet", False), ("crawl-data/CC-MAIN-2017-04/segments/14.95/wet", True)],
)
def test_every_sentence_is_in_one_split(tmp_path, subfolder, compressed):
    """Of two archives of ten pages of five lines each, the second one compressed or not."""
    folder = tmp_path / "common_crawl" / subfolder
    folder.mkdir(parents=True)
    pages = ["\n".join(SENTENCES[first : first + 5]).encode() for first in range(0, 100, 5)]
    (folder / "CC-MAIN-00000.warc.wet").write_bytes(wet(pages[:10], compressed=False))
    name = "CC-MAIN-00001.warc.wet.gz" if compressed else "CC-MAIN-00001.warc.wet"
    (folder / name).write_bytes(wet(pages[10:], compressed=compressed))
    data = load_dataset("common_crawl", form=FORM, datasets_dir=tmp_path)
    train, validation, test = (
        texts(data, split) for split in (data.train, data.validation, data.test)
    )
    assert (len(train), len(validation), len(test)) == (90, 5, 5)
    assert sorted(train + validation + test) == sorted(SENTENCES)
    # Drawn below.
    assert [SENTENCES.index(text) for text in validation] == [9, 23, 35, 43, 48]
    held_out = {*validation, *test}
    assert train == [sentence for sentence in SENTENCES if sentence not in held_out]
    assert sorted(data.file_hashes) == ["archives", "vocabulary"]


def test_as_many_are_held_out_as_in_the_paper(tmp_path):
    lines = "\n".join(f"line {number}" for number in range(121_600))
    (tmp_path / "a.warc.wet").write_bytes(wet([lines.encode()], compressed=False))
    data = load_dataset("common_crawl", form=FORM, folder=tmp_path)
    # A twentieth would be 6,080.
    assert (len(data.train), len(data.validation), len(data.test)) == (109_450, 6_075, 6_075)


def test_split_never_changes():
    # Other numbers would make every recorded measurement one of another data set.
    assert draw_numbers(10, 100).tolist() == [9, 48, 35, 23, 43, 27, 86, 10, 62, 76]
    drawn = draw_numbers(4, 25_800_000_000).tolist()
    assert drawn == [2_660_354_009, 13_106_686_148, 23_404_630_609, 4_292_993_835]


@given(data=st.data())
def test_sentences_that_are_not_held_out_are_counted_through(data):
    population = data.draw(st.integers(1, 40))
    held_out = sorted(data.draw(st.sets(st.integers(0, population - 1))))
    rest = [number for number in range(population) if number not in held_out]
    found = sentence_numbers(np.arange(len(rest)), np.array(held_out, np.int64))
    assert found.tolist() == rest


@given(data=st.data())
def test_drawn_numbers_differ(data):
    population = data.draw(st.integers(1, 10**12))
    count = data.draw(st.integers(1, min(20, population)))
    drawn = draw_numbers(count, population).tolist()
    assert len(set(drawn)) == count
    assert all(0 <= number < population for number in drawn)


TEXTS = [
    f"The {a} {b} jumps over the lazy {c} ."
    for a in ("quick", "slow", "small")
    for b in ("brown", "red", "grey")
    for c in ("dog", "cat", "cow", "fox")
]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return train_vocabulary(300, ("small",), lambda: TEXTS)


# The character that SentencePiece writes for a space comes back as one.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u2581"))


@given(text=ANY_TEXT)
def test_tokens_of_any_text_decode_to_it(vocabulary, text):
    tokens = vocabulary.encode([text])[0]
    assert vocabulary.decode(tokens) == text
    assert all(4 <= token < vocabulary.size for token in tokens)


@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=4), length=st.integers(1, 40))
def test_examples_predict_each_token_and_the_end(vocabulary, texts, length):
    split = vocabulary.examples(texts, length)
    assert split.inputs.shape == split.targets.shape == (len(texts), length)
    assert split.inputs.dtype == split.targets.dtype == np.int32
    for text, inputs, targets in zip(texts, split.inputs, split.targets, strict=True):
        tokens = [*vocabulary.encode([text])[0], 2]
        padded = (tokens + [0] * length)[:length]
        assert targets.tolist() == padded
        assert inputs.tolist() == [1, *padded[:-1]]
        if len(tokens) <= length:
            assert vocabulary.decode(tokens[:-1]) == text


def test_damaged_vocabulary_in_the_cache_is_trained_anew():
    first = train_vocabulary(300, ("kept",), lambda: TEXTS)
    (path,) = cached_vocabularies()
    path.write_bytes(path.read_bytes()[:-100])
    assert train_vocabulary(300, ("kept",), lambda: TEXTS).sha256 == first.sha256
    assert load_vocabulary(path).sha256 == first.sha256


def test_too_small_a_vocabulary_is_refused():
    characters = len(set("".join(TEXTS)))
    with pytest.raises(UsageError, match=f"at most {261 + characters} are needed"):
        train_vocabulary(262, ("small",), lambda: TEXTS)
    assert train_vocabulary(261 + characters, ("small",), lambda: TEXTS).size == 261 + characters


def test_vocabulary_of_another_kind_is_refused(tmp_path):
    import sentencepiece

    path = tmp_path / "own.model"
    with path.open("wb") as model:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS), model_writer=model, minloglevel=2, vocab_size=36
        )
    with pytest.raises(DbtoolError, match="numbers padding, begin, end and unknown -1, 1, 2, 0;"):
        load_vocabulary(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"word\nanother\n", b"\x08"])
def test_file_that_is_no_vocabulary_is_refused(tmp_path, content, capfd):
    path = tmp_path / "own.model"
    path.write_bytes(content)
    with pytest.raises(DbtoolError, match=r"own\.model is not a SentencePiece model; name a"):
        load_vocabulary(path)
    assert capfd.readouterr().err == ""
