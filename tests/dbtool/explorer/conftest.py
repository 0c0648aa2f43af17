"""A release with everything that the explorer's tables have rules for."""

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbtool.database import Database, open_database
from tests.support.made_up import write_shard
from tests.support.published import rewrite

ERRORS = "digits/simple_cnn_base/sgd"
PRECISION = "letters/fc_64/adam"
OWN_METRIC = "letters/fc_64_64/momentum"
HOSTILE = """</script><img src=x onerror=alert(1)>/<!--<script>/$x&amp;'"é"""
RELEASE = "</title><script>made-up"
BIBTEX = "@misc{it, title = {</script><!--<script>}}"
_ODD = (math.nan, math.inf, -math.inf)


def random_rows(chance: random.Random, names: list[str], size: int) -> list[dict[str, Any]]:
    """Evaluations at some steps, of which each has some of the metrics, and odd values, too."""
    steps = sorted(chance.sample(range(400), size))
    rows = []
    for step in steps:
        row: dict[str, Any] = {"step": step, "batch_cross_entropy_error": 0.5}
        for name in names:
            if chance.random() < 0.7:
                odd = chance.random() < 0.1
                row[name] = chance.choice(_ODD) if odd else round(chance.random(), 2)
        rows.append(row)
    return rows


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorer") / "made-up"
    chance = random.Random(23)
    errors = ["val_classification_error", "train_cross_entropy_error", "test_classification_error"]
    statuses = ["COMPLETE", "INFEASIBLE", "INCOMPLETE", *["COMPLETE"] * 5]
    for batch_size in (256, 8, 64):
        trials = []
        for number, status in enumerate(statuses):
            own = {"learning_rate": chance.random(), "momentum": 0.9, "epsilon": 1e-8}
            rows = random_rows(chance, errors, chance.randrange(0, 40))
            trials.append((number, status, own, rows))
        write_shard(folder, workload=ERRORS, batch_size=batch_size, trials=trials, goal=0.2)
    metric, loss = "val_average_precision", "batch_cross_entropy_error"
    study: dict[str, Any] = {"metric": metric, "goal": 0.75, "goal_inclusive": True}
    for workload in (PRECISION, HOSTILE):
        trials = [
            (number, "COMPLETE", {"learning_rate": 0.1 + number}, random_rows(chance, [metric], 20))
            for number in range(7)
        ]
        write_shard(folder, workload=workload, batch_size=32, trials=trials, **study)
    only: Any = (3, "COMPLETE", {}, [{"step": step, loss: 0.9 - step / 10} for step in range(5)])
    study = {"workload": OWN_METRIC, "batch_size": 16, "metric": loss, "goal": None}
    write_shard(folder, trials=[only], **study)
    rewrite(folder, release=RELEASE, title=HOSTILE, licence="CC0-1.0", citation=BIBTEX)
    return folder


@pytest.fixture(scope="session")
def db(release: Path) -> Iterator[Database]:
    with open_database(release) as opened:
        yield opened
