"""Releases that the figures are drawn from: replicas of the archive, and made-up numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbtool.store.database import open_database
from tests.replica import write_archive
from tests.support.archives import imported
from tests.support.rules import read_archive
from tests.support.two_releases import write_two_releases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.store.database import Database
    from tests.support.rules import StudyFrames
    from tests.support.two_releases import Releases


@pytest.fixture(scope="module")
def replica(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[list[StudyFrames], Database]]:
    """The PLANS of a module as files, and imported from an archive in which they are shuffled."""
    folder = tmp_path_factory.mktemp("replica")
    plans = request.module.PLANS
    write_archive(folder, studies=plans, seed=3, layout="folder")
    write_archive(folder / "replica.tar", studies=plans, seed=3, layout="tar", order="shuffled")
    imported(folder / "replica.tar", folder / "db")
    with open_database(folder / "db") as opened:
        yield list(read_archive(folder / "batch_science")), opened


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Releases, Path]:
    return write_two_releases(tmp_path_factory.mktemp("releases"))


@pytest.fixture
def releases(made: tuple[Releases, Path]) -> Releases:
    return made[0]


@pytest.fixture
def db(made: tuple[Releases, Path]) -> Iterator[Database]:
    with open_database(made[1]) as opened:
        yield opened
