"""The explorer of some of the bundled release, in tabs that have no network."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dbtool
from dbtool.core.contract import study_path
from dbtool.core.manifest import About
from dbtool.core.release import rebuild
from dbtool.database import Database
from tests.support.browser import open_browser
from tests.support.explorer import write_page
from tests.support.explorer_browser import BUNDLED, Explorer, Opener

WORKLOADS = (
    "mnist/fc_1024/sgd",
    "mnist/fc_64_64_64/sgd",
    "mnist/fc_128_128_128/adam",
    "mnist/fc_128_128_128/nesterov_momentum",
    "mnist_subsets/mnist_55000/simple_cnn_base/nesterov_momentum",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of a few of the bundled one's workloads."""
    folder: Path = tmp_path_factory.mktemp("few") / "replication"
    for workload in WORKLOADS:
        studies = Path(study_path(workload, 1)).parent
        shutil.copytree(BUNDLED / studies, folder / studies)
    rebuild(folder, About(release="replication"))
    return folder


@pytest.fixture(scope="session")
def few_page(few: Path) -> Path:
    """Its page, with a figure of each kind that the tests look at."""
    figures = ("figure_03", "learning-rates", "momenta", "atlas")
    return write_page(few, few.with_name("few.html"), *figures)


@pytest.fixture(scope="session")
def few_db(few: Path) -> Iterator[Database]:
    with dbtool.open(few) as opened:
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
def explorer(tab: Opener, few_page: Path) -> Explorer:
    """The page as it is seen first."""
    return tab(few_page)
