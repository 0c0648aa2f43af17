"""Fetching over connections that break and from servers in trouble."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from support.fetching import failure, fetched, part_of
from support.file_server import SOUND_ETAG, Answer, serving

from dbtool.archive.download.watch import Patience, Watch

if TYPE_CHECKING:
    from pathlib import Path

    from support.file_server import FileServer


@pytest.mark.parametrize("how", ["closed", "reset"])
@pytest.mark.parametrize("seed", range(5))
def test_broken_connections_are_resumed(
    how: str, seed: int, server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    chance = random.Random(seed)
    cuts = [chance.randrange(1, 80_000) for _ in range(chance.randrange(1, 12))]
    server.answers.extend(Answer(cut=cut, how=how) for cut in cuts)
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content
    starts = [int((each.range or "bytes=0-")[6:-1]) for each in server.requests]
    assert starts == sorted(starts)
    assert all(each.if_range == SOUND_ETAG for each in server.requests[1:])
    if how == "closed":  # a reset may overtake bytes that were sent
        sums = [sum(cuts[:count]) for count in range(len(cuts) + 1)]
        assert starts == [each for each in sums if each < len(content)]


@pytest.mark.parametrize("status", [401, 403, 404, 410, 451, 501])
def test_refusals_are_not_repeated(
    status: int, server: FileServer, sha256: str, dest: Path
) -> None:
    server.default = Answer(status=status)
    sentence = failure(sha256, dest, server.url)
    assert f"the server answers {status} " in sentence
    assert "--mirror" in sentence
    assert len(server.requests) == 1
    assert list(dest.parent.iterdir()) == []


def test_trouble_passes(server: FileServer, content: bytes, sha256: str, dest: Path) -> None:
    server.answers.extend(
        [
            Answer(status=503),
            Answer(cut=1000),
            Answer(status=503, headers={"Retry-After": "1"}),
            Answer(status=429, headers={"Retry-After": "soon"}),
            Answer(status=500),
        ]
    )
    waits: list[tuple[str, float]] = []
    watch = Watch(on_retry=lambda reason, wait: waits.append((reason, wait)))
    patience = Patience(retries=3, first_wait=0.01, longest_wait=0.03)
    fetched(sha256, dest, server.url, watch=watch, patience=patience)
    assert dest.read_bytes() == content
    assert [wait for _, wait in waits] == pytest.approx([0.01, 0.01, 0.03, 0.02, 0.03])
    assert waits[0][0] == "the server answers 503 Service Unavailable"


def test_trouble_that_stays_keeps_the_part(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    server.answers.append(Answer(cut=100_000))
    server.default = Answer(status=503)
    sentence = failure(sha256, dest, server.url)
    assert "503 Service Unavailable (4 tries in a row); 0.1 MB of it are kept" in sentence
    assert len(server.requests) == 5
    assert part_of(dest).read_bytes() == content[:100_000]
    server.default = Answer()
    fetched(sha256, dest, server.url)
    assert server.requests[-1].range == "bytes=100000-"
    assert server.requests[-1].if_range == SOUND_ETAG
    assert dest.read_bytes() == content


def test_stall_is_given_up_and_resumed(
    server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    server.answers.extend([Answer(cut=0, how="stalled"), Answer(cut=70_000, how="stalled")])
    reasons: list[str] = []
    watch = Watch(on_retry=lambda reason, _wait: reasons.append(reason))
    patience = Patience(timeout=2.0, first_wait=0.0)
    fetched(sha256, dest, server.url, patience=patience, watch=watch)
    assert dest.read_bytes() == content
    assert reasons == ["the server stalled"] * 2


def test_unreachable_server(server: FileServer, sha256: str, dest: Path) -> None:
    with serving(b"") as gone:
        url = gone.url
    assert "Connection refused (4 tries in a row)" in failure(sha256, dest, url)
    fetched(sha256, dest, url, server.url)


def test_redirects(server: FileServer, content: bytes, sha256: str, dest: Path) -> None:
    def to(place: str) -> Answer:
        return Answer(status=302, headers={"Location": place})

    server.answers.append(Answer(cut=50_000))
    server.answers.extend([to("/elsewhere"), to(server.url)])
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content
    assert server.requests[2].path == "/elsewhere"
    for place in ("ftp://host/file", "file:///etc/hosts", "http://host:99999/", "http://xn--/"):
        server.answers.append(to(place))
        failure(sha256, dest.with_name("new"), server.url)
    server.default = to(server.url)
    assert "redirect" in failure(sha256, dest.with_name("new"), server.url)


def test_encoded_content_is_refused(server: FileServer, sha256: str, dest: Path) -> None:
    server.default = Answer(headers={"Content-Encoding": "gzip"})
    assert "encoded" in failure(sha256, dest, server.url)


def test_proxy_that_cannot_be_used(
    server: FileServer, sha256: str, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for proxy in ("nonsense://host:1", "socks5://host:1"):
        monkeypatch.setenv("ALL_PROXY", proxy)
        assert "proxy" in failure(sha256, dest, server.url)
