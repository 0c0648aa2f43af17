"""Examples of sentences that are read from files and made into tokens when they are needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import UsageError
from producers.datasets.forms import PADDING
from producers.datasets.permutation import VALIDATION_SPLIT_SEED
from producers.datasets.split import Split
from producers.datasets.text.vocabulary import (
    BYTES_A_TOKEN,
    train_vocabulary,
    vocabulary_of_size,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from producers.datasets.forms import TextForm
    from producers.datasets.request import Request
    from producers.datasets.split import Examples
    from producers.datasets.text.corpus import Corpus
    from producers.datasets.text.vocabulary import Vocabulary

MOST_IN_MEMORY = 100_000
"""Up to so many held-out sentences are kept in memory as tokens."""

SAMPLED_SENTENCES = 1_000_000
"""How many training sentences a vocabulary is trained on, of a larger number (chosen)."""

_SAMPLED_BYTES = 4_096


@dataclass(frozen=True, eq=False, slots=True)
class SentenceSource:
    """An example for each sentence of a corpus, or for each but those held out.

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
        numbers = sentence_numbers(np.asarray(examples, np.int64), self.held_out)
        return self.take(numbers)

    def take(self, sentences: npt.NDArray[np.int64]) -> Split:
        """Reads the examples of some sentences, whether or not they are held out."""
        texts = self.corpus.sentences(sentences, BYTES_A_TOKEN * self.length)
        return self.vocabulary.examples(texts, self.length)

    def first(self, dataset: str, count: int | None) -> SentenceSource:
        """The first so many examples; None for all.

        Raises:
            UsageError: there are not so many.
        """
        wanted = len(self) if count is None else count
        if not 1 <= wanted <= len(self):
            raise UsageError(
                f"{dataset} has from 1 to {len(self):,} examples to train on, not {wanted:,}; give"
                " train_examples in that range"
            )
        return replace(self, count=wanted)


def whole_source(corpus: Corpus, vocabulary: Vocabulary, length: int) -> SentenceSource:
    """An example for each sentence of a corpus."""
    return SentenceSource(corpus, vocabulary, length, np.empty(0, np.int64), len(corpus))


def held_out_examples(corpus: Corpus, vocabulary: Vocabulary, form: TextForm) -> Examples:
    """An example for each sentence of a corpus, in memory unless there are very many."""
    source = whole_source(corpus, vocabulary, form.length)
    if len(corpus) > MOST_IN_MEMORY:
        return replace(source, length=form.evaluated.length)
    return held_out_split(source, np.arange(len(corpus)), form)


def held_out_split(
    source: SentenceSource, sentences: npt.NDArray[np.int64], form: TextForm
) -> Split:
    """The examples of some sentences for evaluations, in memory.

    They are as long as the longest of them, but for what is cut, and at least as long as those that
    are trained on.
    """
    split = replace(source, length=form.evaluated.length).take(sentences)
    longest = int((split.targets != PADDING).sum(axis=1).max(initial=0))
    places = slice(max(longest, form.length))
    return read_only(Split(split.inputs[:, places].copy(), split.targets[:, places].copy()))


def read_only(split: Split) -> Split:
    """The same examples, in arrays that nobody can change."""
    split.inputs.setflags(write=False)
    split.targets.setflags(write=False)
    return split


def sentence_numbers(
    examples: npt.NDArray[np.int64], held_out: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The numbers of the sentences that are not held out, in their order.

    Args:
        examples: which of those sentences, from zero, int64.
        held_out: numbers of the sentences held out, ascending, int64.
    """
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
        _, places = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(places)]
    return drawn[:count]


def vocabulary_for(
    request: Request, form: TextForm, corpus: Corpus, held_out: npt.NDArray[np.int64]
) -> Vocabulary:
    """The vocabulary of a request: loaded from its file, or trained on a sample of sentences.

    Args:
        request: what is asked for.
        form: the form of its examples.
        corpus: the sentences.
        held_out: numbers of those that are not trained on, ascending, int64.

    Raises:
        UsageError: the size is too small for the text.
        DbtoolError: the file is not such a vocabulary, or has another size.
    """
    if request.vocabulary is not None:
        return vocabulary_of_size(request.vocabulary, form)
    available = len(corpus) - len(held_out)
    sampled = min(available, SAMPLED_SENTENCES)

    def sample() -> list[str]:
        all_of_them = sampled == available
        chosen = np.arange(available) if all_of_them else draw_numbers(sampled, available)
        return corpus.sentences(sentence_numbers(np.sort(chosen), held_out), _SAMPLED_BYTES)

    inputs = (corpus.sha256, str(sampled), str(len(held_out)))
    vocabulary = train_vocabulary(form.vocabulary, inputs, sample)
    return checked_size(request, form, vocabulary)


def checked_size(request: Request, form: TextForm, vocabulary: Vocabulary) -> Vocabulary:
    """A vocabulary that was trained; it may be smaller than asked for by a replacement alone.

    Raises:
        UsageError: it is smaller.
    """
    if request.folder is None and vocabulary.size != form.vocabulary:
        raise UsageError(
            f"the text of {request.source} supports a vocabulary of {vocabulary.size:,} tokens, not"
            f" {form.vocabulary:,}; ask for at most as many"
        )
    return vocabulary
