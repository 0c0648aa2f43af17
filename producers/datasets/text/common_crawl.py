"""Common Crawl: the text of web pages in WET archives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dbtool.core.walk import files_matching
from producers.datasets.folders import candidate_folders, not_found
from producers.datasets.split import Dataset
from producers.datasets.text.corpus import open_corpus
from producers.datasets.text.lines import lines_of_wet
from producers.datasets.text.source import (
    check_sentences,
    draw_numbers,
    evaluation_split,
    training_source,
)

if TYPE_CHECKING:
    from pathlib import Path

    from producers.datasets.split import Request

_MOST_HELD_OUT = 6_075
_HELD_OUT_SHARE = 20
# Where archives lie: in the folder itself, or as the paths in Common Crawl's own lists say.
_FOLDERS = ("", "wet/", "crawl-data/*/segments/*/wet/")
_ENDINGS = ("*.warc.wet", "*.warc.wet.gz")
_HOW_TO_GET = (
    "the addresses in https://data.commoncrawl.org/crawl-data/<crawl>/wet.paths.gz (each line after"
    " https://data.commoncrawl.org/), in the folder common_crawl of one named by --datasets"
)


def load_common_crawl(request: Request) -> Dataset:
    """Loads WET archives of Common Crawl, as many as are there.

    A sentence is a line of a page's text. Drawn by a fixed seed from all sentences, 6,075 are held
    out for validation (recalled) and as many for testing (chosen), or each a twentieth of fewer
    than 121,500; lines that many pages share occur in several splits. The rest is trained on, in
    the order of the archives' names; smaller training sets are the first sentences.

    Training examples are read from the archives when they are needed, those compressed by gzip a
    page at a time; the vocabulary is trained on a sample of them by a fixed seed.
    """
    form = request.text_form()
    corpus = open_corpus(_archives(request), lines_of_wet, request.source)
    check_sentences(request.source, len(corpus))
    count = max(1, min(_MOST_HELD_OUT, len(corpus) // _HELD_OUT_SHARE))
    drawn = draw_numbers(2 * count, len(corpus))
    train = training_source(request, corpus, np.sort(drawn))
    validation, test = (
        evaluation_split(corpus, train.vocabulary, form, np.sort(part))
        for part in (drawn[:count], drawn[count:])
    )
    return Dataset(
        name=request.source,
        form=replace(form, vocabulary=train.vocabulary.size),
        train=train,
        validation=validation,
        test=test,
        file_hashes={"archives": corpus.sha256, "vocabulary": train.vocabulary.sha256},
    )


def _archives(request: Request) -> list[Path]:
    folders = candidate_folders(request)
    for folder in folders:
        patterns = [f"{below}{ending}" for below in _FOLDERS for ending in _ENDINGS]
        found = {path for pattern in patterns for path in files_matching(folder, pattern)}
        if found:
            return sorted(found)
    raise not_found(request.source, folders, " or ".join(_ENDINGS), _HOW_TO_GET)
