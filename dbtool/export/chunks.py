"""The measurements of studies, a bounded part after the other, in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from dbtool.store.contract import OTHER_METRICS, STATUSES
from dbtool.store.studies import measurements_of, trials_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import duckdb

    from dbtool.store.studies import HeldStudy, HeldTrial

_Item = TypeVar("_Item")

# Of a trial with more, all are read at once.
_ROWS_AT_ONCE = 250_000
_NAMES = ("release", "workload", "dataset", "model", "optimizer")
_LABEL = pa.dictionary(pa.int8(), pa.string())
_METRICS = (
    "train_cross_entropy_error",
    "train_classification_error",
    "val_cross_entropy_error",
    "val_classification_error",
    "test_cross_entropy_error",
    "test_classification_error",
    "train_average_precision",
    "val_average_precision",
    "test_average_precision",
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some trials of a study.

    Attributes:
        study: the study.
        trials: the trials, by trial id; a study without trials has a chunk without any.
        rows: trial_id, step and the metrics, sorted by trial and step.
        is_first: whether they are the study's first.
    """

    study: HeldStudy
    trials: Sequence[HeldTrial]
    rows: pa.Table
    is_first: bool


def read_chunks(
    connection: duckdb.DuckDBPyConnection, studies: Iterable[HeldStudy]
) -> Iterator[Chunk]:
    """The trials of studies with their measurements; the next ones are read while some are used.

    Args:
        connection: the database.
        studies: in the order in which they are wanted.
    """
    yield from _ahead(_chunks(connection.cursor(), studies))


def view_schema() -> pa.Schema:
    """The columns of the view measurements; names that repeat are dictionaries."""
    return pa.schema(
        [
            *((name, _LABEL) for name in _NAMES),
            ("batch_size", pa.int32()),
            ("trial_id", pa.int32()),
            ("status", _LABEL),
            ("step", pa.int64()),
            *((name, pa.float64()) for name in _METRICS),
            ("batch_cross_entropy_error", pa.float32()),
            (OTHER_METRICS, pa.map_(pa.string(), pa.float64())),
        ]
    )


def view_rows(chunk: Chunk) -> pa.Table:
    """The rows of a chunk as `view_schema` has them."""
    count, study = chunk.rows.num_rows, chunk.study
    columns = {name: _repeated(getattr(study, name), count) for name in _NAMES}
    columns["batch_size"] = pa.array(np.full(count, study.batch_size, np.int32))
    columns["trial_id"] = chunk.rows["trial_id"]
    ids = np.array([trial.trial_id for trial in chunk.trials], np.int32)
    statuses = np.array([STATUSES.index(trial.status) for trial in chunk.trials], np.int8)
    places = np.searchsorted(ids, chunk.rows["trial_id"].to_numpy())
    columns["status"] = pa.DictionaryArray.from_arrays(
        pa.array(statuses[places]), pa.array(STATUSES)
    )
    columns |= {name: chunk.rows[name] for name in chunk.rows.column_names[1:]}
    schema = view_schema()
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _repeated(value: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([value]))


def _chunks(connection: duckdb.DuckDBPyConnection, studies: Iterable[HeldStudy]) -> Iterator[Chunk]:
    for study in studies:
        for number, trials in enumerate(_groups(trials_of(connection, study))):
            first, last = (trials[0].trial_id, trials[-1].trial_id) if trials else (0, -1)
            rows = measurements_of(connection, study, first, last)
            yield Chunk(study, trials, rows, number == 0)


def _groups(trials: Sequence[HeldTrial]) -> Iterator[list[HeldTrial]]:
    """Trials whose measurements are read together; an empty group where there are none."""
    group: list[HeldTrial] = []
    rows = 0
    for trial in trials:
        if group and rows + trial.measurements > _ROWS_AT_ONCE:
            yield group
            group, rows = [], 0
        group.append(trial)
        rows += trial.measurements
    yield group


def _ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """The items, each of which is made while the one before it is used."""
    with ThreadPoolExecutor(1) as worker:
        pending = worker.submit(next, items, None)
        while (item := pending.result()) is not None:
            pending = worker.submit(next, items, None)
            yield item
