"""Valid shards with made-up numbers, for tests.

    write_shard(
        folder,
        workload="digits/simple_cnn_base/sgd",
        batch_size=64,
        trials=[(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, 0.2]))],
    )

Each row is a mapping of "step" and any columns of the contract, other_metrics being a mapping too;
the columns left out are null, and optional ones that no row has are left out.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.store.contract import (
    FORMAT_KEY,
    OTHER_METRICS,
    PRODUCER_KEY,
    STUDY_KEY,
    TRIALS_KEY,
    shard_format,
    shard_name,
    shard_schema,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Row: TypeAlias = "Mapping[str, Any]"
Trial: TypeAlias = "tuple[int, str, Mapping[str, float], Sequence[Row]]"

RELEASE = "made-up"
WORKLOAD = "made_up/simple_cnn_base/nesterov_momentum"
PRODUCER: Mapping[str, Any] = {
    "dbtool": "0.1.0",
    "python": "3.11.0",
    "jax": "0.10.2",
    "jaxlib": "0.10.2",
    "flax": "0.12.8",
    "optax": "0.2.8",
    "numpy": "2.4.0",
    "device": "made up",
    "devices": 1,
    "platform": "cpu",
    "git_revision": "0" * 40,
    "batches": "own",
    "created": "2025-01-01T00:00:00Z",
}
SEARCH_SPACE: Mapping[str, Any] = {
    "learning_rate": {"type": "DOUBLE", "min_value": 1e-4, "max_value": 10.0, "scale": "LOG"},
    "momentum": {"type": "DOUBLE", "min_value": 0.5, "max_value": 0.999, "scale": "LINEAR"},
}


def curve(
    errors: Sequence[float],
    *,
    metric: str = "val_classification_error",
    every: int = 10,
    batch_losses: bool = True,
) -> list[Row]:
    """Rows of one trial: an evaluation every so many steps from step 0, batch losses between.

    Args:
        errors: the value of the metric at each evaluation.
        metric: the column that holds them.
        every: steps between evaluations.
        batch_losses: whether every step from 1 on has a row with a batch loss, as producers write.
    """
    rows: list[Row] = []
    for step in range((len(errors) - 1) * every + 1):
        row: dict[str, float | None] = {"step": step}
        if batch_losses and step > 0:
            row["batch_cross_entropy_error"] = 2.0 / (1 + step)
        if step % every == 0:
            row[metric] = errors[step // every]
        if len(row) > 1:
            rows.append(row)
    return rows


def definition(workload: str = WORKLOAD, **changes: Any) -> dict[str, Any]:
    """A workload definition; the name's last three parts are data set, model and optimizer."""
    *collection, dataset, model, optimizer = workload.split("/")
    return {
        "workload": workload,
        "collection": "/".join(collection) or None,
        "dataset": dataset,
        "model": model,
        "optimizer": optimizer,
        "sparsity": 0.0,
        "metric": "val_classification_error",
        "goal": 0.1,
        "maximize": False,
        "train_examples": 1000,
        **changes,
    }


def shard_table(trials: Sequence[Trial]) -> pa.Table:
    """The rows of the trials in the given order, in the contract's columns."""
    rows = [{"trial_id": trial_id, **row} for trial_id, _, _, rows in trials for row in rows]
    for row in rows:
        if isinstance(row.get(OTHER_METRICS), dict):
            row[OTHER_METRICS] = list(row[OTHER_METRICS].items())
    return pa.Table.from_pylist(rows, schema=shard_schema(frozenset().union(*rows)))


def shard_metadata(
    trials: Sequence[Trial],
    *,
    workload: str = WORKLOAD,
    batch_size: int = 64,
    release: str = RELEASE,
    train_steps: int | None = None,
    early_stopping: bool = False,
    search_space: Mapping[str, Any] = SEARCH_SPACE,
    seed: int = 0,
    search: Mapping[str, Any] | None = None,
    producer: Mapping[str, Any] = PRODUCER,
    **changes: Any,
) -> dict[str, Any]:
    """The metadata of a shard before it is written as JSON, by key.

    Args:
        train_steps: the study's step budget; None: the fewest steps of a COMPLETE trial here.
        changes: values of the workload definition that replace the made-up ones.
    """
    steps = {trial_id: int(rows[-1]["step"] or 0) for trial_id, _, _, rows in trials}
    complete = [steps[trial_id] for trial_id, status, _, _ in trials if status == "COMPLETE"]
    return {
        FORMAT_KEY: shard_format(),
        STUDY_KEY: {
            "release": release,
            "workload": definition(workload, **changes),
            "batch_size": batch_size,
            "train_steps": min(complete, default=0) if train_steps is None else train_steps,
            "early_stopping": early_stopping,
            "search_space": search_space,
            "seed": seed,
            **({} if search is None else {"search": search}),
        },
        TRIALS_KEY: [
            {
                "trial_id": trial_id,
                "status": status,
                "steps": steps[trial_id],
                "metaparameters": metaparameters,
                "seed": 1000 + trial_id,
            }
            for trial_id, status, metaparameters, _ in trials
        ],
        PRODUCER_KEY: producer,
    }


def write_table(folder: Path, table: pa.Table, metadata: Mapping[str, Any], **options: Any) -> Path:
    """Writes rows and metadata, valid or not, as RELEASE_FOLDER/WORKLOAD/BATCH_SIZE/SHARD.

    Args:
        folder: the release's folder; made where it is not there.
        table: the rows; first and last trial id of the name are its `trial_id` column's.
        metadata: by key; each value is written as JSON.
        options: passed on to `pyarrow.parquet.write_table`.
    """
    study = metadata[STUDY_KEY]
    place = folder / study["workload"]["workload"] / str(study["batch_size"])
    place.mkdir(parents=True, exist_ok=True)
    buffer = pa.BufferOutputStream()
    text = {key: json.dumps(value) for key, value in metadata.items()}
    pq.write_table(table.replace_schema_metadata(text), buffer, **options)
    contents = buffer.getvalue().to_pybytes()
    ids = table.column("trial_id").drop_null().to_pylist()
    name = shard_name(min(ids), max(ids), hashlib.sha256(contents).hexdigest())
    path: Path = place / name
    path.write_bytes(contents)
    return path


def write_shard(folder: Path, *, trials: Sequence[Trial], **study: Any) -> Path:
    """Writes a valid shard and returns its path.

    Args:
        folder: the release's folder.
        trials: (trial_id, status, metaparameters, rows), sorted by trial_id; see `curve`.
        study: what `shard_metadata` takes: workload (its name), batch_size, release, train_steps,
            early_stopping, search_space, seed, search, producer, and any value of the workload
            definition, such as metric, goal, maximize or sparsity.
    """
    return write_table(folder, shard_table(trials), shard_metadata(trials, **study))
