"""What the database holds of a study, in the words and columns of the published archive."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from dbtool.store.contract import OTHER_METRICS
from dbtool.store.sql import statement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

# The order of the archive's own columns; `batch` is of the producers alone.
COLUMNS: Mapping[str, str] = {
    f"{split}_{metric}": f"{split}/{metric}"
    for split in ("train", "val", "test", "batch")
    for metric in ("cross_entropy_error", "classification_error", "average_precision")
    if split != "batch" or metric == "cross_entropy_error"
}


@dataclass(frozen=True)
class OriginalTrial:
    """A trial.

    Attributes:
        trial_id: unique in its study.
        measurements: how many it has.
        metadata: what its metadata.json says, without what the authors call internal.
    """

    trial_id: int
    measurements: int
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class OriginalStudy:
    """A study.

    Attributes:
        study_id: its number in the database.
        workload: its workload's path in the archive.
        batch_size: its batch size.
        description: what its study.json says.
    """

    study_id: int
    workload: str
    batch_size: int
    description: Mapping[str, Any]


def studies_of(
    connection: duckdb.DuckDBPyConnection, workloads: Sequence[str], release: str
) -> list[OriginalStudy]:
    """The studies of workloads of a release, by workload and batch size.

    Args:
        connection: the database.
        workloads: their names.
        release: its name.
    """
    values = {"workloads": list(workloads), "release": release}
    found = connection.execute(statement("original_studies"), values).fetchall()
    return [_study(*row) for row in found]


def _study(
    study_id: int,
    workload: str,
    dataset: str,
    model: str,
    optimizer: str,
    batch_size: int,
    train_steps: int,
    early_stopping: bool,
    search_space: str,
) -> OriginalStudy:
    description = {
        "batch_size": batch_size,
        "dataset": dataset,
        "early_stopping": early_stopping,
        "model": model,
        "optimizer": optimizer,
        "parameter_configs": json.loads(search_space),
        "train_steps": train_steps,
    }
    return OriginalStudy(study_id, workload, batch_size, description)


def trials_of(connection: duckdb.DuckDBPyConnection, study: OriginalStudy) -> list[OriginalTrial]:
    """The trials of a study, by trial id."""
    found = connection.execute(statement("original_trials"), {"study_id": study.study_id})
    configs = study.description["parameter_configs"]
    return [
        OriginalTrial(
            trial_id,
            measurements,
            {
                "parameters": _parameters(metaparameters, configs),
                "status": status,
                "steps": steps,
                "trial_id": trial_id,
            },
        )
        for trial_id, status, steps, metaparameters, measurements in found.fetchall()
    ]


def _parameters(
    metaparameters: Mapping[str, float], configs: Mapping[str, Any]
) -> dict[str, float | int]:
    """Metaparameters, the whole ones without a decimal point, as the archive writes them."""
    return {
        name: int(value)
        if configs.get(name, {}).get("type") == "INTEGER" and value.is_integer()
        else value
        for name, value in metaparameters.items()
    }


def measurements_of(
    connection: duckdb.DuckDBPyConnection, study: OriginalStudy, trial_ids: Sequence[int]
) -> pl.DataFrame:
    """The measurements of trials: trial_id, step, and the metrics under the archive's names.

    Rows are sorted by trial and step, and those of a step are in the order of their file. Metrics
    that no row has are left out.

    Args:
        connection: the database.
        study: theirs.
        trial_ids: in ascending order, at least one.
    """
    values = {"study_id": study.study_id, "trial_ids": list(trial_ids)}
    # A scan alone comes in the order in which rows were stored.
    table = connection.execute(statement("original_measurements"), values).to_arrow_table()
    frame = pl.DataFrame(table).sort("trial_id", "step", maintain_order=True)
    others = _other_metrics(frame[OTHER_METRICS])
    held = [name for name in COLUMNS if frame[name].null_count() < frame.height]
    return (
        frame.select("trial_id", "step", *held)
        .rename({name: COLUMNS[name] for name in held})
        .with_columns(others)
    )


def _other_metrics(column: pl.Series) -> list[pl.Series]:
    """A column for each metric in a column of maps, in the order in which they first occur."""
    if column.null_count() == len(column):
        return []
    keys = column.map.keys()
    names = keys.explode().drop_nulls().unique(maintain_order=True)
    return [column.map.get(name).alias(name) for name in names]
