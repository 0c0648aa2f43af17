"""Releases that the figures are drawn from: replicas of the archive, and made-up numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pytest

from dbtool.database import Database, open_database
from tests.support.made_up import SEARCH_SPACE, write_shard
from tests.support.rules import StudyFrames

Releases: TypeAlias = dict[str, list[StudyFrames]]

NM = "nesterov_momentum"
CNN, PLAIN = f"mnist/simple_cnn_base/{NM}", "mnist/simple_cnn_base/sgd"
FASHION = f"fashion_mnist/simple_cnn_base/{NM}"
SPARSE_PLAIN = "mnist/simple_cnn/sgd"
SPARSE = f"sparsity_50/{SPARSE_PLAIN}"
SPARSE_FASHION = "sparsity_50/fashion_mnist/simple_cnn/sgd"
SUBSET = f"mnist_subsets/mnist_6875/simple_cnn_base/{NM}"
DECAYED = f"schedule_linear/{CNN}"
EVERY, EVALUATIONS = 25, 40
ERROR = "val/classification_error"
# (release, workload, batch sizes, values of the definition)
STUDIES: tuple[tuple[str, str, tuple[int, ...], dict[str, Any]], ...] = (
    ("published", CNN, (8, 16, 64), {"goal": 0.01}),
    ("published", FASHION, (16, 32), {"goal": 0.1}),
    ("published", PLAIN, (16, 64, 256), {"goal": 0.01}),
    ("published", f"solution_quality/{PLAIN}", (16,), {"goal": 0.01}),
    ("published", SPARSE, (64, 256), {"goal": 0.02, "sparsity": 0.5}),
    ("published", f"sparsity_90/{SPARSE_PLAIN}", (16, 64), {"goal": 0.02, "sparsity": 0.9}),
    ("measured", CNN, (8, 32), {"goal": 0.012, "schedule": "constant"}),
    ("measured", DECAYED, (8, 32, 64), {"goal": 0.01, "schedule": "linear_decay"}),
    ("measured", f"sparsity_90/{SPARSE_PLAIN}", (16, 1_024), {"goal": 0.02, "sparsity": 0.9}),
    ("published", SUBSET, (16,), {"goal": 0.01}),
    ("published", SPARSE_FASHION, (64, 256), {"goal": 0.12, "sparsity": 0.5}),
    ("published", SPARSE_PLAIN, (16, 64, 256), {"goal": 0.02}),
)


def made_trials(rng: np.random.Generator, goal: float, *, momentum: bool) -> list[Any]:
    """Trials of every status; errors of three digits fall past the goal, to it, or not so far."""
    trials = []
    for trial_id in rng.choice(40, 12, replace=False).tolist():
        floor = goal * rng.choice([0.6, 0.9, 1.0, 1.5])
        fall = np.exp(-np.arange(EVALUATIONS) * rng.uniform(0.1, 0.5))
        errors = np.maximum(0.9 * fall * rng.uniform(0.9, 1.1, EVALUATIONS), floor).round(3)
        rate = {"learning_rate": float(10 ** rng.uniform(-4, 1))}
        if momentum:
            rate["momentum"] = float(rng.uniform(0.5, 0.999))
        rows = [
            {"step": EVERY * number, "val_classification_error": float(error)}
            for number, error in enumerate(errors)
        ]
        status = str(rng.choice(["COMPLETE"] * 3 + ["INCOMPLETE", "INFEASIBLE"]))
        trials.append((trial_id, status, rate, rows))
    return sorted(trials, key=lambda trial: int(trial[0]))


def frames_of(workload: str, batch_size: int, trials: list[Any]) -> StudyFrames:
    """A shard's study as an archive's files would tell it."""
    measurements = [
        {"trial_id": trial_id, "step": row["step"], ERROR: str(row["val_classification_error"])}
        for trial_id, _, _, rows in trials
        for row in rows
    ]
    listed = [
        {"trial_id": trial_id, "status": status, "steps": rows[-1]["step"], "parameters": rate}
        for trial_id, status, rate, rows in trials
    ]
    study = {"batch_size": batch_size, "parameter_configs": SEARCH_SPACE}
    study["train_steps"] = EVERY * (EVALUATIONS - 1)
    return StudyFrames(workload, study, pd.DataFrame(listed), pd.DataFrame(measurements))


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Releases, Path]:
    """Two releases of made-up numbers: the studies of each, and the folder of both."""
    folder = tmp_path_factory.mktemp("releases")
    rng = np.random.default_rng(12)
    releases: Releases = {"published": [], "measured": []}
    for release, workload, batch_sizes, definition in STUDIES:
        for batch_size in batch_sizes:
            trials = made_trials(rng, definition["goal"], momentum=not workload.endswith("sgd"))
            releases[release].append(frames_of(workload, batch_size, trials))
            write_shard(
                folder / release, trials=trials, workload=workload, batch_size=batch_size,
                release=release, **definition,
            )  # fmt: skip
    return releases, folder


@pytest.fixture(scope="package")
def releases(made: tuple[Releases, Path]) -> Releases:
    return made[0]


@pytest.fixture(scope="package")
def db(made: tuple[Releases, Path]) -> Iterator[Database]:
    with open_database(made[1]) as opened:
        yield opened
