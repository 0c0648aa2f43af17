"""Reads the values of runs from the files, in whatever order and format they come."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dbtool.core.contract import KEYS, OTHER_METRICS, metric_columns
from dbtool.sources.numbers import whole_number
from dbtool.sources.own_runs.mapping import Metric, StepColumn, file_name_pattern
from dbtool.sources.own_runs.records import (
    Record,
    RunsError,
    among,
    listed,
    read_document,
    read_records,
    shown,
)
from dbtool.sources.own_runs.transforms import transformed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from dbtool.sources.own_runs.mapping import RunMapping
    from dbtool.sources.own_runs.records import Kind, Problems

_SHARES = tuple(
    name
    for name in metric_columns()
    if name.endswith(("classification_error", "average_precision"))
)
# Names that no metric may have.
_TAKEN = {*KEYS, OTHER_METRICS}
_KEYS = ["run", "metric", "step"]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the files.

    Attributes:
        name: the tool's.
        number: its position among the runs.
        first: the record that first names it.
        columns: by the columns that properties are read from, the first record that has them.
    """

    name: str
    number: int
    first: Record
    columns: dict[str, Record] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Files:
    """What the files hold.

    Attributes:
        runs: in the order in which they are first named.
        values: run (its number), metric, step, value; sorted, each step once.
        columns: the columns of the files, and the parts of their names.
        unit: steps of `values` in one step of the files.
        of_rows: columns that name runs and have another value in each row; none where some run has
            two.
    """

    runs: Sequence[Run]
    values: pl.DataFrame
    columns: frozenset[str]
    unit: int
    of_rows: tuple[str, ...]


def read_files(
    paths: Sequence[Path],
    kind: Kind,
    mapping: RunMapping,
    problems: Problems,
    on_progress: Callable[[int, int], None],
) -> Files:
    """Reads files as a mapping says.

    Args:
        paths: the files; they may hold parts of the same runs.
        kind: their format.
        mapping: what stands in them.
        on_progress: called after each file with the number that is read and that of all.
        problems: takes what is wrong: a file is malformed or does not hold what the mapping says.
    """
    reader = _Reader(paths, mapping, problems)
    for number in range(len(paths)):
        reader.read(number, kind)
        on_progress(number + 1, len(paths))
    return reader.files()


class _Reader:
    """What has been read so far."""

    def __init__(self, paths: Sequence[Path], mapping: RunMapping, problems: Problems) -> None:
        self._paths = paths
        self._mapping = mapping
        self._problems = problems
        # How many files were read to their end.
        self._read = 0
        files = mapping.files
        self._name = None if files.name is None else file_name_pattern(files.name)
        parts = set() if self._name is None else self._name.groupindex.keys()
        self._run_columns = listed(files.run) or (["run"] if "run" in parts else [])
        if not self._run_columns and files.metric not in parts:
            with problems:
                self._refuse_one_name()
        step = files.step if isinstance(files.step, StepColumn) else StepColumn(files.step)
        self._step_column = step.column
        self._plus = step.plus
        # Of a column, each run has its own, which is looked at later.
        self._times = step.times if isinstance(step.times, int) else 1
        structure = {*self._run_columns, step.column, files.metric, files.value, *parts}
        self._no_metrics = structure | mapping.property_columns
        self._columns: set[str] = set(parts)
        self._runs: dict[str, Run] = {}
        # What the run's columns said of each run.
        self._keys: dict[str, list[str]] = {}
        # By column, or metric of the long format, what it is; None: not taken.
        self._metrics: dict[str, Metric | None] = {}
        self._numbers: dict[str, int] = {}
        # Of each value the numbers of its run, metric, step, file and line.
        self._positions = array("q")
        self._values = array("d")

    def read(self, file: int, kind: Kind) -> None:
        """Adds what a file holds."""
        path = self._paths[file]
        from_name: dict[str, str] = {}
        with self._problems:
            if self._name is not None:
                parts = self._name.fullmatch(path.resolve().as_posix())
                if parts is None:
                    wanted = self._mapping.files.name
                    raise RunsError(f"{path} is not named as the mapping says, {wanted}")
                from_name = parts.groupdict()
            beside = self._beside(path)
            known: set[int] = set()
            for record in read_records(path, kind, self._columns):
                record.fields.update(from_name)
                # Cheaper than a block of `with` a row and a value.
                try:
                    run = self._run(record)
                    if run.number not in known:
                        known.add(run.number)
                        for each in beside:
                            self._keep(run, each)
                    self._add(run, record, file)
                except RunsError as error:
                    self._problems.add(error)
            self._read += 1

    def files(self) -> Files:
        """What all files hold."""
        # Metrics of the long format are known from sound rows alone.
        is_long = self._mapping.files.metric is not None
        if self._read == len(self._paths) and not (is_long and self._problems):
            self._refuse_missing(is_long=is_long)
        positions = np.frombuffer(self._positions, np.int64).reshape(-1, 5)
        values = pl.DataFrame(positions, [*_KEYS, "file", "line"]).with_columns(
            pl.Series(list(self._numbers), dtype=pl.String).gather(positions[:, 1]).alias("metric"),
            pl.Series("value", np.frombuffer(self._values)),
        )
        values = values.sort(_KEYS, maintain_order=True)
        repeated = self._mapping.files.repeated_steps
        if repeated == "refuse" and not self._problems:
            self._refuse_repeated(values)
        kept = values.unique(
            _KEYS, keep="last" if repeated == "last" else "first", maintain_order=True
        )
        return Files(
            list(self._runs.values()),
            kept.drop("file", "line"),
            frozenset(self._columns - {""}),
            self._times,
            self._of_rows(kept),
        )

    def _of_rows(self, values: pl.DataFrame) -> tuple[str, ...]:
        runs = len(self._runs)
        if runs <= 1 or values.select("run", "step").n_unique() > runs:
            return ()
        values_of = zip(*self._keys.values(), strict=True)
        found = zip(self._run_columns, values_of, strict=True)
        return tuple(column for column, given in found if len(set(given)) == runs)

    def _beside(self, path: Path) -> list[Record]:
        """What the files beside a file say; one that is not there says nothing."""
        there = [path.parent / name for name in self._mapping.files.beside]
        return [read_document(each, self._columns) for each in there if each.exists()]

    def _keep(self, run: Run, record: Record) -> None:
        """Keeps a record for the properties that it holds of a run."""
        for column in self._mapping.property_columns & record.fields.keys():
            first = run.columns.setdefault(column, record)
            if first.fields[column] != record.fields[column]:
                raise record.error(
                    column,
                    f"run {shown(run.name)} has {shown(record.fields[column])}, and had "
                    f"{shown(first.fields[column])} at {first}; what the mapping reads from it is "
                    "one value a run",
                )

    def _add(self, run: Run, record: Record, file: int) -> None:
        self._keep(run, record)
        measured = [
            (column, metric, text)
            for column, text in self._fields(record)
            if (metric := self._metric(column, record)) is not None
        ]
        if measured:
            step = self._step(record)
            for column, metric, text in measured:
                try:
                    self._values.append(self._value(metric, text, column, record))
                except RunsError as error:
                    self._problems.add(error)
                    continue
                number = self._numbers.setdefault(metric.name, len(self._numbers))
                self._positions.extend((run.number, number, step, file, record.line))

    def _run(self, record: Record) -> Run:
        keys = [self._field(record, column) for column in self._run_columns]
        name = "/".join(keys) if keys else record.path.stem
        if name not in self._runs:
            self._runs[name] = Run(name, len(self._runs), record)
            self._keys[name] = keys
        elif self._keys[name] != keys:
            reason = f"{' and '.join(map(shown, keys))} would be one run with "
            raise record.error(None, reason + " and ".join(map(shown, self._keys[name])))
        return self._runs[name]

    def _field(self, record: Record, column: str) -> str:
        """What a record says in a column that it must have."""
        if column in record.fields:
            return record.fields[column]
        if column in self._columns:
            raise record.error(column, "it is empty")
        closest = among(column, record.fields)
        raise record.error(None, f"there is no column {shown(column)}; closest: {closest}")

    def _fields(self, record: Record) -> list[tuple[str, str]]:
        """The fields that may be values, each with the name of its column or metric."""
        files = self._mapping.files
        if files.metric is None or files.value is None:
            return [each for each in record.fields.items() if each[0] not in self._no_metrics]
        name = self._field(record, files.metric)
        if files.value not in record.fields and files.value in self._columns:
            return []
        return [(name, self._field(record, files.value))]

    def _metric(self, column: str, record: Record) -> Metric | None:
        """What a column, or a metric of the long format, is; None where it is not to be taken."""
        if column not in self._metrics:
            mapped = self._mapping.metric_of
            metric = mapped.get(column)
            if metric is None and not self._mapping.ignores(column):
                metric = Metric(column)
                if column in _TAKEN or column in {each.name for each in mapped.values()}:
                    reason = f"the database has another {column}: "
                    raise record.error(column, reason + "rename it, or name it in files.ignore")
            self._metrics[column] = metric
        return self._metrics[column]

    def _step(self, record: Record) -> int:
        text = self._field(record, self._step_column)
        step = whole_number(text, self._times)
        if step is not None:
            step += self._plus * self._times
        if step is None or not 0 <= step < 2**63:
            multiplied = f" times {self._times}" if self._times != 1 else ""
            reason = f"{shown(text)}{multiplied} is no step, a whole number from 0"
            raise record.error(self._step_column, reason)
        return step

    def _value(self, metric: Metric, text: str, column: str, record: Record) -> float:
        value = transformed(text, metric.transform, float32=self._mapping.files.float32)
        if value is None:
            reason = f"{shown(text)} is no number; name what is no metric in files.ignore"
            raise record.error(column, reason)
        if metric.name in _SHARES and math.isfinite(value) and not 0 <= value <= 1:
            became = f" (as {metric.name} {value:g})" if metric.transform else ""
            reason = f"{shown(text)}{became} is not a share from 0 to 1; "
            raise record.error(column, reason + 'give the column a transform such as "x / 100"')
        return value

    def _refuse_one_name(self) -> None:
        """Refuses files of one name where each file is a run."""
        first: dict[str, Path] = {}
        for path in self._paths:
            if first.setdefault(path.stem, path) is not path:
                raise RunsError(
                    f"{first[path.stem]} and {path} would both be run {shown(path.stem)}: say "
                    'which column names the run, as files.run = "…", or files.name = "{run}/…"'
                )

    def _refuse_missing(self, *, is_long: bool) -> None:
        # A column that is there and empty throughout is no mistake.
        known = {*self._metrics, *(() if is_long else self._columns)} - {""}
        for source, metric in self._mapping.metric_of.items():
            if source not in known:
                kind = "metric" if is_long else "column"
                self._problems.add(
                    RunsError(
                        f"the files have no {kind} {shown(source)}, which metrics.{metric.name} of "
                        f"the mapping names; closest: {among(source, known)}"
                    )
                )

    def _refuse_repeated(self, values: pl.DataFrame) -> None:
        """Refuses a step with two values of a metric; equal ones are one."""
        first = values.unique(_KEYS, keep="first", maintain_order=True)
        others = values.join(first, on=_KEYS, suffix="_first", maintain_order="left")
        for row in others.filter(pl.col("value") != pl.col("value_first")).to_dicts():
            before = Record(self._paths[row["file_first"]], row["line_first"])
            column = next(
                name
                for name, metric in self._metrics.items()
                if metric and metric[0] == row["metric"]
            )
            reason = f"step {row['step']:,} is there with another value at {before}; "
            reason += "name every column that tells runs apart in files.run, or choose one with "
            reason += 'files.repeated_steps = "first" or "last"'
            self._problems.add(Record(self._paths[row["file"]], row["line"]).error(column, reason))
