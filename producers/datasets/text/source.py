"""Examples of sentences that are read from files and made into tokens when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dbtool.core.errors import DbtoolError
from producers.datasets.forms import PADDING
from producers.datasets.permutation import VALIDATION_SPLIT_SEED, checked_count
from producers.datasets.split import Split
from producers.datasets.text.vocabulary import BYTES_A_TOKEN, vocabulary_for

if TYPE_CHECKING:
    import numpy.typing as npt

    from producers.datasets.forms import TextForm
    from producers.datasets.split import Request
    from producers.datasets.text.corpus import Corpus
    from producers.datasets.text.vocabulary import Vocabulary

SAMPLED_SENTENCES = 1_000_000
"""How many training sentences a vocabulary is trained on, of a larger number (chosen)."""

_SAMPLED_BYTES = 4_096


@dataclass(frozen=True, eq=False, slots=True)
class SentenceSource:
    """An example for each sentence of a corpus but those held out: an `ExampleSource`.

    Attributes:
        corpus: the sentences.
        vocabulary: makes them tokens.
        length: tokens of an example.
        held_out: numbers of the sentences that are no examples, ascending, int64.
        count: how many examples there are.
    """

    corpus: Corpus
    vocabulary: Vocabulary
    length: int
    held_out: npt.NDArray[np.int64]
    count: int

    def __len__(self) -> int:
        return self.count

    def read(
        self, examples: npt.NDArray[np.int64], augmentation: np.random.Generator | None = None
    ) -> Split:
        """Reads some examples; see `ExampleSource`. Texts know no augmentation."""
        del augmentation
        sentences = sentence_numbers(np.asarray(examples, np.int64), self.held_out)
        return _examples(self.corpus, self.vocabulary, sentences, self.length)


def training_source(
    request: Request, corpus: Corpus, held_out: npt.NDArray[np.int64]
) -> SentenceSource:
    """The training examples of a request, and the vocabulary, trained on a sample of them.

    Args:
        request: what is asked for.
        corpus: the sentences.
        held_out: numbers of those that are not trained on, ascending, int64.
    """
    available = len(corpus) - len(held_out)
    count = checked_count(request.source, request.train_examples, available)
    sampled = min(available, SAMPLED_SENTENCES)

    def sample() -> list[str]:
        is_all = sampled == available
        chosen = np.arange(available) if is_all else draw_numbers(sampled, available)
        return corpus.sentences(sentence_numbers(np.sort(chosen), held_out), _SAMPLED_BYTES)

    inputs = (corpus.sha256, str(sampled), str(len(held_out)))
    vocabulary = vocabulary_for(request, inputs, sample)
    return SentenceSource(corpus, vocabulary, request.text_form().length, held_out, count)


def evaluation_split(
    corpus: Corpus, vocabulary: Vocabulary, form: TextForm, sentences: npt.NDArray[np.int64]
) -> Split:
    """The examples of some sentences for evaluations, in memory.

    They are as long as the longest of them, but for what is cut, and at least as long as those that
    are trained on.
    """
    split = _examples(corpus, vocabulary, sentences, form.evaluated.length)
    longest = int((split.targets != PADDING).sum(axis=1).max(initial=0))
    kept = slice(max(longest, form.length))
    return Split(split.inputs[:, kept].copy(), split.targets[:, kept].copy()).read_only()


def _examples(
    corpus: Corpus, vocabulary: Vocabulary, sentences: npt.NDArray[np.int64], length: int
) -> Split:
    return vocabulary.examples(corpus.sentences(sentences, BYTES_A_TOKEN * length), length)


def check_sentences(source: str, count: int) -> None:
    """Refuses a text of too few sentences to hold some out."""
    if count < 3:
        raise DbtoolError(
            f"{source} has {count} sentences here, and one each is held out for validation and"
            " testing; give a folder with at least three"
        )


def sentence_numbers(
    examples: npt.NDArray[np.int64], held_out: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The numbers of sentences, counted without those held out, which are ascending."""
    # As many sentences of the rest come before each of those held out.
    before = held_out - np.arange(len(held_out))
    return examples + np.searchsorted(before, examples, side="right")


def draw_numbers(count: int, population: int) -> npt.NDArray[np.int64]:
    """Draws different numbers below a population by a fixed seed, int64 [count], in random order.

    Memory is taken for those drawn, not for the population.
    """
    generator = np.random.Philox(VALIDATION_SPLIT_SEED)
    drawn = np.empty(0, np.int64)
    while len(drawn) < count:
        more = (generator.random_raw(2 * count) % np.uint64(population)).astype(np.int64)
        drawn = np.concatenate((drawn, more))
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
    return drawn[:count]
