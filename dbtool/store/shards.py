"""Reads one shard and refuses it, with its reason, unless everything about it is in contract."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.errors import DbtoolError
from dbtool.store.contract import (
    OTHER_METRICS,
    ShardName,
    optional_columns,
    parse_shard_name,
    shard_name,
    shard_schema,
)
from dbtool.store.metadata import MetadataError, Study, Trial, parse_metadata
from dbtool.store.other_metrics import check_other_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BATCH_ROWS = 1 << 17


class ShardError(DbtoolError):
    """A shard is out of contract.

    Attributes:
        path: the shard.
        reason: what is wrong with it, such as "its trials are not sorted by step".
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is refused: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard that is in contract.

    Attributes:
        path: where it lies.
        sha256: the hex digest of the whole file.
        study: the study its rows belong to.
        trials: its trials, sorted by trial_id.
        producer: versions, device and git revision of what wrote it.
        trial_rows: rows of each trial, in the order of `trials`.
        optional: the optional columns that it has.
    """

    path: Path
    sha256: str
    study: Study
    trials: tuple[Trial, ...]
    producer: dict[str, Any]
    trial_rows: tuple[int, ...]
    optional: frozenset[str]

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return sum(self.trial_rows)


def read_shard(path: Path) -> Shard:
    """Reads every byte of a shard and checks it against the contract.

    Raises:
        ShardError: its name, digest, footer, metadata, columns or rows are out of contract.
    """
    try:
        name, sha256 = _check_name(path)
        with pq.ParquetFile(path) as file:
            study, trials, producer = _footer(file)
            ids, rows, last_steps = _check_rows(file)
            optional = optional_columns() & set(file.schema_arrow.names)
        trials = tuple(sorted(trials, key=lambda trial: trial["trial_id"]))
        _check_trials(name, study, trials, ids, last_steps)
    except MetadataError as error:
        raise ShardError(path, str(error)) from error
    except (pa.ArrowException, OSError) as error:
        raise ShardError(path, _reading_failed(error)) from error
    return Shard(path, sha256, study, trials, producer, rows, optional)


def read_study(path: Path) -> Study:
    """The study that a shard's footer names, with nothing else checked.

    Raises:
        ShardError: the footer cannot be read or is out of contract.
    """
    try:
        with pq.ParquetFile(path) as file:
            return _footer(file)[0]
    except MetadataError as error:
        raise ShardError(path, str(error)) from error
    except (pa.ArrowException, OSError) as error:
        raise ShardError(path, _reading_failed(error)) from error


def read_rows(path: Path, optional: frozenset[str] = frozenset()) -> Iterator[pa.RecordBatch]:
    """The rows of a shard that is in contract, in batches.

    Args:
        path: the shard.
        optional: the optional columns to read; one that the shard lacks is null throughout.

    Yields:
        [rows] `shard_schema(optional)`.
    """
    schema = shard_schema(optional)
    with pq.ParquetFile(path) as file:
        held = [name for name in schema.names if name in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=held):
            columns = [
                batch.column(field.name) if field.name in held else pa.nulls(len(batch), field.type)
                for field in schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def read_values(path: Path, metric: str) -> pa.Table:
    """The rows of a shard in contract that have a value of a metric: often one in hundreds.

    Returns:
        [rows] trial_id, step and the metric; without the metric where the shard has no such column.
    """
    with pq.ParquetFile(path) as file:
        if metric not in file.schema_arrow.names:
            return pa.table({"trial_id": [], "step": []})
        wanted = ["trial_id", "step", metric]
        schema = pa.schema([file.schema_arrow.field(name) for name in wanted])
        batches = file.iter_batches(batch_size=_BATCH_ROWS, columns=wanted)
        found = [batch.filter(batch.column(metric).is_valid()) for batch in batches]
    return pa.Table.from_batches(found, schema=schema)


def _reading_failed(error: Exception) -> str:
    """One clause for an error of pyarrow's or of the system's."""
    if isinstance(error, OSError) and error.strerror:
        return f"it cannot be read ({error.strerror})"
    return "it is not a readable Parquet file"


def _check_name(path: Path) -> tuple[ShardName, str]:
    """What the name says, and the digest of the file, which must agree with it.

    Raises:
        MetadataError: the name is no shard's, or the file is not the one it was given to.
    """
    name = parse_shard_name(path.name)
    if name is None:
        raise MetadataError("its name is not trials-FIRST-LAST-DIGEST.parquet")
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if not sha256.startswith(name.digest):
        raise MetadataError(
            "its contents do not match the digest in its name: it was cut short, altered or renamed"
        )
    return name, sha256


def _footer(file: pq.ParquetFile) -> tuple[Study, tuple[Trial, ...], dict[str, Any]]:
    """The metadata of a file whose columns are the contract's.

    Raises:
        MetadataError: metadata or columns are out of contract.
    """
    parsed = parse_metadata(file.metadata.metadata or {})
    columns = [(field.name, field.type) for field in file.schema_arrow]
    schema = shard_schema(optional_columns() & {name for name, _ in columns})
    wanted = [(field.name, field.type) for field in schema]
    if columns != wanted:
        raise MetadataError(_column_difference(columns, wanted))
    return parsed


def _column_difference(
    columns: list[tuple[str, pa.DataType]], wanted: list[tuple[str, pa.DataType]]
) -> str:
    """The first way in which columns differ from the contract's."""
    names = [name for name, _ in columns]
    if missing := [name for name, _ in wanted if name not in names]:
        return f"it has no column {missing[0]}"
    if extra := [name for name in names if name not in dict(wanted)]:
        return f"it has a column {extra[0]}, which the contract does not name"
    if names != [name for name, _ in wanted]:
        return "its columns are not in the contract's order"
    name, found, right = next(
        (name, found, right)
        for (name, found), (_, right) in zip(columns, wanted, strict=True)
        if found != right
    )
    return f"its column {name} is {found} and not {right}"


def _check_rows(file: pq.ParquetFile) -> tuple[list[int], tuple[int, ...], list[int]]:
    """Checks the keys of all rows and decodes every column.

    Returns:
        Trial ids in order; the rows of each; the last step of each.

    Raises:
        MetadataError: a key is null or negative, rows are unsorted or repeated, or other_metrics
            are out of contract.
    """
    ids: list[int] = []
    rows: list[int] = []
    last_steps: list[int] = []
    for batch in file.iter_batches(batch_size=_BATCH_ROWS):
        batch.validate(full=True)
        if OTHER_METRICS in batch.schema.names:
            check_other_metrics(batch.column(OTHER_METRICS))
        for name in ("trial_id", "step"):
            if batch.column(name).null_count:
                raise MetadataError(f"its column {name} holds a null")
        trial_id, step = (batch.column(name).to_numpy() for name in ("trial_id", "step"))
        if ids:
            trial_id = np.concatenate(([ids[-1]], trial_id))
            step = np.concatenate(([last_steps[-1]], step))
        _check_order(trial_id, step)
        starts = np.flatnonzero(np.diff(trial_id)) + 1
        ends = np.append(starts, len(trial_id))
        counts = np.diff(ends, prepend=0)
        if ids:
            # The first run goes on with the trial that the batch before ended in.
            rows[-1] += int(counts[0]) - 1
            last_steps[-1] = int(step[ends[0] - 1])
            ends, counts = ends[1:], counts[1:]
        ids.extend(trial_id[ends - 1].tolist())
        rows.extend(counts.tolist())
        last_steps.extend(step[ends - 1].tolist())
    if not ids:
        raise MetadataError("it has no rows")
    return ids, tuple(rows), last_steps


def _check_order(trial_id: np.ndarray, step: np.ndarray) -> None:
    """Refuses rows that are not sorted by trial and step, one a step.

    Args:
        trial_id: [rows] int32 or int64.
        step: [rows] int64, updates.

    Raises:
        MetadataError: they are not, or a key is negative.
    """
    if trial_id.min() < 0 or step.min() < 0:
        raise MetadataError("it has a negative trial_id or step")
    trial_change, step_change = np.diff(trial_id), np.diff(step)
    wrong = (trial_change < 0) | ((trial_change == 0) & (step_change <= 0))
    if not wrong.any():
        return
    at = int(wrong.argmax())
    if trial_change[at] < 0:
        reason = f"trial {trial_id[at + 1]} comes after trial {trial_id[at]}"
    elif step_change[at] == 0:
        reason = f"trial {trial_id[at]} has step {step[at]} twice"
    else:
        reason = f"trial {trial_id[at]} has step {step[at + 1]} after step {step[at]}"
    raise MetadataError(f"its rows are not sorted by trial_id and step, one a step: {reason}")


def _check_trials(
    name: ShardName, study: Study, trials: tuple[Trial, ...], ids: list[int], last_steps: list[int]
) -> None:
    """Checks that the rows are those of the trials listed, and the trials those of the name.

    Args:
        name: what the file's name says.
        study: the study; a COMPLETE trial took its train_steps.
        trials: the trials listed, sorted by trial_id.
        ids: the trials that have rows, sorted.
        last_steps: the last step of each of `ids` that has a row.

    Raises:
        MetadataError: they do not agree.
    """
    listed = [trial["trial_id"] for trial in trials]
    if without := sorted(set(listed) - set(ids)):
        raise MetadataError(f"trial {without[0]} has no rows")
    if unlisted := sorted(set(ids) - set(listed)):
        raise MetadataError(f"it has rows of trial {unlisted[0]}, which its metadata does not list")
    if (name.first, name.last) != (ids[0], ids[-1]):
        right = shard_name(ids[0], ids[-1], name.digest)
        raise MetadataError(f"its trials are not those of its name, which should be {right}")
    for trial, last in zip(trials, last_steps, strict=True):
        what = f"{trial['status']} trial {trial['trial_id']}"
        if last > trial["steps"]:
            raise MetadataError(
                f"{what} has rows up to step {last}, after its last step {trial['steps']}"
            )
        if trial["status"] == "COMPLETE" and trial["steps"] < study["train_steps"]:
            raise MetadataError(
                f"{what} took {trial['steps']} steps, "
                f"fewer than the study's train_steps {study['train_steps']}"
            )
