"""Fetching: URLs, where the file goes, what is there already, mirrors, files of this machine."""

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.http import check_url, without_secrets
from dbtool.sources.archive.published import SHA256, URL, archive_file, fetch
from tests.support.file_server import Answer, serving

from .conftest import QUICK

OTHER = "ab" * 32


def test_what_was_there_before(fetching):
    fetching.dest.write_bytes(fetching.content)
    # What kills leave right before and right after the file gets its name.
    fetching.part.write_bytes(fetching.content[:1000])
    assert fetching.fetch()
    assert list(fetching.dest.parent.iterdir()) == [fetching.dest]
    fetching.dest.write_bytes(fetching.other)
    os.utime(fetching.dest, (1, 1))
    with pytest.raises(DbtoolError, match=r"is another file .*move it away"):
        fetching.fetch()
    assert fetching.dest.read_bytes() == fetching.other
    assert fetching.ranges == []


def test_mirrors_go_on_in_order(fetching):
    with serving(fetching.content) as first, serving(fetching.content) as second:
        first.default = Answer(status=404)
        second.answers.append(Answer(cut=200_000))
        second.default = Answer(status=404)
        fetching.fetch(first.url, second.url, fetching.server.url)
        assert (len(first.sent), len(second.sent)) == (1, 2)
    [last] = fetching.server.sent
    assert last.range == "bytes=200000-"


def test_every_address_is_named_when_all_fail(fetching):
    fetching.server.answers.extend([Answer(status=404), Answer(status=403)])
    url = fetching.server.url
    secret = url.replace("http://", "http://me:password@") + "?token=secret"
    sentence = fetching.failure(secret, url)
    assert f"from {url}: the server answers 404 Not Found; " in sentence
    assert f"from {url}: the server answers 403 Forbidden; " in sentence
    assert "password" not in sentence
    assert "secret" not in sentence


def test_disk_without_room(fetching):
    huge = Answer(length=10**17, ranges=False)
    fetching.server.answers.extend([Answer(cut=1000), huge])
    sentence = fetching.failure()
    assert "100,000,000,000.0 MB are missing and " in sentence
    assert "--out" in sentence
    assert fetching.part.read_bytes() == fetching.content[:1000]


def test_destination_that_cannot_be(fetching, tmp_path):
    fetching.dest = tmp_path / "pipe"
    os.mkfifo(fetching.dest)
    with pytest.raises(UsageError, match="pipe is not a file"):
        fetching.fetch()
    fetching.dest = tmp_path / "a"
    fetching.part.mkdir()
    assert "cannot write" in fetching.failure()
    fetching.dest = tmp_path / "b"
    fetching.part.symlink_to(tmp_path / "elsewhere")
    assert "cannot write" in fetching.failure()
    assert fetching.ranges == []


def test_the_published_hash_holds_wherever_the_file_comes_from():
    mirrors = ("http://a/x", "file:///y")
    for file, expected in (
        (archive_file(), (URL,)),
        (archive_file(None, mirrors), (URL, *mirrors)),
        (archive_file("https://b/z", mirrors), ("https://b/z", *mirrors)),
    ):
        assert file.urls == expected
        assert (file.name, file.digest) == ("batch_science_data.tar.bz2", SHA256)
        assert 5000 < file.least_bytes < 802_000_000 < 802 << 20 < file.most_bytes


def test_other_hash_is_another_file():
    file = archive_file("https://host/a/b%20c.tar.bz2?key=1", (), OTHER.upper())
    assert (file.name, file.digest, file.least_bytes) == ("b c.tar.bz2", OTHER, 0)
    assert archive_file(None, ("http://host/",), OTHER).name == "batch_science_data.tar.bz2"
    assert archive_file(None, ("http://host/a%2F..",), OTHER).name == "batch_science_data.tar.bz2"


@example("//[")
@example("http://[::ffff:1%25eth0]/")
@example("http://me:word@host:8080/a/b?sig=x#y")
@given(st.text() | st.builds("{}://{}".format, st.sampled_from(["http", "file"]), st.text()))
def test_any_text_is_a_url_or_a_sentence(text):
    try:
        url = check_url(text)
    except UsageError:
        return
    assert url == text
    # Such URLs are shown in messages and found again in notes.
    shown = without_secrets(url)
    assert without_secrets(check_url(shown)) == shown
    assert "word" not in shown


def test_file_of_this_machine(fetching, tmp_path):
    origin = tmp_path / "with space%20#?é.bin"
    origin.write_bytes(fetching.content)
    # It goes on with the first part, and starts over where the others differ.
    for part in (b"", fetching.content[:1000], b"other" * 100, fetching.content * 2):
        fetching.dest = tmp_path / "new" / "folder" / "archive.bin"
        fetching.part.parent.mkdir(parents=True, exist_ok=True)
        fetching.part.write_bytes(part)
        fetching.fetch(origin.as_uri())
        fetching.dest.unlink()
    assert origin.read_bytes() == fetching.content


def test_files_that_cannot_be_taken(fetching, tmp_path):
    origin = tmp_path / "origin"
    assert "No such file" in fetching.failure(origin.as_uri())
    os.mkfifo(tmp_path / "pipe")
    assert "it is not a file" in fetching.failure((tmp_path / "pipe").as_uri())
    origin.write_bytes(b"wrong")
    assert f"in place of {fetching.sha256}" in fetching.failure(origin.as_uri())
    with pytest.raises(DbtoolError, match="it has 5 bytes in place of 721,800,000 to"):
        fetch(fetching.dest, url=origin.as_uri(), retries=QUICK)
