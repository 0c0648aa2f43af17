"""An imported replica, and measurements of producers that the archive's format does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from replica import plan_study, write_archive
from support.archives import imported
from support.made_up import curve, write_shard

from dbtool.store.database import open_for_writing
from dbtool.store.ingest import find_shards, ingest

if TYPE_CHECKING:
    from pathlib import Path

CNN = "mnist/simple_cnn_base/nesterov_momentum"
PLANS = (
    plan_study(CNN, 1, odd=True),
    plan_study(CNN, 64),
    plan_study("solution_quality/" + CNN, 64),
    plan_study("imagenet/resnet_50/nesterov_momentum", 512, odd=True),
    plan_study("open_images_v4/resnet_50/nesterov_momentum", 1_024, odd=True),
    plan_study("lm1b/lstm/nesterov_momentum", 16),
    plan_study("mnist/fc_1024/sgd", 8, complete=0, incomplete=0, infeasible=0),
)
DIGITS = "digits/simple_cnn_base/sgd"


@pytest.fixture(scope="session")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with what the published archive has, oddities included."""
    folder = tmp_path_factory.mktemp("replica")
    write_archive(folder / "a.tar", studies=PLANS, seed=3, layout="tar", order="shuffled")
    assert not imported(folder / "a.tar", folder / "replica.duckdb").malformed
    return folder / "replica.duckdb"


@pytest.fixture(scope="session")
def produced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of two releases, loaded in such an order that trials lie apart in it."""
    folder = tmp_path_factory.mktemp("produced")
    path = folder / "produced.duckdb"
    measured = curve([0.9, 0.5, 1e-7], metric="val_classification_error")
    measured[3] = {**measured[3], "other_metrics": {"noise, scale": 0.1, "lipschitz": 1e300}}
    measured[5] = {**measured[5], "other_metrics": {"lipschitz": float("nan")}}
    precise = curve([0.1, 0.2], metric="val_average_precision", batch_losses=False)
    diverged = [{"step": 0, "batch_cross_entropy_error": float("inf")}]
    for release, trials in (
        ("first", [(5, "COMPLETE", {"learning_rate": 0.1}, measured)]),
        ("second", [(0, "COMPLETE", {"learning_rate": 0.5}, precise)]),
        ("first", [(2, "INFEASIBLE", {"learning_rate": 9.0}, diverged)]),
    ):
        shard = write_shard(
            folder / str(len(trials)),
            release=release,
            workload=DIGITS,
            batch_size=8,
            trials=trials,
            train_steps=10,
        )
        with open_for_writing(path) as connection:
            assert ingest(connection, find_shards([shard])).added == 1
    return path
