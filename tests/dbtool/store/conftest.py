"""Releases that the tests of the store read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dbtool
from tests.support.made_up import curve, write_shard
from tests.support.published import LETTERS, SGD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.database import Database


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workloads in a release, one of them in another too; evaluations at steps 0, 10, 20, …"""
    folder = tmp_path_factory.mktemp("releases")
    slow, fast = {"learning_rate": 0.01}, {"learning_rate": 0.1, "momentum": 0.9}
    for release, better in (("first", 0.0), ("second", 0.01)):
        for batch_size, errors in ((8, [0.9, 0.5, 0.2, 0.05]), (64, [0.9, 0.3, 0.04, 0.03])):
            write_shard(
                folder / release,
                release=release,
                workload=SGD,
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
    return folder


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    with dbtool.open(path) as opened:
        yield opened
