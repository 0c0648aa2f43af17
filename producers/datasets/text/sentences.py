"""LM1B and Common Crawl: sentences that are read from files and made tokens when they are needed.

LM1B, the One Billion Word benchmark, has shards with a sentence on each line; Common Crawl has the
text of web pages in WET archives, in which a line is a sentence.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dbtool.core.errors import DbtoolError
from dbtool.core.walk import files_matching
from producers.datasets.folders import candidate_folders, not_found
from producers.datasets.forms import PADDING, TextForm
from producers.datasets.split import VALIDATION_SPLIT_SEED, Dataset, Numbers, Request, Split
from producers.datasets.text.corpus import Corpus, open_corpus
from producers.datasets.text.lines import lines_of_text, lines_of_wet
from producers.datasets.text.vocabulary import (
    BYTES_A_TOKEN,
    Vocabulary,
    check_sentences,
    vocabulary_for,
)

_UNPACKED = "1-billion-word-language-modeling-benchmark-r13output"
_ADDRESS = f"http://www.statmt.org/lm-benchmark/{_UNPACKED}.tar.gz"
_TRAINING = "training-monolingual.tokenized.shuffled"
_HELD_OUT = "heldout-monolingual.tokenized.shuffled"
_TRAINING_SHARDS = 99
_TRAINING_LINES = 30_301_028
_WANTED = f"{_TRAINING}/news.en-* and {_HELD_OUT}/news.en.heldout-*"

_MOST_HELD_OUT = 6_075
_HELD_OUT_SHARE = 20
# Where archives lie: in the folder itself, or as the paths in Common Crawl's own lists say.
_FOLDERS = ("", "wet/", "crawl-data/*/segments/*/wet/")
_ENDINGS = ("*.warc.wet", "*.warc.wet.gz")
_HOW_TO_GET_ARCHIVES = (
    "the addresses in https://data.commoncrawl.org/crawl-data/<crawl>/wet.paths.gz (each line after"
    " https://data.commoncrawl.org/), in the folder common_crawl of one named by --datasets"
)

_SAMPLED_SENTENCES = 1_000_000  # that a vocabulary is trained on, of a larger number (chosen)
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
    held_out: Numbers
    count: int

    def __len__(self) -> int:
        return self.count

    def read(self, examples: Numbers, augmentation: np.random.Generator | None = None) -> Split:
        """Read some examples; see `ExampleSource`. Texts know no augmentation."""
        del augmentation
        sentences = sentence_numbers(np.asarray(examples, np.int64), self.held_out)
        return _examples(self.corpus, self.vocabulary, sentences, self.length)


def load_lm1b(request: Request) -> Dataset:
    """Load LM1B, or a folder in its format.

    Training takes all training shards. Of the held-out shards the first, 00000-of-00050, is for
    validation, and the second, 00001-of-00050, is the test set (recalled): 6,075 and 6,206
    sentences. The others are not used. The sentences are shuffled already, so that smaller training
    sets are the first sentences.
    """
    form = request.text_form()
    training, held_out = _shards(request)
    corpus = open_corpus(training, lines_of_text, f"{request.source} (training)")
    if request.folder is None and corpus.lines != _TRAINING_LINES:
        raise DbtoolError(
            f"{training[0].parent} holds {corpus.lines:,} lines, not the {_TRAINING_LINES:,} of"
            f" lm1b; unpack {_ADDRESS} anew"
        )
    parts = ("validation", "test")
    others = [
        open_corpus([path], lines_of_text, f"{request.source} ({part})")
        for path, part in zip(held_out, parts, strict=False)
    ]
    train = _training_source(request, corpus, np.empty(0, np.int64))
    splits = [_evaluation_split(each, train, form, np.arange(len(each))) for each in others]
    hashes = {each.files[0].path.name: each.files[0].facts.sha256 for each in others}
    return _dataset(request, train, splits, {_TRAINING: corpus.sha256, **hashes})


def load_common_crawl(request: Request) -> Dataset:
    """Load WET archives of Common Crawl, as many as are there.

    Drawn by a fixed seed from all sentences, 6,075 are held out for validation (recalled) and as
    many for testing (chosen), or each a twentieth of fewer than 121,500; lines that many pages
    share occur in several splits. The rest is trained on, in the order of the archives' names;
    smaller training sets are the first sentences.
    """
    form = request.text_form()
    corpus = open_corpus(_archives(request), lines_of_wet, request.source)
    check_sentences(request.source, len(corpus))
    count = max(1, min(_MOST_HELD_OUT, len(corpus) // _HELD_OUT_SHARE))
    drawn = draw_numbers(2 * count, len(corpus))
    train = _training_source(request, corpus, np.sort(drawn))
    splits = [
        _evaluation_split(corpus, train, form, np.sort(part))
        for part in (drawn[:count], drawn[count:])
    ]
    return _dataset(request, train, splits, {"archives": corpus.sha256})


def _dataset(
    request: Request, train: SentenceSource, splits: list[Split], hashes: dict[str, str]
) -> Dataset:
    validation, test = splits
    return Dataset(
        name=request.source,
        form=replace(request.text_form(), vocabulary=train.vocabulary.size),
        train=train,
        validation=validation,
        test=test,
        file_hashes=hashes | {"vocabulary": train.vocabulary.sha256},
    )


def _shards(request: Request) -> tuple[list[Path], list[Path]]:
    """Find the training and the held-out shards of LM1B, which must all be there."""
    folders = candidate_folders(request, inside=[_UNPACKED])
    for folder in folders:
        training = sorted(files_matching(folder / _TRAINING, "news.en-*-of-*"))
        held_out = sorted(files_matching(folder / _HELD_OUT, "news.en.heldout-*-of-*"))
        if training or held_out:
            break
    else:
        how_to_get = f"{_ADDRESS} (unpack it in a folder named by --datasets)"
        raise not_found(request.source, folders, _WANTED, how_to_get)
    known = request.folder is None
    expected = _TRAINING_SHARDS if known else max(1, len(training))
    if len(training) != expected or len(held_out) < 2:
        raise DbtoolError(
            f"{folder} holds {len(training)} training and {len(held_out)} held-out shards of"
            f" {request.source}, which needs {'99' if known else 'one'} and at least two"
            f" ({_WANTED}); get them from {_ADDRESS}"
        )
    return training, held_out


def _archives(request: Request) -> list[Path]:
    folders = candidate_folders(request)
    for folder in folders:
        patterns = [f"{below}{ending}" for below in _FOLDERS for ending in _ENDINGS]
        found = {path for pattern in patterns for path in files_matching(folder, pattern)}
        if found:
            return sorted(found)
    raise not_found(request.source, folders, " or ".join(_ENDINGS), _HOW_TO_GET_ARCHIVES)


def _training_source(request: Request, corpus: Corpus, held_out: Numbers) -> SentenceSource:
    """Make the training examples, and a vocabulary that is trained on a fixed sample of them."""
    available = len(corpus) - len(held_out)
    count = request.count(available)
    sampled = min(available, _SAMPLED_SENTENCES)

    def sample() -> list[str]:
        is_all = sampled == available
        chosen = np.arange(available) if is_all else draw_numbers(sampled, available)
        return corpus.sentences(sentence_numbers(np.sort(chosen), held_out), _SAMPLED_BYTES)

    inputs = (corpus.sha256, str(sampled), str(len(held_out)))
    vocabulary = vocabulary_for(request, inputs, sample)
    return SentenceSource(corpus, vocabulary, request.text_form().length, held_out, count)


def _evaluation_split(
    corpus: Corpus, train: SentenceSource, form: TextForm, sentences: Numbers
) -> Split:
    """Make examples in memory, as long as the longest of them, and at least as those of training.

    What is longer than the form says is cut.
    """
    split = _examples(corpus, train.vocabulary, sentences, form.evaluated.length)
    longest = int((split.targets != PADDING).sum(axis=1).max(initial=0))
    kept = slice(max(longest, form.length))
    return Split(split.inputs[:, kept].copy(), split.targets[:, kept].copy()).read_only()


def _examples(corpus: Corpus, vocabulary: Vocabulary, sentences: Numbers, length: int) -> Split:
    return vocabulary.examples(corpus.sentences(sentences, BYTES_A_TOKEN * length), length)


def sentence_numbers(examples: Numbers, held_out: Numbers) -> Numbers:
    """Return the numbers of sentences, counted without those held out, which are ascending."""
    # As many sentences of the rest come before each of those held out.
    before = held_out - np.arange(len(held_out))
    return examples + np.searchsorted(before, examples, side="right")


def draw_numbers(count: int, population: int) -> Numbers:
    """Draw different numbers below a population by a fixed seed, int64 [count], in random order.

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
