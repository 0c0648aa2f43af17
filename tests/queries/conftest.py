"""Releases that the figures are drawn from: replicas of the archive, and made-up numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbtool.store.database import open_database
from tests.support.rules import read_archive
from tests.support.two_releases import write_two_releases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.store.database import Database
    from tests.support.archives import Replica
    from tests.support.rules import StudyFrames
    from tests.support.two_releases import Releases


@pytest.fixture(scope="module")
def studies(replica: Replica) -> list[StudyFrames]:
    return read_archive(replica.root)


@pytest.fixture(scope="module")
def imported(replica: Replica) -> Iterator[Database]:
    with open_database(replica.database) as opened:
        yield opened


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
