"""Whole studies as the database holds them: their settings, trials and measurements, in order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dbtool.store.sql import statement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb


@dataclass(frozen=True, slots=True)
class HeldStudy:
    """A study.

    Attributes:
        study_id: its number in this database.
        release: the release it belongs to.
        workload: its workload's name, which is its path in the archive.
        dataset: the data set's name.
        model: the model's name.
        optimizer: the optimizer's name.
        batch_size: its batch size.
        train_steps: fewest steps of a COMPLETE trial; 0 where the budget was time.
        early_stopping: whether trials were stopped early.
        search_space: metaparameter to its type, range or points.
    """

    study_id: int
    release: str
    workload: str
    dataset: str
    model: str
    optimizer: str
    batch_size: int
    train_steps: int
    early_stopping: bool
    search_space: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HeldTrial:
    """A trial.

    Attributes:
        trial_id: unique in its study.
        status: COMPLETE, INCOMPLETE or INFEASIBLE.
        steps: the last step that was taken.
        metaparameters: name to value.
        measurements: how many it has.
    """

    trial_id: int
    status: str
    steps: int
    metaparameters: Mapping[str, float]
    measurements: int


def studies_of(
    connection: duckdb.DuckDBPyConnection,
    workloads: Sequence[str],
    release: str | None,
    batch_sizes: Sequence[int] | None = None,
) -> list[HeldStudy]:
    """The studies of workloads, by release, workload and batch size.

    Args:
        connection: the database.
        workloads: their names.
        release: its name; None: any.
        batch_sizes: of these alone; None: any.
    """
    values = {"workloads": list(workloads), "release": release, "batch_sizes": batch_sizes}
    found = connection.execute(statement("chosen_studies"), values).fetchall()
    return [HeldStudy(*(*settings, json.loads(space))) for *settings, space in found]


def trials_of(connection: duckdb.DuckDBPyConnection, study: HeldStudy) -> list[HeldTrial]:
    """The trials of a study, by trial id."""
    found = connection.execute(statement("trials_of_study"), {"study_id": study.study_id})
    return [HeldTrial(*row) for row in found.fetchall()]


def count_measurements(connection: duckdb.DuckDBPyConnection, studies: Sequence[HeldStudy]) -> int:
    """How many measurements studies have."""
    [(count,)] = connection.execute(
        "SELECT coalesce(sum(measurements), 0)::BIGINT FROM stored.trial "
        "WHERE list_contains(?, study_id)",
        [[study.study_id for study in studies]],
    ).fetchall()
    return int(count)


def measurements_of(
    connection: duckdb.DuckDBPyConnection,
    study: HeldStudy,
    first: int,
    last: int,
    trial_ids: Sequence[int] | None = None,
) -> pa.Table:
    """The measurements of trials: trial_id, step and the metrics in the order of the view.

    They are sorted by trial and step, and those of a step are in the order in which they came.

    Args:
        connection: the database.
        study: theirs.
        first: the smallest trial id.
        last: the largest.
        trial_ids: those in between that are meant; None: all.
    """
    values = {
        "study_id": study.study_id,
        "first": first,
        "last": last,
        "trial_ids": None if trial_ids is None else list(trial_ids),
    }
    found = connection.execute(statement("measurements_of_trials"), values)
    return _sorted(found.to_arrow_table())


def _sorted(rows: pa.Table) -> pa.Table:
    """Rows sorted by trial and step, which most are: they were stored so, but not all at once."""
    trial_id, step = rows["trial_id"].to_numpy(), rows["step"].to_numpy()
    change = np.diff(trial_id)
    if ((change > 0) | ((change == 0) & (np.diff(step) >= 0))).all():
        return rows
    return rows.take(pa.array(np.lexsort((step, trial_id))))
