from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError, UsageError
from producers.datasets.text.vocabulary import Vocabulary, load_vocabulary, train_vocabulary
from tests.support.texts import cached_vocabularies

if TYPE_CHECKING:
    from pathlib import Path

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
def test_tokens_of_any_text_decode_to_it(vocabulary: Vocabulary, text: str) -> None:
    tokens = vocabulary.encode([text])[0]
    assert vocabulary.decode(tokens) == text
    assert all(4 <= token < vocabulary.size for token in tokens)


@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=4), length=st.integers(1, 40))
def test_examples_predict_each_token_and_the_end(
    vocabulary: Vocabulary, texts: list[str], length: int
) -> None:
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


def test_damaged_vocabulary_in_the_cache_is_trained_anew() -> None:
    first = train_vocabulary(300, ("kept",), lambda: TEXTS)
    (path,) = cached_vocabularies()
    path.write_bytes(path.read_bytes()[:-100])
    assert train_vocabulary(300, ("kept",), lambda: TEXTS).sha256 == first.sha256
    assert load_vocabulary(path).sha256 == first.sha256


def test_too_small_a_vocabulary_is_refused() -> None:
    characters = len(set("".join(TEXTS)))
    with pytest.raises(UsageError, match=f"at most {261 + characters} are needed"):
        train_vocabulary(262, ("small",), lambda: TEXTS)
    assert train_vocabulary(261 + characters, ("small",), lambda: TEXTS).size == 261 + characters


def test_vocabulary_of_another_kind_is_refused(tmp_path: Path) -> None:
    import sentencepiece

    path = tmp_path / "own.model"
    with path.open("wb") as model:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS), model_writer=model, minloglevel=2, vocab_size=36
        )
    with pytest.raises(DbtoolError, match="numbers padding, begin, end and unknown -1, 1, 2, 0;"):
        load_vocabulary(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"word\nanother\n", b"\x08"])
def test_file_that_is_no_vocabulary_is_refused(
    tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.model"
    path.write_bytes(content)
    with pytest.raises(DbtoolError, match=r"own\.model is not a SentencePiece model; name a"):
        load_vocabulary(path)
    assert capfd.readouterr().err == ""
    with pytest.raises(DbtoolError, match="absent cannot be read: No such file"):
        load_vocabulary(tmp_path / "absent")
