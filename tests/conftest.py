"""Fixtures that every package's tests share."""

import contextlib
import gc
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support.proxies import without_proxies

if TYPE_CHECKING:
    from tests.support.archives import Replica

_CORES_A_WORKER = 2

# How many examples a property is tried on, unless it says so itself. However long each takes: other
# programs may want the cores.
settings.register_profile("quick", max_examples=20, deadline=None)
settings.register_profile("thorough", max_examples=100, deadline=None)
settings.load_profile("quick")


def pytest_configure() -> None:
    """Gives each of the processes that share the tests two cores, so that none starts many threads.

    Two, so that what is sharded over devices really is. Does nothing where the system cannot.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    first = _CORES_A_WORKER * int(worker.removeprefix("gw")) % len(cores)
    os.sched_setaffinity(0, {*cores[first : first + _CORES_A_WORKER]})


def pytest_collection_finish() -> None:
    """Spares Python from looking for garbage among all modules, time and again."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Has Python free at its end what native libraries would report as leaked."""
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says each reason why tests were skipped once, since some tell how to have them run."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}")


@pytest.fixture(scope="session", autouse=True)
def _away_from_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps tests and their processes from what lies in the checkout's folder, such as `runs`."""
    with contextlib.chdir(tmp_path_factory.mktemp("here")):
        yield
        assert not list(Path().iterdir()), "a test wrote into the folder that it was started in"


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the homes of tests, and of the cache that depends on nothing but the code."""
    folder: Path = tmp_path_factory.mktemp("homes")
    (folder / "views").mkdir()
    return folder


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, _homes: Path) -> None:
    """Keeps a test away from the database, caches and proxies of the person who runs it."""
    # By another name than pytest's, which looks through all its folders for each new number.
    home = Path(tempfile.mkdtemp(dir=_homes))
    (home / "cache" / "dbtool").mkdir(parents=True)
    (home / "cache" / "dbtool" / "views").symlink_to(_homes / "views")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.delenv("DBTOOL_DB", raising=False)
    without_proxies(monkeypatch)


@pytest.fixture(scope="module")
def replica(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["Replica"]:
    """The PLANS of a module as files, and imported from an archive in which they are mixed."""
    from tests.support.archives import opened_replica

    yield from opened_replica(tmp_path_factory.mktemp("replica"), request.module.PLANS)


@pytest.fixture(scope="session")
def made_up_mnist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a few made-up images in the format of MNIST, for sweeps to train on."""
    from producers.datasets.registry import write_made_up

    folder: Path = tmp_path_factory.mktemp("mnist")
    write_made_up("mnist", folder)
    return folder


@pytest.fixture(scope="session")
def official_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the official MNIST and Fashion MNIST, each in a folder of its name."""
    from producers.datasets.mnist.locate import SOURCES, locate
    from tests.support.official import official

    folder: Path = tmp_path_factory.mktemp("official")
    for source in SOURCES.values():
        (folder / source.name).mkdir()
        for name, file in official(partial(locate, source)).items():
            (folder / source.name / name).symlink_to(file.path.resolve())
    return folder
