"""LM1B, the One Billion Word benchmark: shards of text with one sentence on each line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dbtool.core.errors import DbtoolError
from dbtool.core.walk import files_matching
from producers.datasets.folders import candidate_folders, not_found
from producers.datasets.split import Dataset
from producers.datasets.text.corpus import open_corpus
from producers.datasets.text.lines import lines_of_text
from producers.datasets.text.source import evaluation_split, training_source

if TYPE_CHECKING:
    from pathlib import Path

    from producers.datasets.split import Request
    from producers.datasets.text.corpus import Corpus

_UNPACKED = "1-billion-word-language-modeling-benchmark-r13output"
_ADDRESS = f"http://www.statmt.org/lm-benchmark/{_UNPACKED}.tar.gz"
_TRAINING = "training-monolingual.tokenized.shuffled"
_HELD_OUT = "heldout-monolingual.tokenized.shuffled"
_TRAINING_SHARDS = 99
_TRAINING_LINES = 30_301_028
_WANTED = f"{_TRAINING}/news.en-* and {_HELD_OUT}/news.en.heldout-*"


def load_lm1b(request: Request) -> Dataset:
    """Loads LM1B, or a folder in its format.

    Training takes all training shards. Of the held-out shards the first, 00000-of-00050, is for
    validation, and the second, 00001-of-00050, is the test set (recalled): 6,075 and 6,206
    sentences. The others are not used. The sentences are shuffled already, so that smaller training
    sets are the first sentences.

    Training examples are read from the shards when they are needed; the vocabulary is trained on a
    sample of them by a fixed seed.
    """
    form = request.text_form()
    training, held_out = _shards(request)
    corpus = _open(request, training, "training")
    if request.folder is None and corpus.lines != _TRAINING_LINES:
        raise DbtoolError(
            f"{training[0].parent} holds {corpus.lines:,} lines, not the {_TRAINING_LINES:,} of"
            f" lm1b; unpack {_ADDRESS} anew"
        )
    parts = ("validation", "test")
    evaluated = [_open(request, [path], part) for path, part in zip(held_out, parts, strict=False)]
    train = training_source(request, corpus, np.empty(0, np.int64))
    validation, test = (
        evaluation_split(each, train.vocabulary, form, np.arange(len(each))) for each in evaluated
    )
    return Dataset(
        name=request.source,
        form=replace(form, vocabulary=train.vocabulary.size),
        train=train,
        validation=validation,
        test=test,
        file_hashes={
            _TRAINING: corpus.sha256,
            **{each.files[0].path.name: each.files[0].facts.sha256 for each in evaluated},
            "vocabulary": train.vocabulary.sha256,
        },
    )


def _open(request: Request, shards: list[Path], part: str) -> Corpus:
    return open_corpus(shards, lines_of_text, f"{request.source} ({part})")


def _shards(request: Request) -> tuple[list[Path], list[Path]]:
    """The training and the held-out shards, which must all be there."""
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
