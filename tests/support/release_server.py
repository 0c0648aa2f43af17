"""A real HTTP server of a folder: it heeds byte ranges, logs what it sends, fails when told to."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_BLOCK = 1 << 14


@dataclass(frozen=True)
class Sent:
    """A request: its path, its Range, and how many bytes of a body were sent."""

    path: str
    range: str | None
    bytes: int


@dataclass
class Faults:
    """What goes wrong.

    Attributes:
        statuses: answers in place of files, by path; one a request, the last one for ever; 0 is
            the file.
        ranges: whether Range is heeded.
        cuts: how many of the next bodies break off in their middle, but for the manifest's.
        seconds: how long each answer takes to begin.
        seconds_a_block: how long each 16 KiB of a body take.
        contents: other contents of files.
    """

    statuses: dict[str, list[int]] = field(default_factory=dict)
    ranges: bool = True
    cuts: int = 0
    seconds: float = 0.0
    seconds_a_block: float = 0.0
    contents: dict[str, bytes] = field(default_factory=dict)


class ReleaseServer(http.server.ThreadingHTTPServer):
    """Serves a folder below /release/.

    Attributes:
        faults: what goes wrong.
        sent: what was asked for so far.
    """

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.faults = Faults()
        self.sent: list[Sent] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/release/"

    def handle_error(self, *_: object) -> None:
        """Clients that go away are part of the tests."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ReleaseServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        faults = self.server.faults
        path = unquote(self.path.removeprefix("/release/"))
        time.sleep(faults.seconds)
        statuses = faults.statuses.get(path, [0])
        status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        file = self.server.folder / path
        if status:
            self._refuse(path, status)
        elif path in faults.contents:
            self._send(path, faults.contents[path])
        elif file.is_file():
            self._send(path, file.read_bytes())
        else:
            self._refuse(path, 404)

    def do_HEAD(self) -> None:
        self.do_GET()

    @staticmethod
    def _span(found: re.Match[str] | None, size: int) -> tuple[int, int]:
        """The first byte that is asked for, and the one behind the last."""
        if found is None:
            return 0, size
        if not found[1]:
            return max(size - int(found[2]), 0), size
        return int(found[1]), int(found[2]) + 1 if found[2] else size

    def _refuse(self, path: str, status: int) -> None:
        self.server.sent.append(Sent(path, self.headers["Range"], 0))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, path: str, content: bytes) -> None:
        found = _RANGE.fullmatch(self.headers["Range"] or "") if self.server.faults.ranges else None
        start, end = self._span(found, len(content))
        if found and start >= len(content):
            self._refuse(path, 416)
            return
        body = content[start:end]
        self.send_response(206 if found else 200)
        if found:
            self.send_header(
                "Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(content)}"
            )
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Accept-Ranges", "bytes" if self.server.faults.ranges else "none")
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.server.faults.cuts and path != "manifest.json":
            self.server.faults.cuts -= 1
            body = body[: len(body) // 2]
            self.close_connection = True
        self.server.sent.append(Sent(path, self.headers["Range"], len(body)))
        for first in range(0, len(body), _BLOCK):
            self.wfile.write(body[first : first + _BLOCK])
            time.sleep(self.server.faults.seconds_a_block)


@contextlib.contextmanager
def serving_release(folder: Path) -> Iterator[ReleaseServer]:
    """A server in a thread of its own."""
    with ReleaseServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
