"""LM1B, the One Billion Word benchmark: shards of text with one sentence on each line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import DbtoolError
from producers.datasets.places import candidate_folders, not_found
from producers.datasets.split import Dataset
from producers.datasets.text.corpus import open_corpus
from producers.datasets.text.index import index_files
from producers.datasets.text.source import held_out_examples, vocabulary_for, whole_source

if TYPE_CHECKING:
    from pathlib import Path

    from producers.datasets.request import Request
    from producers.datasets.text.corpus import Corpus

TRAINING_SENTENCES = 30_301_028
"""Lines of the 99 training shards."""

_UNPACKED = "1-billion-word-language-modeling-benchmark-r13output"
_ADDRESS = f"http://www.statmt.org/lm-benchmark/{_UNPACKED}.tar.gz"
_TRAINING = "training-monolingual.tokenized.shuffled"
_HELD_OUT = "heldout-monolingual.tokenized.shuffled"
_TRAINING_SHARDS = 99
_WANTED = f"{_TRAINING}/news.en-* and {_HELD_OUT}/news.en.heldout-*"


def load_lm1b(request: Request) -> Dataset:
    """Loads LM1B, or a folder in its format.

    Training takes all training shards. Of the held-out shards the first, 00000-of-00050, is for
    validation, and the second, 00001-of-00050, is the test set (recalled): 6,075 and 6,206
    sentences. The others are not used. The sentences are shuffled already, so that smaller training
    sets are the first sentences.

    Training examples are read from the shards when they are needed; the vocabulary is trained on a
    sample of them by a fixed seed.

    Raises:
        UsageError: what is asked for does not exist.
        DbtoolError: the shards are not there, are not all there or cannot be read.
    """
    request.without_subset()
    request.without_held_out()
    form = request.text_form()
    training, held_out = _shards(request)
    train = _open(request, training, "training")
    if request.folder is None and train.lines != TRAINING_SENTENCES:
        raise DbtoolError(
            f"{training[0].parent} holds {train.lines:,} lines, not the {TRAINING_SENTENCES:,} of"
            f" lm1b; unpack {_ADDRESS} anew"
        )
    validation = _open(request, held_out[:1], "validation")
    test = _open(request, held_out[1:2], "test")
    vocabulary = vocabulary_for(request, form, train, np.empty(0, np.int64))
    source = whole_source(train, vocabulary, form.length)
    return Dataset(
        name=request.source,
        form=replace(form, vocabulary=vocabulary.size),
        train=source.first(request.source, request.train_examples),
        validation=held_out_examples(validation, vocabulary, form),
        test=held_out_examples(test, vocabulary, form),
        file_hashes={
            _TRAINING: train.sha256,
            held_out[0].name: validation.files[0].facts.sha256,
            held_out[1].name: test.files[0].facts.sha256,
            "vocabulary": vocabulary.sha256,
        },
    )


def _open(request: Request, shards: list[Path], part: str) -> Corpus:
    """The sentences of some shards."""
    return open_corpus(index_files(shards, "lines", request.source), f"{request.source} ({part})")


def _shards(request: Request) -> tuple[list[Path], list[Path]]:
    """The training and the held-out shards.

    Raises:
        DbtoolError: they are not there, or not all there.
    """
    how_to_get = f"{_ADDRESS} (unpack it in a folder named by --datasets)"
    folders = candidate_folders(
        request.source, request.folder, request.datasets_dir, inside=[_UNPACKED]
    )
    for folder in folders:
        training = sorted((folder / _TRAINING).glob("news.en-*-of-*"))
        held_out = sorted((folder / _HELD_OUT).glob("news.en.heldout-*-of-*"))
        if training or held_out:
            break
    else:
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
