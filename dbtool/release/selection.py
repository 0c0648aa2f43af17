"""The studies to export, and their measurements in groups of trials."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from msgspec import Struct

from dbtool.core.resources import query
from dbtool.store.questions import chosen_studies
from dbtool.store.statements import table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import duckdb
    import pyarrow as pa

    from dbtool.store.releases import Releases

# A longer trial is still read at once.
_ROWS_AT_ONCE = 500_000
_INDEX = ("releases", "workloads", "studies", "trials")
# The words in shards for numbers that JSON lacks.
_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


class ExportedTrial(Struct, frozen=True):
    """A trial of a study, as in the index of its release."""

    trial_id: int
    status: str
    steps: int
    metaparameters: dict[str, Any]
    measurements: int


class ExportedStudy(Struct, frozen=True):
    """A study, as in the index of its release, with its trials sorted by trial_id."""

    release: str
    workload: str
    batch_size: int
    dataset: str
    model: str
    optimizer: str
    early_stopping: bool
    train_steps: int
    search_space: dict[str, Any]
    trials: list[ExportedTrial]

    def groups(self) -> Iterator[list[ExportedTrial]]:
        """Yield all trials in order, in groups whose measurements are read at once."""
        group: list[ExportedTrial] = []
        rows = 0
        for trial in self.trials:
            rows += trial.measurements
            if group and rows > _ROWS_AT_ONCE:
                yield group
                group, rows = [], trial.measurements
            group.append(trial)
        yield group


class Selection(Struct, frozen=True):
    """The rows to export.

    Attributes:
        studies: studies sorted by release, workload and batch size.
        index: rows of each relation behind the views that belong to these studies, by its name.
    """

    studies: list[ExportedStudy]
    index: Mapping[str, pa.Table]


def select(
    db: Releases,
    workload: str | Iterable[str] | None,
    batch_size: int | Iterable[int] | None,
    release: str | None,
) -> Selection:
    """Return the requested studies; see `dbtool.release.export.export`.

    Raises:
        UsageError: a name does not exist.
    """
    values = chosen_studies(db, workload, batch_size, release)
    with db.cursor(measurements=False) as cursor:
        index = {name: table_of(cursor, query(name, "export"), values) for name in _INDEX}
    workloads = {(row["release"], row["workload"]): row for row in index["workloads"].to_pylist()}
    trials: dict[Any, list[ExportedTrial]] = {}
    for row in index["trials"].drop_columns(["producer"]).to_pylist():
        given = json.loads(row["metaparameters"])
        numbers = {
            name: _NUMBERS.get(value, value) if isinstance(value, str) else value
            for name, value in given.items()
        }
        trial = msgspec.convert(row | {"metaparameters": numbers}, ExportedTrial)
        trials.setdefault((row["release"], row["workload"], row["batch_size"]), []).append(trial)
    studies = [
        msgspec.convert(
            {
                **workloads[row["release"], row["workload"]],
                **row,
                "search_space": json.loads(row["search_space"]),
                "trials": trials[row["release"], row["workload"], row["batch_size"]],
            },
            ExportedStudy,
        )
        for row in index["studies"].to_pylist()
    ]
    return Selection(studies, index)


def read_rows(
    cursor: duckdb.DuckDBPyConnection,
    study: ExportedStudy,
    trials: Sequence[ExportedTrial],
    columns: str,
    source: str = "measurements",
) -> pa.Table:
    """Return the measurements of trials, sorted by trial and step; repeated steps keep their order.

    Args:
        cursor: cursor of the database.
        study: study of the trials.
        trials: at least one, consecutive in the study.
        columns: SQL of the columns to read, with trial_id.
        source: view or table to read from.
    """
    text = f"""
        SELECT {columns}
        FROM {source}
        WHERE release = $release AND workload = $workload AND batch_size = $batch_size
            AND trial_id BETWEEN $first AND $last
    """  # noqa: S608 (columns and a source of ours)
    values = {
        "release": study.release,
        "workload": study.workload,
        "batch_size": study.batch_size,
        "first": trials[0].trial_id,
        "last": trials[-1].trial_id,
    }
    rows = table_of(cursor, text, values)
    # Shards follow one another with trials sorted in each, so that rows are in order already
    # unless trials of one shard lie between those of another.
    ids = trial_ids(rows)
    if (np.diff(ids) < 0).any():
        rows = rows.take(np.argsort(ids, kind="stable"))
    return rows


def trial_ids(rows: pa.Table) -> np.ndarray:
    """Return the trial of each row, int64 [rows]."""
    # Arrow's own conversion would import pandas where it is installed, and lose a Ctrl-C meanwhile.
    return pl.Series(rows["trial_id"]).to_numpy()
