"""Fetching with notes, parts and answers of any content: the exact file or one sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.fetching import fetched, part_of
from support.file_server import SOUND_DATE, SOUND_ETAG, Answer

from dbtool.archive.download.fetch import fetch
from dbtool.archive.download.source import find_source
from dbtool.archive.download.watch import Patience
from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from pathlib import Path

    from support.file_server import FileServer


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    note=st.one_of(
        st.binary(max_size=200),
        st.builds(
            lambda **values: json.dumps(values).encode(),
            origin=st.text(max_size=5) | st.none() | st.just("same"),
            sha256=st.just("same") | st.text(max_size=5),
            etag=st.sampled_from([SOUND_ETAG, '"old"', "\r\nX: y", "\N{SNOWMAN}"]) | st.integers(),
            modified=st.sampled_from([None, SOUND_DATE, "never", [1]]),
            total=st.none() | st.integers(-1, 400_000) | st.text(max_size=3),
        ),
    ),
    part=st.one_of(st.binary(max_size=50), st.integers(0, 300_000)),
)
def test_part_and_note_of_any_content(
    note: bytes, part: bytes | int, server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    for path in dest.parent.iterdir():
        path.unlink()
    note = note.replace(b'"origin": "same"', f'"origin": "{server.url}"'.encode())
    note = note.replace(b'"sha256": "same"', f'"sha256": "{sha256}"'.encode())
    part_of(dest).write_bytes(content[:part] if isinstance(part, int) else part)
    part_of(dest).with_name(f"{dest.name}.part.json").write_bytes(note)
    fetched(sha256, dest, server.url)
    assert dest.read_bytes() == content


HEADS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 206 Partial Content\r\n",
        b"HTTP/1.1 416 Range Not Satisfiable\r\n",
        b"HTTP/1.1 302 Found\r\n",
        b"HTTP/1.1 503 Busy\r\n",
        b"HTTP/1.0 200\r\n",
        b"HTTP/9.9 999 \xff\r\n",
    ]
)
NAMES = st.sampled_from(
    [
        b"Content-Length",
        b"Content-Range",
        b"ETag",
        b"Last-Modified",
        b"Location",
        b"Retry-After",
        b"Transfer-Encoding",
        b"Content-Encoding",
        b"Connection",
    ]
)
VALUES = st.one_of(
    st.binary(max_size=20),
    st.sampled_from(
        [
            b"9" * 5000,
            b"-1",
            b"1e9",
            b"\xb2",
            b"chunked",
            b"bytes 0-9/10",
            b"bytes 500-9/10",
            b"bytes */" + b"9" * 4500,
            b"bytes 500-/*",
            b"http://[",
            b"http://" + b"a" * 70,
            b"gzip",
            b"//host:1x/",
            b"1" * 400,
        ]
    ),
)
RAW = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda head, headers, body: (
            head + b"".join(b"%b: %b\r\n" % each for each in headers) + b"\r\n" + body
        ),
        HEADS,
        st.lists(st.tuples(NAMES, VALUES), max_size=5),
        st.binary(max_size=60),
    ),
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(raws=st.lists(RAW, min_size=1, max_size=3))
def test_answers_of_any_bytes(
    raws: list[bytes], server: FileServer, content: bytes, sha256: str, dest: Path
) -> None:
    for path in dest.parent.iterdir():
        path.unlink()
    server.answers.clear()
    server.answers.append(Answer(cut=500))
    server.answers.extend(Answer(raw=raw) for raw in raws)
    source = find_source(server.url, (), sha256)
    patience = Patience(timeout=2.0, first_wait=0.0, longest_wait=0.0)
    try:
        fetch(source, dest, patience=patience)
    except DbtoolError:
        assert not dest.exists()
        server.answers.clear()
        fetch(source, dest, patience=patience)
    assert dest.read_bytes() == content
