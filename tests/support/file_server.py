"""A real HTTP server of one file, which answers badly when told to."""

from __future__ import annotations

import contextlib
import http.server
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOUND_ETAG = '"first"'
SOUND_DATE = "Thu, 08 Nov 2018 00:00:00 GMT"
BLOCK = 1 << 14


@dataclass(frozen=True)
class Answer:
    """How one request is answered; by default as a good server does.

    Attributes:
        content: the whole file; None: the server's.
        status: an error to answer with; None: the file.
        headers: headers to add.
        etag, modified: sent with the file; None: not sent.
        ranges: whether Range is heeded.
        checks: whether If-Range is heeded.
        length: Content-Length sent in place of the right one; None: none, the body ends where the
            connection is closed; "chunked": none, the body comes in chunks.
        cut: bytes of the body after which the connection breaks.
        how: what breaks it: closed, reset, or stalled until the server ends.
        seconds: how long a whole file takes.
        raw: bytes to send in place of all of that.
    """

    content: bytes | None = None
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    etag: str | None = SOUND_ETAG
    modified: str | None = SOUND_DATE
    ranges: bool = True
    checks: bool = True
    length: int | str | None = "right"
    cut: int | None = None
    how: str = "closed"
    seconds: float = 0.0
    raw: bytes | None = None


@dataclass(frozen=True)
class Request:
    """What was asked for, and how many bytes of the body were sent."""

    path: str
    range: str | None
    if_range: str | None


class FileServer(http.server.ThreadingHTTPServer):
    """Serves one file at every path.

    Attributes:
        content: the file.
        answers: how the next requests are answered, in order; when none is left, with `default`.
        requests: what was asked for so far.
    """

    daemon_threads = True

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = content
        self.default = Answer()
        self.answers: deque[Answer] = deque()
        self.requests: list[Request] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/archive.bin"

    def handle_error(self, *_: object) -> None:
        """Clients that go away are part of the tests."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FileServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        asked = Request(self.path, self.headers["Range"], self.headers["If-Range"])
        self.server.requests.append(asked)
        answer = self.server.answers.popleft() if self.server.answers else self.server.default
        if answer.raw is not None:
            self.wfile.write(answer.raw)
            self.close_connection = True
        elif answer.status is not None:
            self._head(answer.status, answer, {"Content-Length": "5"})
            self.wfile.write(b"sorry")
        else:
            self._send_file(asked, answer)

    def _send_file(self, asked: Request, answer: Answer) -> None:
        content = self.server.content if answer.content is None else answer.content
        start = self._start(asked, answer)
        if start > 0 and start >= len(content):
            headers = {"Content-Range": f"bytes */{len(content)}", "Content-Length": "0"}
            self._head(416, answer, headers)
            return
        body = content[start:]
        headers = {}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        if answer.length == "right":
            headers["Content-Length"] = str(len(body))
        elif answer.length == "chunked":
            headers["Transfer-Encoding"] = "chunked"
        elif answer.length is None:
            self.close_connection = True
        else:
            headers["Content-Length"] = str(answer.length)
        self._head(206 if start else 200, answer, headers)
        self._send_body(body, answer, len(content))

    def _start(self, asked: Request, answer: Answer) -> int:
        if asked.range is None or not answer.ranges:
            return 0
        if answer.checks and asked.if_range not in {None, answer.etag, answer.modified}:
            return 0
        return int(asked.range.removeprefix("bytes=").removesuffix("-"))

    def _head(self, status: int, answer: Answer, headers: dict[str, str]) -> None:
        self.send_response(status)
        if status in {200, 206}:
            tags = {"ETag": answer.etag, "Last-Modified": answer.modified}
            headers = {name: value for name, value in tags.items() if value} | headers
        for name, value in (headers | answer.headers).items():
            self.send_header(name, value)
        self.end_headers()

    def _send_body(self, body: bytes, answer: Answer, whole: int) -> None:
        sent = body if answer.cut is None else body[: answer.cut]
        for first in range(0, len(sent), BLOCK):
            block = sent[first : first + BLOCK]
            if answer.length == "chunked":
                block = b"%x\r\n%b\r\n" % (len(block), block)
            self.wfile.write(block)
            if answer.seconds:
                time.sleep(answer.seconds * BLOCK / whole)
        if answer.cut is not None:
            self._break(answer)
        elif answer.length == "chunked":
            self.wfile.write(b"0\r\n\r\n")
        elif isinstance(answer.length, int):
            self.close_connection = True

    def _break(self, answer: Answer) -> None:
        self.wfile.flush()
        self.close_connection = True
        if answer.how == "stalled":
            self.server.closing.wait()
        elif answer.how == "reset":
            # A socket that does not linger resets the connection when it closes.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextlib.contextmanager
def serving(content: bytes) -> Iterator[FileServer]:
    """A server in a thread of its own."""
    with FileServer(content) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()
