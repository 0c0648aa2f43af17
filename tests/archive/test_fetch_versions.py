"""Fetching from servers whose file, its length or its contents are not what they said."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from support.fetching import QUICK, failure, fetched, other_than, part_of
from support.file_server import SOUND_ETAG, Answer, serving

from dbtool.archive.download.fetch import fetch
from dbtool.archive.download.source import find_source
from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from pathlib import Path

    from support.file_server import FileServer


def test_ignored_range_starts_over(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    server.answers.extend(
        [
            Answer(cut=100_000, ranges=False),
            Answer(cut=50_000, ranges=False, etag=None, modified=None),
            Answer(ranges=False),
        ]
    )
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content
    assert [each.range for each in server.requests] == [None, "bytes=100000-", "bytes=50000-"]


def test_ignored_range_keeps_what_came_of_the_same_version(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    server.answers.extend([Answer(cut=100_000), Answer(cut=50_000, ranges=False)])
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content
    assert [each.range for each in server.requests] == [None, "bytes=100000-", "bytes=100000-"]


CHANGES = {
    "If-Range is heeded": Answer(etag=SOUND_ETAG),
    "If-Range is ignored": Answer(etag=SOUND_ETAG, checks=False),
    "weak tags": Answer(etag='W/"new"', modified=None),
    "dates alone": Answer(etag=None),
    "dates alone, If-Range is ignored": Answer(etag=None, checks=False),
    "nothing tells it": Answer(etag=None, modified=None),
}


@pytest.mark.parametrize("new", CHANGES.values(), ids=CHANGES)
def test_changed_file_is_fetched_anew(
    new: Answer, server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    tag = new.etag and new.etag.replace("new", "old").replace("first", "zeroth")
    date = new.modified and "Wed, 07 Nov 2018 00:00:00 GMT"
    server.answers.append(Answer(content=other_than(content), etag=tag, modified=date, cut=100_000))
    server.default = new
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content


@pytest.mark.parametrize("size", [1, 99_999, 100_000, 100_001])
def test_file_that_became_shorter(size: int, server: FileServer, dest: Path) -> None:
    server.answers.append(Answer(cut=100_000, etag='"old"'))
    server.default = Answer(content=b"x" * size)
    fetched(hashlib.sha256(b"x" * size).hexdigest(), dest, server.url)
    assert dest.read_bytes() == b"x" * size


def test_file_that_changes_at_every_try_is_given_up(
    server: FileServer, sha256: str, dest: Path
) -> None:
    server.answers.extend(Answer(cut=1000, etag=f'"{number}"') for number in range(50))
    sentence = failure(sha256, dest, server.url)
    assert "the file changes while it is fetched" in sentence
    assert len(server.requests) < 10


def test_length_that_is_too_long(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    server.answers.append(Answer(length=len(content) + 1000))
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content


def test_length_that_is_too_short(server: FileServer, sha256: str, dest: Path) -> None:
    server.default = Answer(length=1000)
    assert "what it sends has the sha256" in failure(sha256, dest, server.url)
    assert not part_of(dest).exists()
    assert len(server.requests) == 1


@pytest.mark.parametrize("length", [None, "chunked"])
@pytest.mark.parametrize("cuts", [(), (100_000,), (1, 299_998), (10, 20, 30, 40, 50)])
def test_length_that_is_not_told(
    length: str | None,
    cuts: tuple[int, ...],
    server: FileServer,
    content: bytes,
    sha256: str,
    dest: Path,
) -> None:
    server.answers.extend(Answer(length=length, cut=cut) for cut in cuts)
    server.default = Answer(length=length)
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content


@pytest.mark.parametrize("length", ["right", "chunked", None])
@pytest.mark.parametrize("ranges", [True, False])
def test_wrong_contents_leave_nothing(
    length: str | None, ranges: bool, server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    server.default = Answer(content=other_than(content), length=length, ranges=ranges)
    sentence = failure(sha256, dest, server.url)
    assert "what it sends has the sha256" in sentence
    assert sha256 in sentence
    assert list(dest.parent.iterdir()) == []
    assert len(server.requests) <= 4


def test_wrong_contents_at_the_first_address(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    with serving(other_than(content)) as wrong:
        fetched(sha256, dest, wrong.url, server.url)
    assert dest.read_bytes() == content


def test_page_in_place_of_the_published_file_harms_no_part(
    server: FileServer, content: bytes, tmp_path: Path
) -> None:
    source = find_source(server.url)
    part = tmp_path / f"{source.name}.part"
    part.write_bytes(content)
    server.default = Answer(content=b"<html>Log in to this network</html>", ranges=False)
    with pytest.raises(DbtoolError, match=r"it has 35 bytes there in place of about 802\.0 MB"):
        fetch(source, tmp_path, patience=QUICK)
    assert part.read_bytes() == content


def test_bytes_a_power_cut_garbled_are_fetched_anew(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    server.answers.append(Answer(cut=100_000))
    server.answers.extend([Answer(status=404)])
    failure(sha256, dest, server.url)
    part_of(dest).write_bytes(content[:50_000] + bytes(50_000))
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content
    # All of them garbled: there is nothing left to ask for, and the hash alone tells.
    dest.rename(part_of(dest))
    part_of(dest).write_bytes(bytes(len(content)))
    server.answers.extend([Answer(status=503), *[Answer(cut=30_000)] * 8])
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content
