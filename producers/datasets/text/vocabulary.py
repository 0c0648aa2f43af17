"""Subword vocabularies: what the tokens of a text are, trained once or loaded from a file.

A vocabulary is a SentencePiece model that splits words by byte pair encoding and spells out what it
does not know in bytes, so that the tokens of any text decode back to it. (The one exception is the
character U+2581, which stands for a space in such models and comes back as one.)
"""

import contextlib
import hashlib
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dbtool.core.errors import DbtoolError, UsageError
from producers.datasets.folders import keep, read_bytes, text_cache
from producers.datasets.forms import PADDING
from producers.datasets.split import Request, Split

BEGIN, END, UNKNOWN = 1, 2, 3
"""The tokens before a text, after it, and of what no other token stands for."""

BYTES_A_TOKEN = 64
"""Most bytes of a token of a vocabulary trained here: 16 characters of at most four bytes."""

_SPECIAL_TOKENS = 4 + 256
_TRAINING: dict[str, Any] = {
    "model_type": "bpe",
    "byte_fallback": True,
    "pad_id": PADDING,
    "bos_id": BEGIN,
    "eos_id": END,
    "unk_id": UNKNOWN,
    # The text is kept as it is: otherwise it would not come back.
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    # Fewer tokens than requested, where the text supports no more.
    "hard_vocab_limit": False,
    # The model keeps these settings, so that its hash would otherwise differ between machines.
    "num_threads": 1,
    "minloglevel": 2,
}


@dataclass(frozen=True, eq=False, slots=True)
class Vocabulary:
    """A subword vocabulary; it may be used by several threads at once.

    The size is its number of tokens, the sha256 that of the model's file, in hexadecimal.
    """

    size: int
    sha256: str
    _processor: Any = field(repr=False)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of some texts, without begin and end."""
        tokens: list[list[int]] = self._processor.encode(list(texts), num_threads=1)
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text that some tokens stand for."""
        text: str = self._processor.decode(list(tokens))
        return text

    def examples(self, texts: Sequence[str], length: int) -> Split:
        """Return examples that predict each token, and the end of the text, from those before.

        They have `length` tokens: more are cut off, fewer are padded.
        """
        targets = np.full((len(texts), length), PADDING, np.int32)
        for row, tokens in zip(targets, self.encode(texts), strict=True):
            tokens.append(END)
            row[: len(tokens)] = tokens[:length]
        inputs = np.empty_like(targets)
        inputs[:, 0] = BEGIN
        inputs[:, 1:] = targets[:, :-1]
        return Split(inputs=inputs, targets=targets)


def check_sentences(source: str, count: int) -> None:
    """Refuse a text of too few sentences to hold some out."""
    if count < 3:
        raise DbtoolError(
            f"{source} has {count} sentences here, and one each is held out for validation and"
            " testing; give a folder with at least three"
        )


def load_vocabulary(path: Path) -> Vocabulary:
    """Load a vocabulary from a SentencePiece model's file."""
    import sentencepiece

    model = read_bytes(path)
    remedy = "name a SentencePiece model with padding 0, begin 1, end 2 and unknown 3"
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model) if model else None
    except RuntimeError:
        processor = None
    size = processor.get_piece_size() if processor is not None else 0
    if processor is None or not size:
        raise DbtoolError(f"the vocabulary {path} is not a SentencePiece model; {remedy}")
    special = tuple(getattr(processor, f"{name}_id")() for name in ("pad", "bos", "eos", "unk"))
    if special != (PADDING, BEGIN, END, UNKNOWN):
        raise DbtoolError(
            f"the vocabulary {path} numbers padding, begin, end and unknown"
            f" {', '.join(map(str, special))}; {remedy}"
        )
    return Vocabulary(size=size, sha256=hashlib.sha256(model).hexdigest(), _processor=processor)


def vocabulary_for(
    request: Request, inputs: Sequence[str], sample: Callable[[], Sequence[str]]
) -> Vocabulary:
    """Return the vocabulary of a request: loaded from its file, or trained."""
    size = request.text_form().vocabulary
    if request.vocabulary is not None:
        vocabulary = load_vocabulary(request.vocabulary)
        if vocabulary.size != size:
            raise DbtoolError(
                f"the vocabulary {request.vocabulary} has {vocabulary.size:,} tokens, not {size:,}"
                " as the workload; name a file of that size, or leave it out to have one built"
            )
        return vocabulary
    vocabulary = train_vocabulary(size, inputs, sample)
    # A replacement may be too small for the vocabulary of the data set.
    if request.folder is None and vocabulary.size != size:
        raise UsageError(
            f"the text of {request.source} supports a vocabulary of {vocabulary.size:,} tokens, not"
            f" {size:,}; ask for at most as many"
        )
    return vocabulary


def train_vocabulary(
    size: int, inputs: Sequence[str], sample: Callable[[], Sequence[str]]
) -> Vocabulary:
    """Train a vocabulary, or take it from the cache if it was trained before.

    Printed on standard error when it is trained. There are fewer tokens than `size` where the texts
    support no more. `inputs`, what the sample follows from, name it in the cache.

    Raises:
        UsageError: the size is too small for the characters of the texts.
        DbtoolError: the texts hold nothing to train on, or the cache cannot be written.
    """
    settings = sorted((name, str(value)) for name, value in _TRAINING.items())
    follows = (version("sentencepiece"), settings, size, list(inputs))
    path = text_cache("vocabularies", *follows) / "sentencepiece.model"
    if path.is_file():
        # One that is damaged is trained anew.
        with contextlib.suppress(DbtoolError):
            return load_vocabulary(path)
    texts = sample()
    sys.stderr.write(
        f"building a vocabulary of {size:,} tokens on {len(texts):,} sentences, once\n"
    )
    keep(path, _train(size, texts))
    return load_vocabulary(path)


def _train(size: int, texts: Sequence[str]) -> bytes:
    """Train a model; the same texts give the same bytes."""
    import sentencepiece

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=model, vocab_size=size, **_TRAINING
        )
    except RuntimeError as error:
        enough = _SPECIAL_TOKENS + 1 + len(set().union(*texts))
        raise UsageError(
            f"no vocabulary of {size:,} tokens can be built for this text: at most {enough:,} are"
            " needed for its characters and bytes; ask for at least as many"
        ) from error
    return model.getvalue()
