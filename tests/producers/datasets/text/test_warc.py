import gzip
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError
from producers.datasets.text.lines import read_records
from tests.support.texts import wet

PAGES = [b"A title\nSome text.\n", b"", b"WARC/1.0\r\n\r\nnot a record\r\n\r\n", "é漢\n".encode()]


def payloads(path: Path) -> list[bytes]:
    return [record.payload for record in read_records(path)]


@pytest.mark.parametrize("compressed", [False, True])
def test_pages_come_back_and_can_be_sought(file, *, compressed):
    content = wet(PAGES, compressed=compressed)
    file.write_bytes(content)
    records = list(read_records(file))
    assert [record.payload for record in records] == PAGES
    for record in records:
        block = content[record.offset : record.offset + record.size]
        whole, start = (gzip.decompress(block), 0) if compressed else (content, record.offset)
        assert whole[start:].startswith(b"WARC/1.0\r\n")
        assert whole[record.start :].startswith(record.payload + b"\r\n\r\n")


@pytest.mark.parametrize("compressed", [False, True])
def test_every_truncation_is_refused_unless_between_records(file, *, compressed):
    content = wet(PAGES, compressed=compressed)
    file.write_bytes(content)
    between = {record.offset: number for number, record in enumerate(read_records(file))}
    for length in sorted({*range(1, len(content), 3), *between} - {0}):
        file.write_bytes(content[:length])
        if length in between:
            assert payloads(file) == PAGES[: between[length]]
        else:
            with pytest.raises(DbtoolError, match=f"^{file} is .*; remove it or download it again"):
                payloads(file)


@given(data=st.data())
def test_changed_bytes_of_a_compressed_archive_are_refused(file, data):
    page = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 2\r\n\r\nab\r\n\r\n"
    content = bytearray(gzip.compress(page, mtime=0))
    # The first ten bytes are a header, of which some may be anything.
    offset = data.draw(st.integers(10, len(content) - 1))
    content[offset] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    with pytest.raises(DbtoolError, match=f"^{file} is .*; remove it or download it again"):
        payloads(file)


@given(content=st.binary(max_size=200))
def test_any_bytes_are_refused_in_a_sentence(file, content):
    file.write_bytes(b"x" + content)
    with pytest.raises(DbtoolError, match=f"^{file} is not a WET archive"):
        payloads(file)


@pytest.mark.parametrize("pages", [3, 30_000])
def test_archive_compressed_as_a_whole_is_refused(tmp_path, pages):
    path = tmp_path / "whole.warc.wet.gz"
    path.write_bytes(gzip.compress(wet([b"page"] * pages, compressed=False)))
    with pytest.raises(DbtoolError, match=f"compressed as a whole.*`gunzip {path}`"):
        payloads(path)


def test_large_records_span_what_is_read_at_once(tmp_path):
    noise = random.Random(0).randbytes(700_000)
    pages = [b"small", noise, b"small again"]
    path = tmp_path / "large.warc.wet.gz"
    path.write_bytes(wet(pages, compressed=True))
    assert payloads(path) == pages


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("length", "reason"), [("", "states no length"), ("Content-Length: 9\r\n", "is not whole")]
)
def test_records_without_a_length_or_of_another_are_refused(file, compress, length, reason):
    record = f"WARC/1.0\r\nWARC-Type: conversion\r\n{length}\r\nab\r\n\r\n"
    file.write_bytes(compress(record.encode()))
    with pytest.raises(DbtoolError, match=reason):
        payloads(file)
