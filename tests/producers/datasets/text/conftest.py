"""Small texts in the exact native formats, and the official Brown corpus."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from producers.datasets import Dataset, Examples, Split
from producers.datasets.text.cache import cache_folder
from producers.datasets.text.vocabulary import load_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

TRAINING = "training-monolingual.tokenized.shuffled"
HELD_OUT = "heldout-monolingual.tokenized.shuffled"


def numbered(first: int, count: int) -> list[str]:
    """Different sentences that say their number."""
    digits = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return [
        f"The number of this sentence is {' '.join(digits[int(digit)] for digit in str(n))} ."
        for n in range(first, first + count)
    ]


@pytest.fixture(name="numbered")
def _numbered() -> Callable[[int, int], list[str]]:
    return numbered


def texts(data: Dataset, examples: Examples) -> list[str]:
    """The texts of examples, decoded from their targets by the one vocabulary of the cache."""
    vocabulary = load_vocabulary(next(cache_folder("vocabularies").glob("*/*.model")))
    assert data.file_hashes["vocabulary"] == vocabulary.sha256
    read = (
        examples if isinstance(examples, Split) else examples.read(np.arange(len(examples)), None)
    )
    rows = read.targets.tolist()
    # The end of a text that was cut is not there.
    ends = [row.index(2) if 2 in row else len(row) for row in rows]
    return [vocabulary.decode(row[:end]) for row, end in zip(rows, ends, strict=True)]


@pytest.fixture(name="texts", scope="session")
def _texts() -> Callable[[Dataset, Examples], list[str]]:
    return texts


@dataclass(frozen=True)
class Lm1b:
    """A folder as LM1B unpacks to, and the sentences in it."""

    folder: Path
    training: list[str]
    validation: list[str]
    test: list[str]


@pytest.fixture
def lm1b(tmp_path: Path) -> Lm1b:
    """Three training shards of 20 sentences each, two held-out shards of ten."""
    folder = tmp_path / "lm1b"
    shards = {
        **{f"{TRAINING}/news.en-{n + 1:05d}-of-00100": numbered(20 * n, 20) for n in range(3)},
        **{f"{HELD_OUT}/news.en.heldout-{n:05d}-of-00050": numbered(1_000 + 10 * n, 10)
           for n in range(2)},
    }  # fmt: skip
    for name, sentences in shards.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(f"{sentence}\n" for sentence in sentences))
    return Lm1b(folder, numbered(0, 60), numbered(1_000, 10), numbered(1_010, 10))


def wet_record(payload: bytes, kind: str = "conversion", number: int = 0) -> bytes:
    """A record as Common Crawl writes them."""
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Target-URI: http://example.org/{number}",
        "WARC-Date: 2017-01-16T17:00:00Z",
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012d}>",
        "Content-Type: text/plain",
        f"Content-Length: {len(payload)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + payload + b"\r\n\r\n"


@pytest.fixture
def wet() -> Callable[..., bytes]:
    def wet(pages: Sequence[bytes], *, compressed: bool) -> bytes:
        """An archive: a record about itself, then one a page."""
        about = wet_record(b"Software-Info: ia-web-commons\r\n", "warcinfo")
        records = [about, *(wet_record(page, number=n) for n, page in enumerate(pages))]
        return b"".join(gzip.compress(each, mtime=0) if compressed else each for each in records)

    return wet


@pytest.fixture(scope="session")
def brown_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the official Brown corpus."""
    from producers.datasets.forms import BROWN
    from producers.datasets.registry import Request
    from producers.datasets.text.brown import find_texts
    from tests.support.official import official

    folder = tmp_path_factory.mktemp("brown")
    for name, content in official(lambda: find_texts(Request("brown", BROWN))).items():
        (folder / name).write_bytes(content)
    return folder
