"""Small texts in the exact native formats, and the official Brown corpus."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

TRAINING = "training-monolingual.tokenized.shuffled"
HELD_OUT = "heldout-monolingual.tokenized.shuffled"


@pytest.fixture
def no_given_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBTOOL_DATASETS", raising=False)


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
    (folder / TRAINING).mkdir(parents=True)
    (folder / HELD_OUT).mkdir()
    for shard in range(3):
        text = "".join(f"{sentence}\n" for sentence in numbered(20 * shard, 20))
        (folder / TRAINING / f"news.en-{shard + 1:05d}-of-00100").write_text(text)
    for shard in range(2):
        text = "".join(f"{sentence}\n" for sentence in numbered(1_000 + 10 * shard, 10))
        (folder / HELD_OUT / f"news.en.heldout-{shard:05d}-of-00050").write_text(text)
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


def wet(pages: Sequence[bytes], *, compressed: bool) -> bytes:
    """An archive: a record about itself, then one a page."""
    about = wet_record(b"Software-Info: ia-web-commons\r\n", "warcinfo")
    records = [about, *(wet_record(page, number=n) for n, page in enumerate(pages))]
    return b"".join(gzip.compress(record, mtime=0) if compressed else record for record in records)


@pytest.fixture(name="wet_record")
def _wet_record() -> Callable[..., bytes]:
    return wet_record


@pytest.fixture(name="wet")
def _wet() -> Callable[..., bytes]:
    return wet


@pytest.fixture(scope="session")
def brown_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the official Brown corpus."""
    from support.official import official

    from producers.datasets.forms import BROWN
    from producers.datasets.request import Request
    from producers.datasets.text.brown_files import find_texts

    folder = tmp_path_factory.mktemp("brown")
    for name, content in official(lambda: find_texts(Request("brown", BROWN))).items():
        (folder / name).write_bytes(content)
    return folder
