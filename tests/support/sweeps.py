"""Small sweeps of real training on made-up images, and the rows that they wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from producers.datasets.forms import GREY_28
from producers.devices import configure_devices
from producers.plan import StudyPlan, plan_studies
from producers.search import Range
from producers.sweep import Slice, SweepEvents, SweepOptions, run_sweep
from producers.sweep.tasks import TrainingOptions
from producers.workloads.definition import EvaluationRule
from producers.workloads.registry import WORKLOADS
from producers.workloads.replace import replaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from producers.workloads.definition import Workload

WORKLOAD = "mnist/fc_64_64_64/sgd"
DATA = "made_up"
TRAINED = f"replaced/{DATA}/fc_64_64_64/sgd"
"""The workload's name on the made-up images."""
TRAIN_EXAMPLES = 88
"""Of the 96 that `write_made_up` writes in the format of MNIST, one in twelve is held out."""
BATCH_SIZE = 8
STEPS = 30


def small_study(
    *,
    seed: int = 0,
    steps: int = STEPS,
    learning_rates: tuple[float, float] = (1e-4, 1.0),
    shared_batches: bool = False,
) -> StudyPlan:
    """A study of a narrow network on made-up images at a small batch size.

    Args:
        seed: the sweep's.
        steps: of each trial.
        learning_rates: the ends of their range; with the default no trial diverges.
        shared_batches: whether the trials take the same batches.
    """
    rule = EvaluationRule(4, other_splits_every=3, examples_between=3 * BATCH_SIZE)
    workload = replaced(WORKLOADS[WORKLOAD], DATA, GREY_28, TRAIN_EXAMPLES, goal=None)
    space = (("learning_rate", Range(*learning_rates, "LOG_SCALE")),)
    workload = replace(workload, evaluation=rule, search_space=space)
    (study,) = plan_studies(
        [workload],
        release="tests",
        batch_sizes=[BATCH_SIZE],
        steps=steps,
        budget_scale=1.0,
        root_seed=seed,
        shared_batches=shared_batches,
    )
    return study


class StoppedError(Exception):
    """Raised by a test's event to stop a sweep between two shards."""


def sweep(
    study: StudyPlan,
    out: Path,
    data: Path,
    *,
    trials: int,
    block: int = 2,
    feasible: int = 0,
    part: Slice | None = None,
    stop_after: int | None = None,
    training: TrainingOptions | None = None,
) -> list[tuple[int, ...]]:
    """Runs a sweep in this process; returns the blocks of trials that it trained.

    Args:
        study: one of `small_study`.
        out: where its shards go.
        data: a folder of images in the format of MNIST.
        trials: at least so many are trained.
        block: most trials that are trained together.
        feasible: trials are added until so many are not INFEASIBLE.
        part: the slice of the sweep; None for all of it.
        stop_after: so many shards; None for all of them.
        training: how; None for the defaults.

    Raises:
        StoppedError: after so many shards.
    """
    return sweep_all(
        [replace(study, least_trials=trials, feasible_trials=feasible)],
        out,
        data,
        SweepOptions(block, None, part, training or TrainingOptions()),
        stop_after,
    )


def sweep_all(
    studies: Sequence[StudyPlan],
    out: Path,
    data: Path,
    options: SweepOptions,
    stop_after: int | None = None,
) -> list[tuple[int, ...]]:
    """Runs a sweep of studies as they are, otherwise as `sweep`."""
    configure_devices()
    trained: list[tuple[int, ...]] = []

    def on_block(_: StudyPlan, trial_ids: Sequence[int]) -> None:
        if stop_after is not None and len(trained) == stop_after:
            raise StoppedError
        trained.append(tuple(trial_ids))

    run_sweep(
        [replace(study, replacement=data) for study in studies],
        out,
        options,
        SweepEvents(on_block=on_block, on_steps=lambda _: None, on_shard=lambda _path, _rows: None),
    )
    return trained


def shards(out: Path) -> list[Path]:
    """Every shard below a folder, in the order of its trials."""
    return sorted(out.rglob("trials-*.parquet"))


def rows(out: Path) -> dict[str, np.ndarray]:
    """The columns of all rows below a folder, shard after shard; missing values as -1."""
    tables = [pq.read_table(path) for path in shards(out)]
    names = tables[0].column_names
    return {
        name: np.concatenate([table[name].fill_null(-1).to_numpy() for table in tables])
        for name in names
    }


def assert_same_rows(left: Path, right: Path, *, relative: float = 0.0) -> None:
    """Asserts that two sweeps hold the same rows, values to a relative tolerance, NaN as equal."""
    ours, theirs = rows(left), rows(right)
    assert list(ours) == list(theirs)
    for name, values in ours.items():
        np.testing.assert_allclose(values, theirs[name], rtol=relative, atol=relative, err_msg=name)


def metadata(path: Path, key: str) -> Any:
    """A value of a shard's metadata."""
    return json.loads(pq.read_metadata(path).metadata[key.encode()])


def statuses(out: Path) -> dict[int, str]:
    """The status of every trial below a folder; each may lie in one shard only."""
    found = [trial for path in shards(out) for trial in metadata(path, "dbtool_trials")]
    assert len({trial["trial_id"] for trial in found}) == len(found), "a trial was trained twice"
    return {trial["trial_id"]: trial["status"] for trial in found}


def definition_of(workload: Workload) -> dict[str, Any]:
    """A workload's definition after a trip through JSON."""
    decoded: dict[str, Any] = json.loads(json.dumps(workload.definition()))
    return decoded


def in_place_of_mnist(data: Path) -> tuple[str, str]:
    """The words that have `dbtool produce` train on a folder of images."""
    return ("--replace", f"mnist={DATA}:{data}")


def fast_start(compiled: Path) -> dict[str, str]:
    """Compiled programs that processes share to start fast."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }


def produce(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `dbtool produce` as a user does; variables are added to the environment."""
    return subprocess.run(
        [console_script(), "produce", *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def start_produce(*words: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Starts `dbtool produce` and leaves it running."""
    return subprocess.Popen(
        [console_script(), "produce", *map(str, words)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def console_script() -> str:
    """The installed `dbtool`."""
    return str(Path(sys.executable).with_name("dbtool"))
