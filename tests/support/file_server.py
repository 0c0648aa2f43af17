"""A real HTTP server of one file, which logs what it sends and answers badly when told to."""

import contextlib
import http.server
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import unquote

BLOCK = 1 << 14
HALF = -1
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
T = TypeVar("T", bound="Server")


@dataclass(frozen=True)
class Answer:
    """How one request is answered; by default as a good server does.

    Attributes:
        content: the whole file; None: the server's.
        status: an error to answer with; None: the file.
        headers: headers to add.
        ranges: whether Range is heeded.
        length: Content-Length sent in place of the right one; None: none, the body ends where the
            connection is closed; "chunked": none, the body comes in chunks.
        cut: bytes of the body after which the connection breaks; HALF: half of them.
        how: what breaks it: closed, reset, or stalled until the server ends.
        seconds: how long a whole file takes.
        block: bytes that are sent at once.
        raw: bytes to send in place of all of that.
    """

    content: bytes | None = None
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    length: int | str | None = "right"
    cut: int | None = None
    how: str = "closed"
    seconds: float = 0.0
    block: int = BLOCK
    raw: bytes | None = None


@dataclass
class Request:
    """What was asked for, and how many bytes of the file were sent."""

    path: str
    range: str | None
    bytes: int = 0


class Server(http.server.ThreadingHTTPServer):
    """A server of files; those of a folder are below /release/."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sent: list[Request] = []
        self.closing = threading.Event()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def answer(self, path: str) -> Answer:
        """How a request is answered; its content is the file."""
        raise NotImplementedError

    def handle_error(self, *_: object) -> None:
        """Clients that go away are part of the tests."""


class FileServer(Server):
    """Serves one file at every path; answers as `answers` say, in order, and then as `default`."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.content = content
        self.default = Answer()
        self.answers: deque[Answer] = deque()

    @property
    def url(self) -> str:
        return f"{self.root}archive.bin"

    def answer(self, path: str) -> Answer:  # noqa: ARG002 (all are one)
        found = self.answers.popleft() if self.answers else self.default
        return replace(found, content=self.content) if found.content is None else found


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(self.path.removeprefix("/release/"))
        asked = Request(path, self.headers["Range"])
        answer = self.server.answer(path)
        if self.command == "GET":
            self.server.sent.append(asked)
        if answer.raw is not None:
            for first in range(0, len(answer.raw), answer.block):
                self.wfile.write(answer.raw[first : first + answer.block])
                time.sleep(answer.seconds * answer.block / len(answer.raw))
            self.close_connection = True
        elif answer.status is not None:
            self._head(answer.status, answer, {"Content-Length": "5"})
            self._write(b"sorry")
        else:
            self._send_file(asked, answer)

    def do_HEAD(self) -> None:
        self.do_GET()

    def _send_file(self, asked: Request, answer: Answer) -> None:
        content = answer.content or b""
        span = self._span(asked, answer, len(content))
        start = span.start if span else 0
        if start and start >= len(content):
            headers = {"Content-Range": f"bytes */{len(content)}", "Content-Length": "0"}
            self._head(416, answer, headers)
            return
        body = content[span] if span else content
        headers = {}
        if span:
            last = start + len(body) - 1
            headers["Content-Range"] = f"bytes {start}-{last}/{len(content)}"
        if answer.length == "chunked":
            headers["Transfer-Encoding"] = "chunked"
        elif answer.length is None:
            self.close_connection = True
        else:
            headers["Content-Length"] = str(
                len(body) if answer.length == "right" else answer.length
            )
        self._head(206 if span else 200, answer, headers)
        cut = len(body) // 2 if answer.cut == HALF else answer.cut
        asked.bytes = len(body[:cut])
        self._send_body(body[:cut], answer, len(content))

    @staticmethod
    def _span(asked: Request, answer: Answer, size: int) -> slice | None:
        """The part that is sent; None: the whole file."""
        found = _RANGE.fullmatch(asked.range or "")
        if found is None or not answer.ranges:
            return None
        if not found[1]:
            return slice(max(size - int(found[2]), 0), size)
        return slice(int(found[1]), int(found[2]) + 1 if found[2] else size)

    def _head(self, status: int, answer: Answer, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in (headers | answer.headers).items():
            self.send_header(name, value)
        self.end_headers()

    def _write(self, block: bytes) -> None:
        if self.command == "GET":
            self.wfile.write(block)

    def _send_body(self, body: bytes, answer: Answer, whole: int) -> None:
        for first in range(0, len(body), answer.block):
            block = body[first : first + answer.block]
            if answer.length == "chunked":
                block = b"%x\r\n%b\r\n" % (len(block), block)
            self._write(block)
            if answer.seconds and self.command == "GET":
                time.sleep(answer.seconds * answer.block / whole)
        if answer.cut is not None:
            self._break(answer)
        elif answer.length == "chunked":
            self._write(b"0\r\n\r\n")
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
def running(server: T) -> Iterator[T]:
    """A server in a thread of its own."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


def serving(content: bytes) -> contextlib.AbstractContextManager[FileServer]:
    """A running server of a file."""
    return running(FileServer(content))
