"""Ways to fetch in tests: with little patience, and looking at what a failure leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbtool.archive.download.fetch import Fetched, fetch
from dbtool.archive.download.source import find_source
from dbtool.archive.download.watch import Patience, Watch
from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from pathlib import Path

QUICK = Patience(retries=3, timeout=5.0, first_wait=0.0)


def fetched(
    sha256: str, dest: Path, *urls: str, patience: Patience = QUICK, watch: Watch | None = None
) -> Fetched:
    return fetch(find_source(None, urls, sha256), dest, watch or Watch(), patience)


def failure(sha256: str, dest: Path, *urls: str, error: type[DbtoolError] = DbtoolError) -> str:
    """The sentence of a fetch that fails; there is then no file of the final name."""
    with pytest.raises(error) as caught:
        fetched(sha256, dest, *urls)
    assert not dest.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def part_of(dest: Path) -> Path:
    return dest.with_name(f"{dest.name}.part")


def other_than(content: bytes) -> bytes:
    """Another file of the same size, which differs from the first byte on."""
    return bytes(byte ^ 1 for byte in content)
