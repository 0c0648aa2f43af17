"""A server of one file, and ways to fetch from it."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from dbtool.core.download import RetryPolicy
from dbtool.core.errors import DbtoolError
from dbtool.sources.archive.fetch import Fetched, archive_file, fetch_archive
from tests.support.file_server import serving
from tests.support.proxies import without_proxies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.file_server import FileServer

BYTES = 300_000
QUICK = RetryPolicy(most=3, timeout=5.0, first_wait=0.0)


@dataclass
class Fetching:
    """A server, the file that it should serve, and where that shall go.

    Attributes:
        server: that serves it.
        content: the right contents.
        dest: the file to write.
    """

    server: FileServer
    content: bytes
    dest: Path

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def other(self) -> bytes:
        """Contents of the same size, which differ from the first byte on."""
        return bytes(byte ^ 1 for byte in self.content)

    @property
    def part(self) -> Path:
        """Where what came of the file lies until it is whole."""
        return self.dest.with_name(f"{self.dest.name}.part")

    @property
    def ranges(self) -> list[str | None]:
        """The ranges that the server was asked for."""
        return [request.range for request in self.server.requests]

    def fetch(
        self,
        *urls: str,
        retries: RetryPolicy = QUICK,
        on_progress: Callable[[str, int, int | None], None] = lambda _what, _done, _total: None,
    ) -> Fetched:
        """Fetches the file, from the server unless told otherwise; asserts that it is right."""
        file = archive_file(None, urls or (self.server.url,), self.sha256)
        fetched = fetch_archive(file, self.dest, retries, on_progress)
        assert fetched.path.read_bytes() == self.content
        return fetched

    def failure(self, *urls: str) -> str:
        """The sentence of a fetch that fails; there is then no file of the final name."""
        with pytest.raises(DbtoolError) as caught:
            self.fetch(*urls)
        assert not self.dest.exists()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def clear(self) -> None:
        """Forgets what was fetched, and how the server should answer."""
        self.server.answers.clear()
        for path in self.dest.parent.iterdir():
            path.unlink()


@pytest.fixture(scope="session")
def content() -> bytes:
    return random.Random(1).randbytes(BYTES)


@pytest.fixture
def fetching(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fetching]:
    without_proxies(monkeypatch)
    with serving(content) as server:
        yield Fetching(server, content, tmp_path / "archive.bin")
