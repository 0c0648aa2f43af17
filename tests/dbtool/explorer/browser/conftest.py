"""The explorer of the bundled release, in tabs that have no network."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import dbtool
from dbtool.database import Database
from tests.support.browser import open_browser
from tests.support.explorer_browser import BUNDLED, Explorer, Opener, write_page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def bundled_page(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Written once for all processes that share the tests, since that takes a while."""
    own = tmp_path_factory.getbasetemp()
    page = (own if worker_id == "master" else own.parent) / "bundled.html"
    with FileLock(f"{page}.lock"):
        return page if page.exists() else write_page(BUNDLED, page)


@pytest.fixture(scope="session")
def bundled() -> Iterator[Database]:
    with dbtool.open(BUNDLED) as opened:
        yield opened


@pytest.fixture
def tab(browser: Any) -> Iterator[Opener]:
    """Opens a page in a tab of its own, of which all is checked at the end."""
    tabs: list[Explorer] = []

    def open_tab(file: Path, *, at: dict[str, Any] | None = None, **context: Any) -> Explorer:
        tabs.append(Explorer(browser, file, **context))
        return tabs[-1].open(**(at or {}))

    yield open_tab
    for each in tabs:
        each.check()
        each.context.close()


@pytest.fixture
def explorer(tab: Opener, bundled_page: Path) -> Explorer:
    """The page of the bundled release, as it is seen first."""
    return tab(bundled_page)
