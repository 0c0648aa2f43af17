"""The rows of a shard: all its columns, and checks of them against its footer."""

from collections.abc import Mapping
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa

from dbtool.core.contract import CONSTANTS, OTHER_METRICS, column_names, shard_schema
from dbtool.core.footer import STATUSES, Footer, FooterError, plain
from dbtool.core.parquet import require_sound

_OTHER_METRICS = msgspec.json.Decoder(dict[str, float | Literal["nan", "inf", "-inf"]])


class Rows:
    """The rows of a shard as they arrive, checked against its footer, and their counts by trial."""

    def __init__(self, footer: Footer) -> None:
        study, trials = footer.study, footer.trials
        self._footer = footer
        self._constants = {
            name: getattr(study if name == "batch_size" else study.workload, name)
            for name in CONSTANTS
        }
        self._listed = np.array([trial.trial_id for trial in trials])
        self._statuses = np.array([STATUSES.index(trial.status) for trial in trials], np.int32)
        self._steps = np.array([trial.steps for trial in trials])
        self.counts = np.zeros(len(self._listed), np.int64)
        self._last = (-1, -1)

    def complete(self, table: pa.Table) -> pa.Table:
        """Check the next rows, or raise a FooterError; return them with all columns of a shard."""
        position = self._add(table)
        columns = []
        for field in written_schema():
            value = self._constants.get(field.name)
            if isinstance(value, str):
                zeros = np.zeros(len(table), np.int32)
                columns.append(pa.DictionaryArray.from_arrays(zeros, pa.array([value])))
            elif value is not None:
                columns.append(pa.array(np.full(len(table), value), field.type))
            elif field.name == "status":
                status = self._statuses[position]
                columns.append(pa.DictionaryArray.from_arrays(status, pa.array(STATUSES)))
            elif field.name in table.column_names:
                columns.append(_cast(table[field.name], field))
            else:
                columns.append(pa.nulls(len(table), field.type))
        return pa.table(columns, schema=written_schema())

    def check(self, table: pa.Table) -> None:
        """Check the next rows with all columns of a shard, or raise a FooterError."""
        require_sound(table)
        for name, value in self._constants.items():
            if table[name].null_count or not set(table[name].unique().to_pylist()) <= {value}:
                raise FooterError(f"its column {name} is not {value!r} throughout")
        keys = ["trial_id", "status"]
        pairs = table.select(keys).group_by(keys, use_threads=False).aggregate([])
        found = dict(zip(pairs["trial_id"].to_pylist(), pairs["status"].to_pylist(), strict=True))
        listed = {trial.trial_id: trial.status for trial in self._footer.trials}
        for trial, status in found.items():
            if listed.get(trial, status) != status or len(pairs) != len(found):
                reason = f"trial {trial} has another status in its rows than in its footer"
                raise FooterError(reason)
        _check_other_metrics(table[OTHER_METRICS])
        self._add(table)

    def _add(self, table: pa.Table) -> np.ndarray:
        """Check the keys of the next rows; return the position of each row's trial."""
        for name in ("trial_id", "step"):
            if name not in table.column_names:
                raise FooterError(f"it has no column {name}")
            if not pa.types.is_integer(table[name].type):
                raise FooterError(
                    f"its column {name} is of type {table[name].type}, and should be whole numbers"
                )
            if table[name].null_count:
                raise FooterError(f"its column {name} holds a null")
        trial: np.ndarray = table["trial_id"].to_numpy()
        step: np.ndarray = table["step"].to_numpy()
        if not len(trial):
            return trial
        self._check_order(np.append(self._last[0], trial), np.append(self._last[1], step))
        position: np.ndarray = np.searchsorted(self._listed, trial)
        unlisted = self._listed[np.minimum(position, len(self._listed) - 1)] != trial
        if unlisted.any():
            raise FooterError(f"it has rows of trial {trial[unlisted][0]}, which it does not list")
        late = step > self._steps[position]
        if late.any():
            at = position[late][0]
            raise FooterError(
                f"trial {self._listed[at]} has a row of step {step[late][0]}, after its last, "
                f"{self._steps[at]}"
            )
        self.counts += np.bincount(position, minlength=len(self.counts))
        self._last = int(trial[-1]), int(step[-1])
        return position

    def end(self) -> None:
        """Raise a FooterError where the number of rows of a trial differs from the footer."""
        for trial, count in zip(self._footer.trials, self.counts.tolist(), strict=True):
            if trial.measurements != count:
                raise FooterError(
                    f"trial {trial.trial_id} has {count:,} rows and its footer says "
                    f"{trial.measurements:,}"
                )

    def _check_order(self, trial: np.ndarray, step: np.ndarray) -> None:
        """Check that rows, after that of the row before, are sorted by trial and step."""
        if step[1:].min() < 0:
            raise FooterError("it has a negative step")
        trial_change, step_change = np.diff(trial), np.diff(step)
        least = 0 if self._footer.repeated_steps else 1
        wrong = (trial_change < 0) | ((trial_change == 0) & (step_change < least))
        if wrong.any():
            at = int(wrong.argmax())
            raise FooterError(
                "its rows are not sorted by trial_id and step: "
                f"trial {trial[at + 1]}, step {step[at + 1]} comes after "
                f"trial {trial[at]}, step {step[at]}"
            )


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FooterError(
            f"its column {field.name} is of type {column.type}, and should be {field.type}"
        ) from error


def with_other_metrics(columns: Mapping[str, pa.Array]) -> pa.Table:
    """Return the rows of a shard, with metrics that lack their own column in other_metrics."""
    known = {name: values for name, values in columns.items() if name in column_names()}
    if others := {name: values for name, values in columns.items() if name not in known}:
        known[OTHER_METRICS] = _as_objects(others)
    return pa.table(known)


def _as_objects(columns: Mapping[str, pa.Array]) -> pa.Array:
    """Return a JSON object of metrics for each row; null where all are missing."""
    there = {name: column.is_valid().to_numpy(False) for name, column in columns.items()}
    objects: list[str | None] = [None] * len(next(iter(columns.values())))
    for row in np.flatnonzero(np.logical_or.reduce(list(there.values()))).tolist():
        found = {name: plain(columns[name][row].as_py()) for name in columns if there[name][row]}
        objects[row] = msgspec.json.encode(found, order="sorted").decode()
    return pa.array(objects, pa.string())


def written_schema() -> pa.Schema:
    """Return the schema of a shard, with dictionary columns for names that repeat in every row."""
    return pa.schema(
        [
            pa.field(field.name, pa.dictionary(pa.int32(), pa.string()), nullable=field.nullable)
            if field.name in (*CONSTANTS, "status") and pa.types.is_string(field.type)
            else field
            for field in shard_schema()
        ]
    )


def _check_other_metrics(column: pa.ChunkedArray) -> None:
    """Check that each value is an object of numbers, without a metric that has its own column."""
    for text in column.unique().drop_null().to_pylist():
        try:
            metrics = _OTHER_METRICS.decode(text)
        except msgspec.MsgspecError as error:
            raise FooterError(f"its column {OTHER_METRICS} holds more than numbers") from error
        if own := metrics.keys() & set(column_names()):
            raise FooterError(f"its column {OTHER_METRICS} holds {min(own)}, which has a column")
