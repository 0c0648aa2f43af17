"""Fetching over connections that break, from servers in trouble, of files that change."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbtool.core.download import RetryPolicy
from dbtool.core.errors import DbtoolError
from dbtool.sources.archive.published import FILE_NAME, fetch
from tests.support.file_server import Answer, serving

from .conftest import QUICK

FUZZ = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("how", ["closed", "reset"])
def test_broken_connections_are_resumed(how, fetching):
    cuts = [70_000, 1, 79_999, 12_345]
    fetching.server.answers.extend(Answer(cut=cut, how=how) for cut in cuts)
    fetching.fetch()
    starts = [int((each or "bytes=0-")[6:-1]) for each in fetching.ranges]
    assert starts == sorted(starts)
    if how == "closed":  # a reset may overtake bytes that were sent
        sums = [sum(cuts[:count]) for count in range(len(cuts) + 1)]
        assert starts == [each for each in sums if each < len(fetching.content)]


def test_trouble_passes(fetching):
    fetching.server.answers.extend(
        [
            Answer(status=503),
            Answer(cut=1000),
            Answer(status=503, headers={"Retry-After": "1"}),
            Answer(status=429, headers={"Retry-After": "soon"}),
            Answer(status=500),
        ]
    )
    waits: list[tuple[str, float]] = []

    def on_retry(reason: str, wait: float) -> None:
        waits.append((reason, wait))

    retries = RetryPolicy(most=3, first_wait=0.01, longest_wait=0.03, on_retry=on_retry)
    fetching.fetch(retries=retries)
    assert [wait for _, wait in waits] == pytest.approx([0.01, 0.01, 0.03, 0.02, 0.03])
    assert waits[0][0] == "the server answers 503 Service Unavailable"


def test_trouble_that_stays_keeps_the_part(fetching):
    fetching.server.answers.append(Answer(cut=100_000))
    fetching.server.default = Answer(status=503)
    sentence = fetching.failure()
    assert "503 Service Unavailable (4 tries in a row); 0.1 MB of it are kept" in sentence
    assert len(fetching.server.sent) == 5
    assert fetching.part.read_bytes() == fetching.content[:100_000]
    fetching.server.default = Answer()
    fetching.fetch()
    assert fetching.server.sent[-1].range == "bytes=100000-"


def test_stall_is_given_up_and_resumed(fetching):
    stalls = [Answer(cut=0, how="stalled"), Answer(cut=70_000, how="stalled")]
    fetching.server.answers.extend(stalls)
    reasons: list[str] = []
    retries = RetryPolicy(
        timeout=1.0, first_wait=0.0, on_retry=lambda reason, _wait: reasons.append(reason)
    )
    fetching.fetch(retries=retries)
    assert reasons == ["the server stalled"] * 2


def test_a_trickle_is_given_up_and_resumed(fetching):
    seconds = 0.05 * len(fetching.content) / 10
    fetching.server.default = Answer(block=10, seconds=seconds)
    with pytest.raises(DbtoolError, match=r"it sends fewer than 1,000 bytes a second; .* go on"):
        fetching.fetch(retries=RetryPolicy(timeout=0.2))
    kept = fetching.part.stat().st_size
    fetching.server.default = Answer()
    fetching.fetch()
    assert fetching.server.sent[-1].range == f"bytes={kept}-"


def test_headers_that_trickle_are_given_up(fetching):
    head = b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000
    fetching.server.default = Answer(raw=head, block=1, seconds=20.0)
    with pytest.raises(DbtoolError, match=r"its answer does not begin within 0\.3 s; "):
        fetching.fetch(retries=RetryPolicy(timeout=0.1))


def test_redirects(fetching):
    def to(url: str) -> Answer:
        return Answer(status=302, headers={"Location": url})

    server = fetching.server
    server.answers.append(Answer(cut=50_000))
    server.answers.extend([to("/elsewhere"), to(server.url)])
    fetching.fetch()
    assert server.sent[2].path == "/elsewhere"
    fetching.dest.unlink()
    for url in ("ftp://host/file", "file:///etc/hosts", "http://host:99999/", "http://xn--/"):
        server.answers.append(to(url))
        fetching.failure()
    server.default = to(server.url)
    assert "redirect" in fetching.failure()


def test_encoded_content_is_refused(fetching):
    fetching.server.default = Answer(headers={"Content-Encoding": "gzip"})
    assert "encoded" in fetching.failure()


def test_proxy_that_cannot_be_used(fetching, monkeypatch):
    for proxy in ("nonsense://host:1", "socks5://host:1"):
        monkeypatch.setenv("ALL_PROXY", proxy)
        assert "proxy" in fetching.failure()


CUT, HALF = 100_000, 50_000


@pytest.mark.parametrize(
    ("answers", "starts"),
    [
        # A Range that is ignored starts over, and keeps what came.
        ([Answer(cut=CUT, ranges=False), Answer(cut=HALF, ranges=False), Answer(ranges=False)],
         [None, CUT, CUT]),
        ([Answer(cut=CUT), Answer(cut=HALF, ranges=False)], [None, CUT, CUT]),
        ([Answer(length=301_000)], [None, 300_000]),
        # Without a length, the hash alone tells that it is whole.
        ([Answer(length=None, cut=CUT), Answer(length=None)], [None, CUT]),
        ([Answer(length="chunked", cut=CUT), Answer(length="chunked")], [None, CUT]),
    ],
)  # fmt: skip
def test_which_parts_are_fetched(answers, starts, fetching):
    fetching.server.answers.extend(answers)
    fetching.fetch()
    assert fetching.ranges == [None if start is None else f"bytes={start}-" for start in starts]


@pytest.mark.parametrize(("length", "ranges"), [("right", True), (None, False)])
def test_wrong_contents_leave_nothing(length, ranges, fetching):
    fetching.server.default = Answer(content=fetching.other, length=length, ranges=ranges)
    sentence = fetching.failure()
    assert "what it sends has the sha256" in sentence
    assert fetching.sha256 in sentence
    assert list(fetching.dest.parent.iterdir()) == []
    assert len(fetching.server.sent) <= 4
    with serving(fetching.content) as sound:
        fetching.fetch(fetching.server.url, sound.url)


def test_contents_that_a_proxy_garbled_once_are_fetched_anew(fetching):
    fetching.server.answers.append(Answer(content=fetching.other))
    fetching.fetch()
    assert fetching.ranges == [None, None]


def test_page_in_place_of_the_published_file_harms_no_part(fetching, tmp_path):
    part = tmp_path / f"{FILE_NAME}.part"
    part.write_bytes(fetching.content)
    page = b"<html>Log in to this network</html>"
    fetching.server.default = Answer(content=page, ranges=False)
    with pytest.raises(DbtoolError, match="it has 35 bytes in place of 721,800,000 to"):
        fetch(tmp_path, url=fetching.server.url, retries=QUICK)
    assert part.read_bytes() == fetching.content


def test_bytes_a_power_cut_garbled_are_fetched_anew(fetching):
    # There is nothing left to ask for, and the hash alone tells.
    fetching.part.write_bytes(bytes(len(fetching.content)))
    fetching.server.answers.extend([Answer(status=503), *[Answer(cut=30_000)] * 8])
    fetching.fetch()


@FUZZ
@given(st.one_of(st.binary(max_size=50), st.integers(0, 300_000), st.just(bytes(300_001))))
def test_part_of_any_content(fetching, part):
    for ranges in (True, False):
        fetching.clear()
        fetching.server.answers.append(Answer(ranges=ranges))
        fetching.part.write_bytes(fetching.content[:part] if isinstance(part, int) else part)
        fetching.fetch()


HEADS = [
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 206 Partial Content",
    b"HTTP/1.1 416 Range Not Satisfiable",
    b"HTTP/1.1 302 Found",
    b"HTTP/1.1 503 Busy",
    b"HTTP/9.9 999 \xff",
]
HEADERS = {
    b"Content-Length": [b"9" * 5000, b"-1", b"1e9", b"\xb2"],
    b"Content-Range": [b"bytes 0-9/10", b"bytes 500-9/10", b"bytes */" + b"9" * 4500],
    b"ETag": [b'"first"', b"\xff"],
    b"Location": [b"http://[", b"http://" + b"a" * 70, b"//host:1x/"],
    b"Retry-After": [b"1" * 400, b"-1"],
    b"Transfer-Encoding": [b"chunked", b"gzip"],
}
HEADER = st.sampled_from(sorted(HEADERS)).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from(HEADERS[name]) | st.binary(max_size=20))
)
RAW = st.binary(max_size=60) | st.builds(
    lambda head, headers, body: b"\r\n".join([head, *map(b": ".join, headers), b"", body]),
    st.sampled_from(HEADS),
    st.lists(HEADER, max_size=5),
    st.binary(max_size=60),
)


@FUZZ
@given(raws=st.lists(RAW, min_size=1, max_size=3))
def test_answers_of_any_bytes(raws, fetching):
    fetching.clear()
    fetching.server.answers.append(Answer(cut=500))
    fetching.server.answers.extend(Answer(raw=raw) for raw in raws)
    retries = RetryPolicy(timeout=2.0, first_wait=0.0, longest_wait=0.0)
    try:
        fetching.fetch(retries=retries)
    except DbtoolError:
        assert not fetching.dest.exists()
        fetching.server.answers.clear()
        fetching.fetch(retries=retries)
