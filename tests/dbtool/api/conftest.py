"""Databases that the tests of the API read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.made_up import curve, write_shard

import dbtool
from dbtool.store.database import open_for_writing
from dbtool.store.ingest import find_shards, ingest
from dbtool.store.locate import bundled_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbtool.api import Database

CHECKOUT = Path(__file__).resolve().parents[3]
DIGITS = "digits/simple_cnn_base/sgd"
LETTERS = "letters/fc_64_64/nesterov_momentum"


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workloads in a release, one of them in another too; evaluations at steps 0, 10, 20, …"""
    folder = tmp_path_factory.mktemp("api")
    slow, fast = {"learning_rate": 0.01}, {"learning_rate": 0.1, "momentum": 0.9}
    for release, better in (("first", 0.0), ("second", 0.01)):
        for batch_size, errors in ((8, [0.9, 0.5, 0.2, 0.05]), (64, [0.9, 0.3, 0.04, 0.03])):
            write_shard(
                folder / release,
                release=release,
                workload=DIGITS,
                batch_size=batch_size,
                trials=[
                    (0, "COMPLETE", slow, curve([0.9, 0.8, 0.7, 0.6])),
                    (1, "COMPLETE", fast, curve([error - better for error in errors])),
                    (2, "INFEASIBLE", fast, curve([0.9, float("nan")])),
                ],
                goal=0.1,
            )
    write_shard(
        folder / "first",
        release="first",
        workload=LETTERS,
        batch_size=32,
        trials=[(7, "COMPLETE", slow, curve([0.9, 0.8]))],
        goal=None,
    )
    with open_for_writing(folder / "made_up.duckdb") as connection:
        assert ingest(connection, find_shards([folder])).added == 5
    return folder / "made_up.duckdb"


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    with dbtool.open(path) as opened:
        yield opened


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample that the wheel carries, in a database."""
    cache = tmp_path_factory.mktemp("sample")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        return bundled_database(CHECKOUT / "data" / "sample")
