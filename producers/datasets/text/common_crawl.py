"""Common Crawl: the text of web pages in WET archives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import DbtoolError
from producers.datasets.places import candidate_folders, not_found
from producers.datasets.split import Dataset
from producers.datasets.text.corpus import open_corpus
from producers.datasets.text.index import index_files
from producers.datasets.text.source import (
    SentenceSource,
    draw_numbers,
    held_out_split,
    vocabulary_for,
)

if TYPE_CHECKING:
    from pathlib import Path

    from producers.datasets.request import Request

_MOST_HELD_OUT = 6_075
_HELD_OUT_SHARE = 20
# Where archives lie: in the folder itself, or as the paths in Common Crawl's own lists say.
_PLACES = ("", "wet/", "crawl-data/*/segments/*/wet/")
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

    Raises:
        UsageError: what is asked for does not exist.
        DbtoolError: there are no archives, or one is damaged.
    """
    request.without_subset()
    request.without_held_out()
    form = request.text_form()
    corpus = open_corpus(index_files(_archives(request), "wet", request.source), request.source)
    count = max(1, min(_MOST_HELD_OUT, len(corpus) // _HELD_OUT_SHARE))
    if len(corpus) < 3:
        raise DbtoolError(
            f"{request.source} has {len(corpus)} sentences here, and one each is held out for"
            " validation and testing; give a folder with at least three"
        )
    drawn = draw_numbers(2 * count, len(corpus))
    held_out = np.sort(drawn)
    vocabulary = vocabulary_for(request, form, corpus, held_out)
    source = SentenceSource(
        corpus=corpus,
        vocabulary=vocabulary,
        length=form.length,
        held_out=held_out,
        count=len(corpus) - len(held_out),
    )
    return Dataset(
        name=request.source,
        form=replace(form, vocabulary=vocabulary.size),
        train=source.first(request.source, request.train_examples),
        validation=held_out_split(source, np.sort(drawn[:count]), form),
        test=held_out_split(source, np.sort(drawn[count:]), form),
        file_hashes={"archives": corpus.sha256, "vocabulary": vocabulary.sha256},
    )


def _archives(request: Request) -> list[Path]:
    """The WET archives, in the order of their names.

    Raises:
        DbtoolError: there are none.
    """
    folders = candidate_folders(request.source, request.folder, request.datasets_dir)
    for folder in folders:
        found = {
            path
            for place in _PLACES
            for ending in _ENDINGS
            for path in folder.glob(f"{place}{ending}")
        }
        if found:
            return sorted(found)
    raise not_found(request.source, folders, " or ".join(_ENDINGS), _HOW_TO_GET)
