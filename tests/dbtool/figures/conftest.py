"""A small database with answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.made_up import curve, write_shard

from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest
from tests.dbtool.figures.made_shards import rate, sgd_shards

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

CNN = "mnist/simple_cnn_base/nesterov_momentum"
MEDIUM = "mnist/fc_128_128_128/sgd"
SMALL = "mnist/fc_64_64_64/sgd"
WIDE = "mnist/fc_1024/sgd"


def made_shards(folder: Path) -> list[Path]:
    """Shards of four workloads; an evaluation every 10 steps, the first at step 0."""
    past, near = curve([0.5, 0.3, 0.009]), curve([0.5, 0.02, 0.01])
    early, never = curve([0.5, 0.009, 0.3]), curve([0.5, 0.3, 0.2])
    shards = [
        # An infeasible trial that passes the goal first, one that only meets it, and a tie.
        write_shard(
            folder, workload=CNN, batch_size=64, goal=0.01,
            trials=[
                (0, "COMPLETE", rate(0.3), near), (1, "COMPLETE", rate(0.1, 0.95), past),
                (2, "COMPLETE", rate(0.2), past), (3, "INFEASIBLE", rate(5.0), early),
            ],
        ),
        write_shard(
            folder, workload=CNN, batch_size=128, goal=0.01,
            trials=[(0, "COMPLETE", rate(8.0), early)],
        ),
        write_shard(
            folder, workload=CNN, batch_size=256, goal=0.01,
            trials=[(0, "COMPLETE", rate(0.3), never)],
        ),
    ]  # fmt: skip
    steps = {MEDIUM: {1: 8, 2: 4, 4: 3}, SMALL: {1: 9, 2: 6, 4: 5}, WIDE: {8: 5}}
    return [*shards, *sgd_shards(folder, steps)]


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    path: Path = folder / "made_up.duckdb"
    with open_for_writing(path) as connection:
        ingest(connection, made_shards(folder / "shards"))
    return path


@pytest.fixture
def connection(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_for_reading(database) as opened:
        yield opened
