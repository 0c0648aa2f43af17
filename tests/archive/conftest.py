"""A server of one file and ways to fetch from it, and releases that archives are imported into."""

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbtool.core.download import RetryPolicy
from dbtool.core.errors import DbtoolError
from dbtool.sources.archive.published import fetch
from dbtool.sources.base import MalformedError, Report
from tests.dbtool.cli.conftest import call, database
from tests.support.archives import contents, imported, query, write_tar
from tests.support.file_server import FileServer, serving
from tests.support.proxies import without_proxies

__all__ = ["call", "database"]

BYTES = 300_000
QUICK = RetryPolicy(most=3, timeout=5.0, first_wait=0.0)


@dataclass
class Fetching:
    """A server, the file that it should serve, and the file to write."""

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
        return [request.range for request in self.server.sent]

    def fetch(self, *urls: str, retries: RetryPolicy = QUICK) -> bool:
        """Fetches the file, which is then right; returns whether it was there before."""
        urls = urls or (self.server.url,)
        fetched = fetch(self.dest, mirrors=urls, sha256=self.sha256, retries=retries)
        assert self.dest.read_bytes() == self.content
        return fetched.was_there

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


@dataclass
class Importing:
    """A folder of release folders."""

    folder: Path

    def __call__(
        self,
        archive: Path | Mapping[str, bytes] | Iterable[tuple[str, bytes]],
        db: str = "db",
        **options: Any,
    ) -> Report:
        """Imports an archive, or files below its root, which go into a.tar first."""
        path = archive if isinstance(archive, Path) else write_tar(self.folder / "a.tar", archive)
        return imported(path, self.folder / db, **options)

    def failure(self, body: bytes) -> MalformedError:
        """Why a.tar, of these bytes, is not read to its end; nothing of it is stored."""
        path = self.folder / "a.tar"
        path.write_bytes(body)
        report = self(path)
        assert report.failure is not None
        # What the rest would have held of a study is not known.
        assert report.trials == 0
        return report.failure

    def query(self, sql: str, db: str = "db") -> list[tuple[Any, ...]]:
        return query(self.folder / db, sql)

    def contents(self, db: str = "db") -> dict[str, list[str]]:
        return contents(self.folder / db)


@pytest.fixture
def importing(tmp_path: Path) -> Importing:
    return Importing(tmp_path)
