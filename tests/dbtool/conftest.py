"""What tests of dbtool share: a database of a module's folder, and servers of this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import dbtool
from tests.support.proxies import without_proxies


@pytest.fixture(scope="module")
def db(folder: Path) -> Iterator[dbtool.Database]:
    """The database of a module's fixture `folder`."""
    with dbtool.open(folder) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    without_proxies(monkeypatch)
