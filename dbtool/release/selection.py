"""The studies to export, and their measurements in groups of trials."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import duckdb
import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from msgspec import Struct

from dbtool.core.footer import Trial
from dbtool.core.resources import query
from dbtool.store.questions import chosen_studies
from dbtool.store.releases import Releases
from dbtool.store.statements import table_of

# A longer trial is still read at once.
_ROWS_AT_ONCE = 500_000
_INDEX = ("releases", "workloads", "studies", "trials")
OF_STUDY = "release = $release AND workload = $workload AND batch_size = $batch_size"
# The words in shards for numbers that JSON lacks.
_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


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
    trials: list[Trial]

    @property
    def keys(self) -> dict[str, str | int]:
        """The values that `OF_STUDY` selects the rows of the study by."""
        return {name: getattr(self, name) for name in ("release", "workload", "batch_size")}

    def groups(self) -> Iterator[list[Trial]]:
        """Yield all trials in order, in groups whose measurements are read at once."""
        group: list[Trial] = []
        rows = 0
        for trial in self.trials:
            rows += trial.measurements
            if group and rows > _ROWS_AT_ONCE:
                yield group
                group, rows = [], trial.measurements
            group.append(trial)
        yield group


def select(
    db: Releases,
    workload: str | Iterable[str] | None,
    batch_size: int | Iterable[int] | None,
    release: str | None,
) -> tuple[list[ExportedStudy], dict[str, pa.Table]]:
    """Return the requested studies, sorted, and their rows of each relation behind the views."""
    values = chosen_studies(db, workload, batch_size, release)
    with db.cursor(measurements=False) as cursor:
        index = {name: table_of(cursor, query(name, "export"), values) for name in _INDEX}
    workloads = {(row["release"], row["workload"]): row for row in index["workloads"].to_pylist()}
    trials = defaultdict(list)
    for row in index["trials"].drop_columns(["producer"]).to_pylist():
        given = json.loads(row["metaparameters"])
        row["metaparameters"] = {name: _NUMBERS.get(each, each) for name, each in given.items()}
        trials[row["release"], row["workload"], row["batch_size"]].append(row)
    studies = []
    for row in index["studies"].to_pylist():
        row["search_space"] = json.loads(row["search_space"])
        row["trials"] = trials[row["release"], row["workload"], row["batch_size"]]
        of_workload = workloads[row["release"], row["workload"]]
        studies.append(msgspec.convert(of_workload | row, ExportedStudy))
    return studies, index


def read_rows(
    cursor: duckdb.DuckDBPyConnection,
    study: ExportedStudy,
    trials: Sequence[Trial],
    columns: str,
    source: str = "measurements",
) -> pa.Table:
    """Return the measurements of trials, sorted by trial and step; repeated steps keep their order.

    The trials are consecutive in the study. The columns, of a view or a table, have trial_id.
    """
    text = f"""
        SELECT {columns}
        FROM {source}
        WHERE {OF_STUDY} AND trial_id BETWEEN $first AND $last
    """  # noqa: S608 (columns and a source of ours)
    values = {**study.keys, "first": trials[0].trial_id, "last": trials[-1].trial_id}
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
