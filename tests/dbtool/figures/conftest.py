"""A small release with answers worked out by hand."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dbtool.database import Database, open_database
from tests.support.made_up import curve, write_shard

CNN = "mnist/simple_cnn_base/nesterov_momentum"
MEDIUM = "mnist/fc_128_128_128/sgd"
SMALL = "mnist/fc_64_64_64/sgd"
WIDE = "mnist/fc_1024/sgd"


def rate(learning_rate: float, momentum: float = 0.9) -> dict[str, float]:
    return {"learning_rate": learning_rate, "momentum": momentum}


def write_sgd(folder: Path, steps: Mapping[str, Mapping[int, int]], **options: str) -> Path:
    """Adds workloads whose only trial gets past the goal at a tenfold of these steps."""
    for workload, studies in steps.items():
        for batch_size, evaluations in studies.items():
            rows = curve([0.9] * evaluations + [0.02], batch_losses=False)
            trials = [(0, "COMPLETE", rate(0.5), rows)]
            study: dict[str, Any] = {"workload": workload, "batch_size": batch_size, "goal": 0.03}
            write_shard(folder, trials=trials, **study, **options)
    return folder


def write_made(folder: Path) -> Path:
    """A release of four workloads; an evaluation every 10 steps, the first at step 0."""
    past, near = curve([0.5, 0.3, 0.009]), curve([0.5, 0.02, 0.01])
    early, never = curve([0.5, 0.009, 0.3]), curve([0.5, 0.3, 0.2])
    studies = {
        # An infeasible trial that passes the goal first, one that only meets it, and a tie.
        64: [
            (0, "COMPLETE", rate(0.3), near), (1, "COMPLETE", rate(0.1, 0.95), past),
            (2, "COMPLETE", rate(0.2), past), (3, "INFEASIBLE", rate(5.0), early),
        ],
        128: [(0, "COMPLETE", rate(8.0), early)],
        256: [(0, "COMPLETE", rate(0.3), never)],
    }  # fmt: skip
    for batch_size, trials in studies.items():
        write_shard(folder, workload=CNN, batch_size=batch_size, goal=0.01, trials=trials)
    steps = {MEDIUM: {1: 8, 2: 4, 4: 3}, SMALL: {1: 9, 2: 6, 4: 5}, WIDE: {8: 5}}
    return write_sgd(folder, steps)


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_made(tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="session")
def db(database: Path) -> Iterator[Database]:
    with open_database(database) as opened:
        yield opened
