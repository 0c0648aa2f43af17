"""What a person may write as the place of a file, and files of this machine as the place."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.fetching import QUICK, failure, fetched, part_of

from dbtool.archive.download.fetch import fetch
from dbtool.archive.download.source import Source, find_source, parse_address
from dbtool.archive.published import SHA256, URL
from dbtool.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "ab" * 32


def addresses(source: Source) -> list[str]:
    return [address.url for address in source.addresses]


def test_the_published_hash_holds_wherever_the_file_comes_from() -> None:
    mirrors = ("http://a/x", "file:///y")
    for source, expected in (
        (find_source(), [URL]),
        (find_source(None, mirrors), [URL, *mirrors]),
        (find_source("https://b/z", mirrors), ["https://b/z", *mirrors]),
    ):
        assert addresses(source) == expected
        assert (source.name, source.sha256) == ("batch_science_data.tar.bz2", SHA256)
        assert source.can_have(802_000_000)
        assert source.can_have(802 << 20)
        assert not source.can_have(5000)


def test_other_hash_is_another_file() -> None:
    source = find_source("https://host/a/b%20c.tar.bz2?key=1", (), OTHER.upper())
    assert (source.name, source.sha256, source.about_bytes) == ("b c.tar.bz2", OTHER, None)
    assert find_source(None, ("http://host/",), OTHER).name == "batch_science_data.tar.bz2"
    assert find_source(None, ("http://host/a%2F..",), OTHER).name == "batch_science_data.tar.bz2"


@pytest.mark.parametrize(
    ("sha256", "urls", "parts"),
    [
        ("12", ("http://a/",), ["'12'", "64 hex digits"]),
        (OTHER + "0", ("http://a/",), ["64 hex digits"]),
        (OTHER, (), ["--sha256", "--url"]),
        (None, ("ftp://a/b",), ["'ftp://a/b'", "http://, https:// or file://"]),
        (None, ("a b.bz2",), ["character"]),
        (None, ("there.bz2",), ["file:///", "there.bz2"]),
        (None, ("http://",), ["names no server"]),
        (None, ("http://a:99999/",), ["'http://a:99999/'", "ort"]),
        (None, ("http://a:0/",), ["names no server"]),
        (None, ("http://[::1/",), ["not an address"]),
        (None, ("http://a..b/",), ["not an address"]),
        (None, ("http://" + "a" * 64 + "/",), ["not an address"]),
        (None, ("file://host/a",), ["another machine", "file:///PATH"]),
        (None, ("file:a",), ["file:///PATH"]),
        (None, ("file:///a%00b",), ["file:///PATH"]),
    ],
)
def test_mistakes(sha256: str | None, urls: tuple[str, ...], parts: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        find_source(None, urls, sha256)
    assert all(part in str(caught.value) for part in parts)


@example("//[")
@example("http://[::ffff:1%25eth0]/")
@example("file://")
@given(st.text() | st.builds("{}://{}".format, st.sampled_from(["http", "file"]), st.text()))
def test_any_text_is_an_address_or_a_sentence(text: str) -> None:
    try:
        address = parse_address(text)
    except UsageError:
        return
    assert address.url == text
    # Such addresses are shown in messages and found again in notes.
    assert parse_address(address.shown).shown == address.shown


def test_secrets_are_not_shown() -> None:
    address = parse_address("https://me:word@Host:8080/a/b?sig=x#y")
    assert address.shown == "https://host:8080/a/b"


@pytest.mark.parametrize("name", ["plain.bin", "with space%20#?é.bin"])
def test_file_of_this_machine(name: str, content: bytes, sha256: str, tmp_path: Path) -> None:
    place = tmp_path / name
    place.write_bytes(content)
    dest = tmp_path / "new" / "folder" / "archive.bin"
    fetched(sha256, dest, place.as_uri())
    assert dest.read_bytes() == content
    assert place.read_bytes() == content


def test_file_goes_on_and_starts_over_when_it_changed(
    content: bytes, sha256: str, dest: Path, tmp_path: Path
) -> None:
    place = tmp_path / "place.bin"
    place.write_bytes(content)
    part_of(dest).write_bytes(content[:1000])
    fetched(sha256, dest, place.as_uri())
    assert dest.read_bytes() == content
    dest.unlink()
    part_of(dest).write_bytes(b"other" * 100)
    fetched(sha256, dest, place.as_uri())
    assert dest.read_bytes() == content
    dest.unlink()
    part_of(dest).write_bytes(content * 2)
    fetched(sha256, dest, place.as_uri())
    assert dest.read_bytes() == content


def test_files_that_cannot_be_read(dest: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    assert "No such file" in failure(OTHER, dest, place.as_uri())
    place.mkdir()
    assert "it is no file" in failure(OTHER, dest, place.as_uri())
    os.mkfifo(tmp_path / "pipe")
    assert "it is no file" in failure(OTHER, dest, (tmp_path / "pipe").as_uri())
    long = (tmp_path / ("x" * 300)).as_uri()
    assert "File name too long" in failure(OTHER, dest, long)


def test_wrong_file_of_this_machine(dest: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.write_bytes(b"wrong")
    found = hashlib.sha256(b"wrong").hexdigest()
    assert f"sha256 {found} in place of {OTHER}" in failure(OTHER, dest, place.as_uri())
    with pytest.raises(DbtoolError, match=r"it has 5 bytes there in place of about 802\.0 MB"):
        fetch(find_source(place.as_uri()), dest, patience=QUICK)


def test_empty_file(dest: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.touch()
    fetched(hashlib.sha256().hexdigest(), dest, place.as_uri())
    assert dest.read_bytes() == b""
