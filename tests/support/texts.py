"""Small texts in the exact native formats."""

import gzip
from collections.abc import Sequence
from pathlib import Path

from producers.datasets.folders import default_cache
from producers.datasets.split import Dataset, Examples
from producers.datasets.text.vocabulary import load_vocabulary
from tests.support.image_files import read


def numbered(first: int, count: int) -> list[str]:
    """Different sentences that say their number."""
    digits = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return [
        f"The number of this sentence is {' '.join(digits[int(digit)] for digit in str(n))} ."
        for n in range(first, first + count)
    ]


def cached_vocabularies() -> list[Path]:
    return list(default_cache().glob("text/vocabularies/*/sentencepiece.model"))


def texts(data: Dataset, examples: Examples) -> list[str]:
    """The texts of examples, decoded from their targets by the one vocabulary of the cache."""
    vocabulary = load_vocabulary(cached_vocabularies()[0])
    assert data.file_hashes["vocabulary"] == vocabulary.sha256
    rows = read(examples).targets.tolist()
    # The end of a text that was cut is not there.
    ends = [row.index(2) if 2 in row else len(row) for row in rows]
    return [vocabulary.decode(row[:end]) for row, end in zip(rows, ends, strict=True)]


def wet(pages: Sequence[bytes], *, compressed: bool) -> bytes:
    """An archive as Common Crawl writes them: a record about itself, then one a page."""
    about = _wet_record(b"Software-Info: ia-web-commons\r\n", "warcinfo")
    records = [about, *(_wet_record(page, number=n) for n, page in enumerate(pages))]
    return b"".join(gzip.compress(each, mtime=0) if compressed else each for each in records)


def _wet_record(payload: bytes, kind: str = "conversion", number: int = 0) -> bytes:
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
