"""Fetching: where the file goes, what is there already, mirrors, the disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from support.fetching import failure, fetched, other_than, part_of
from support.file_server import Answer, serving

from dbtool.archive.download.fetch import Fetched
from dbtool.archive.download.watch import Watch
from dbtool.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from support.file_server import FileServer


def test_fetches_and_leaves_nothing_else(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    assert fetched(sha256, dest, server.url) == Fetched(dest, len(content), was_there=False)
    assert dest.read_bytes() == content
    assert [path.name for path in dest.parent.iterdir() if path.name[0] != "."] == [dest.name]


def test_second_call_neither_asks_nor_reads(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    told: list[str] = []
    watch = Watch(on_progress=lambda what, _done, _total: told.append(what))
    fetched(sha256, dest, server.url, watch=watch)
    assert set(told) == {"fetching", "checking"}
    told.clear()
    again = fetched(sha256, dest, server.url, watch=watch)
    assert again == Fetched(dest, len(content), was_there=True)
    assert (len(server.requests), told) == (1, [])


def test_folder_as_destination(
    server: FileServer, content: bytes, sha256: str, tmp_path: Path
) -> None:
    path = fetched(sha256, tmp_path, server.url).path
    assert path == tmp_path / "archive.bin"
    assert path.read_bytes() == content


def test_file_from_elsewhere_is_checked_once(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    dest.write_bytes(content)
    part_of(dest).write_bytes(content[:1000])
    told: list[str] = []
    watch = Watch(on_progress=lambda what, _done, _total: told.append(what))
    assert fetched(sha256, dest, server.url, watch=watch).was_there
    assert set(told) == {"checking"}
    told.clear()
    assert fetched(sha256, dest, server.url, watch=watch).was_there
    assert (server.requests, told) == ([], [])
    assert not part_of(dest).exists()


def test_other_file_in_the_way_is_left_alone(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    fetched(sha256, dest, server.url)
    mine = other_than(content)
    dest.write_bytes(mine)
    os.utime(dest, (1, 1))
    with pytest.raises(DbtoolError, match=r"is another file .*move it away"):
        fetched(sha256, dest, server.url)
    assert dest.read_bytes() == mine
    assert len(server.requests) == 1


def test_mirrors_go_on_in_order(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    with serving(content) as first, serving(content) as second:
        first.default = Answer(status=404)
        second.answers.append(Answer(cut=200_000, etag='"other"', modified=None))
        second.default = Answer(status=404)
        fetched(sha256, dest, first.url, second.url, server.url)
        assert (len(first.requests), len(second.requests)) == (1, 2)
    [last] = server.requests
    assert (last.range, last.if_range) == ("bytes=200000-", None)
    assert dest.read_bytes() == content


def test_every_address_is_named_when_all_fail(server: FileServer, sha256: str, dest: Path) -> None:
    server.answers.extend([Answer(status=404), Answer(status=403)])
    secret = server.url.replace("http://", "http://me:password@") + "?token=secret"
    sentence = failure(sha256, dest, secret, server.url)
    assert f"from {server.url}: the server answers 404 Not Found; " in sentence
    assert f"from {server.url}: the server answers 403 Forbidden; " in sentence
    assert "password" not in sentence
    assert "secret" not in sentence


def test_disk_without_room(server: FileServer, content: bytes, sha256: str, dest: Path) -> None:
    server.answers.extend([Answer(cut=1000), Answer(length=10**17, etag='"huge"', ranges=False)])
    sentence = failure(sha256, dest, server.url)
    assert "MB free and archive.bin needs 100,000,000,000.0 MB" in sentence
    assert "--dest" in sentence
    assert part_of(dest).read_bytes() == content[:1000]


def test_destination_that_cannot_be(server: FileServer, sha256: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DbtoolError, match=r"cannot make the folder .*--dest"):
        fetched(sha256, tmp_path / "file" / "archive.bin", server.url)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="pipe is no file"):
        fetched(sha256, pipe, server.url)
    part_of(tmp_path / "a").mkdir()
    assert "cannot write" in failure(sha256, tmp_path / "a", server.url)
    (tmp_path / "b.part").symlink_to(tmp_path / "file")
    assert "cannot write" in failure(sha256, tmp_path / "b", server.url)
    assert server.requests == []
