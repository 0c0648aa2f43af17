"""A server of one file, and ways to fetch from it."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

import pytest
from support.file_server import serving
from support.proxies import without_proxies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.file_server import FileServer

BYTES = 300_000


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    without_proxies(monkeypatch)


@pytest.fixture(scope="session")
def content() -> bytes:
    return random.Random(1).randbytes(BYTES)


@pytest.fixture(scope="session")
def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def server(content: bytes) -> Iterator[FileServer]:
    with serving(content) as running:
        yield running


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    return tmp_path / "archive.bin"
