"""What the database holds of a study, in the words and columns of the published archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbtool.store.contract import OTHER_METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from dbtool.store.studies import HeldStudy, HeldTrial

# The order of the archive's own columns; `batch` is of the producers alone.
COLUMNS: Mapping[str, str] = {
    f"{split}_{metric}": f"{split}/{metric}"
    for split in ("train", "val", "test", "batch")
    for metric in ("cross_entropy_error", "classification_error", "average_precision")
    if split != "batch" or metric == "cross_entropy_error"
}


def study_json(study: HeldStudy) -> dict[str, Any]:
    """What a study.json says."""
    return {
        "batch_size": study.batch_size,
        "dataset": study.dataset,
        "early_stopping": study.early_stopping,
        "model": study.model,
        "optimizer": study.optimizer,
        "parameter_configs": study.search_space,
        "train_steps": study.train_steps,
    }


def metadata_json(study: HeldStudy, trial: HeldTrial) -> dict[str, Any]:
    """What a metadata.json says, without what the authors call internal."""
    return {
        "parameters": _parameters(trial.metaparameters, study.search_space),
        "status": trial.status,
        "steps": trial.steps,
        "trial_id": trial.trial_id,
    }


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


def held_columns(rows: pl.DataFrame) -> list[str]:
    """The columns of the archive's metrics, in its order, that a row has a value of."""
    return [name for name in COLUMNS if rows[name].null_count() < rows.height]


def renamed(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Rows with trial_id, step, some metrics, and all without a column of their own.

    Args:
        rows: as `dbtool.store.studies.measurements_of` returns them.
        columns: the metrics that have columns, as `held_columns` names them.

    Returns:
        The metrics under the archive's names, in the order given and then of occurring.
    """
    names = {name: COLUMNS[name] for name in columns}
    others = _other_metrics(rows[OTHER_METRICS])
    return rows.select("trial_id", "step", *names).rename(names).with_columns(others)


def _other_metrics(column: pl.Series) -> list[pl.Series]:
    """A column for each metric in a column of maps, in the order in which they first occur."""
    if column.null_count() == len(column):
        return []
    names = column.map.keys().explode().drop_nulls().unique(maintain_order=True)
    return [column.map.get(name).alias(name) for name in names]
