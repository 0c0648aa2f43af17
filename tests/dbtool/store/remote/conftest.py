"""Published releases on a server."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from support.made_up import write_shard
from support.proxies import without_proxies
from support.published import database, loaded, published, write_shards
from support.release_server import serving_release

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.release_server import ReleaseServer

LARGE, LARGE_METRIC = "letters/large/sgd", "val_cross_entropy_error"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    without_proxies(monkeypatch)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files, and one of a size that is read in parts."""
    folder = tmp_path_factory.mktemp("published")
    write_shards(folder / "shards")
    random = Random(1)
    for batch_size in (16, 32, 64):
        noise = [
            {"step": step, LARGE_METRIC: random.random(), "batch_cross_entropy_error": 0.5}
            for step in range(4000)
        ]
        write_shard(
            folder / "shards",
            release="made-up",
            workload=LARGE,
            batch_size=batch_size,
            trials=[(trial, "COMPLETE", {}, noise) for trial in (0, 1)],
            metric=LARGE_METRIC,
        )
    return published(database(folder / "db", folder / "shards"), folder / "release")


@pytest.fixture(scope="session")
def stored(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "db"
    loaded(path, folder)
    return path


@pytest.fixture
def server(folder: Path) -> Iterator[ReleaseServer]:
    with serving_release(folder) as running:
        yield running
