"""Made-up sentences of a few words, in the formats of the text data sets."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_SEED = 2018
# Subject, verb and object: each word tells much of the next.
_SENTENCE = (
    ("the dog", "a cat", "one bird", "the child"),
    ("sees", "hears", "finds"),
    ("a stone", "the river", "some bread", "a tree"),
    ("today .", "at night .", "."),
)
# Of all these the loaders hold out 8 for validation and 8 for testing, as of the made-up images.
_LM1B_SHARDS = {
    "training-monolingual.tokenized.shuffled/news.en-00001-of-00100": 120,
    "heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050": 8,
    "heldout-monolingual.tokenized.shuffled/news.en.heldout-00001-of-00050": 8,
}
_PAGES, _SENTENCES_A_PAGE = 16, 10
_BROWN_SENTENCES = 229


def _sentences(random: np.random.Generator, count: int) -> list[str]:
    return [" ".join(random.choice(words) for words in _SENTENCE) for _ in range(count)]


def write_lm1b(folder: Path) -> None:
    """Writes shards with one sentence a line, as LM1B has them."""
    random = np.random.default_rng(_SEED)
    for name, count in _LM1B_SHARDS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(_lines(_sentences(random, count)))


def write_common_crawl(folder: Path) -> None:
    """Writes a WET archive, each record compressed on its own, as Common Crawl has them."""
    random = np.random.default_rng(_SEED)
    pages = [_lines(_sentences(random, _SENTENCES_A_PAGE)) for _ in range(_PAGES)]
    records = [gzip.compress(_record(page.encode()), mtime=0) for page in pages]
    (folder / "made-up-00000.warc.wet.gz").write_bytes(b"".join(records))


def write_brown(folder: Path) -> None:
    """Writes a text of tagged words, one sentence a line, as the Brown corpus has them."""
    sentences = _sentences(np.random.default_rng(_SEED), _BROWN_SENTENCES)
    tagged = [" ".join(f"{word}/nn" for word in sentence.split()) for sentence in sentences]
    (folder / "ca01").write_text(_lines(tagged))


def _lines(sentences: Sequence[str]) -> str:
    return "".join(f"{sentence}\n" for sentence in sentences)


def _record(payload: bytes) -> bytes:
    header = (
        "WARC/1.0\r\n"
        "WARC-Type: conversion\r\n"
        "Content-Type: text/plain\r\n"
        f"Content-Length: {len(payload)}\r\n"
        "\r\n"
    )
    return header.encode() + payload + b"\r\n\r\n"
