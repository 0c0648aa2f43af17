"""Small data sets with known contents, a local server for them, and the official data sets."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from producers.datasets import (
    SOURCES,
    DataFile,
    Dataset,
    DataSource,
    load_source,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def idx_bytes(array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class SmallDataset:
    """A source of 12 + 4 training and 5 test images of 28x28, and the contents of its files."""

    source: DataSource
    contents: dict[str, bytes]
    compressed: dict[str, bytes]

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.contents.items():
            (folder / name).write_bytes(content)
        return folder

    def from_mirrors(self, *mirrors: str) -> DataSource:
        return replace(self.source, mirrors=mirrors)


def build_small(
    train_images: np.ndarray,
    train_labels: np.ndarray,
    test_images: np.ndarray,
    test_labels: np.ndarray,
) -> SmallDataset:
    contents = {
        "train-images-idx3-ubyte": idx_bytes(train_images),
        "train-labels-idx1-ubyte": idx_bytes(train_labels),
        "t10k-images-idx3-ubyte": idx_bytes(test_images),
        "t10k-labels-idx1-ubyte": idx_bytes(test_labels),
    }
    compressed = {name: gzip.compress(content, mtime=0) for name, content in contents.items()}
    files = [
        DataFile(name=name, md5=md5(content), gzip_md5=md5(compressed[name]))
        for name, content in contents.items()
    ]
    source = DataSource("small", *files, official_examples=16)
    return SmallDataset(source=source, contents=contents, compressed=compressed)


@pytest.fixture
def make_small() -> Callable[..., SmallDataset]:
    return build_small


@pytest.fixture
def small() -> SmallDataset:
    """Every pixel of an image is its number, and its label the number modulo ten."""
    train, test = np.arange(16), np.arange(100, 105)
    shape = (28, 28)
    return build_small(
        np.broadcast_to(train[:, None, None], (16, *shape)),
        train % 10,
        np.broadcast_to(test[:, None, None], (5, *shape)),
        test % 10,
    )


@dataclass
class FileServer:
    """A server on this machine: what it serves by path, and the paths it was asked for.

    An answer is a status, a body and the length it claims to have.
    """

    address: str
    answers: dict[str, tuple[int, bytes, int]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def serve(
        self, path: str, body: bytes, *, status: int = 200, length: int | None = None
    ) -> None:
        self.answers[path] = (status, body, len(body) if length is None else length)

    def mirror(self, name: str, files: dict[str, bytes]) -> str:
        """Serves files as `.gz` under a folder; the address of the folder."""
        for file, body in files.items():
            self.serve(f"/{name}/{file}.gz", body)
        return f"{self.address}/{name}/"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    # A proxy of the machine's would be asked for its own loopback address.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            files.asked.append(self.path)
            status, body, length = files.answers.get(self.path, (404, b"", 0))
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keeps the tests' standard error for what is tested."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        files = FileServer(address=f"http://127.0.0.1:{httpd.server_address[1]}")
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield files
        httpd.shutdown()
        thread.join()


@pytest.fixture
def no_given_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBTOOL_DATASETS", raising=False)


@pytest.fixture(scope="session")
def real(official_images: Path) -> dict[str, Dataset]:
    """The official data sets by name."""
    return {
        name: load_source(source, datasets_dir=official_images) for name, source in SOURCES.items()
    }
