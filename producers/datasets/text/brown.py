"""The Brown corpus: 57,340 sentences of American English, printed in 1961."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from producers.datasets.permutation import Order, fixed_permutation
from producers.datasets.split import Dataset
from producers.datasets.text.brown_files import PACKAGE, find_texts, sentences_of, sha256_of
from producers.datasets.text.source import checked_size, read_only
from producers.datasets.text.vocabulary import train_vocabulary, vocabulary_of_size

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from producers.datasets.request import Request
    from producers.datasets.split import Split

_HELD_OUT, _SENTENCES = 2_000, 57_340


def load_brown(request: Request) -> Dataset:
    """Loads the Brown corpus, or a folder in its format, into memory.

    The sentences are permuted once by a fixed seed: 2,000 are held out for validation, 2,000 for
    testing (chosen), and the other 53,340 are trained on. Of a replacement the same shares are held
    out, at least one sentence each. The vocabulary is trained on all sentences that are not held
    out.

    Raises:
        UsageError: what is asked for does not exist.
        DbtoolError: the corpus cannot be had, or its contents are wrong.
    """
    request.without_subset()
    request.without_held_out()
    form = request.text_form()
    texts = find_texts(request)
    sha256 = sha256_of(texts)
    sentences = sentences_of(texts, request.source)
    held_out = max(1, round(len(sentences) * _HELD_OUT / _SENTENCES))
    permuted = fixed_permutation(len(sentences))
    order = Order(held_out=permuted[:held_out], train=permuted[2 * held_out :])

    if request.vocabulary is not None:
        vocabulary = vocabulary_of_size(request.vocabulary, form)
    else:
        vocabulary = train_vocabulary(
            form.vocabulary,
            ("brown", sha256),
            lambda: [sentences[number] for number in order.train],
        )
        checked_size(request, form, vocabulary)

    def examples(numbers: npt.NDArray[np.int64]) -> Split:
        chosen = [sentences[number] for number in numbers]
        return read_only(vocabulary.examples(chosen, form.length))

    return Dataset(
        name=request.source,
        form=replace(form, vocabulary=vocabulary.size),
        train=examples(order.first(request.source, request.train_examples)),
        validation=examples(order.held_out),
        test=examples(permuted[held_out : 2 * held_out]),
        file_hashes={PACKAGE.name: sha256, "vocabulary": vocabulary.sha256},
    )
