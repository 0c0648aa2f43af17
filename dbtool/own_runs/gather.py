"""Gathers the values of each run from the files, in whatever order and format they come."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dbtool.own_runs.errors import Place, RunsError, among, at, shown
from dbtool.own_runs.mapping import Metric
from dbtool.own_runs.numbers import turned, whole_number
from dbtool.own_runs.records import read_records
from dbtool.store.contract import metric_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from dbtool.own_runs.mapping import RunMapping
    from dbtool.own_runs.records import Kind, Record

_LINE_BITS = 40
_SHARES = ("classification_error", "average_precision")
# Names that other_metrics may not hold.
_TAKEN = {"trial_id", "step"}


@dataclass(slots=True)
class Series:
    """The values of one metric of a run, in the order of the files.

    Attributes:
        steps: [values] updates.
        values: [values] as the database holds them.
        places: [values] the file's number and the line.
    """

    steps: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    places: array[int] = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class Run:
    """One run of the files.

    Attributes:
        name: the tool's.
        place: where the files first name it.
        columns: what the columns say that properties are read from, each with its place.
        series: its metrics by the names that the database has for them.
    """

    name: str
    place: Place
    columns: dict[str, tuple[str, Place]] = field(default_factory=dict)
    series: dict[str, Series] = field(default_factory=dict)

    def multiply_steps(self, times: int) -> None:
        """Turns what was counted in something else into updates.

        Args:
            times: updates in one of what was counted, such as an epoch.

        Raises:
            RunsError: it is none, or there are too many.
        """
        if times == 1:
            return
        last = max(series.steps[-1] for series in self.series.values())
        if times < 1 or last * times >= 2**63:
            reason = f"run {shown(self.name)} has {times} steps in each of {last}"
            raise at(self.place, None, reason)
        for series in self.series.values():
            series.steps = array("q", [step * times for step in series.steps])


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the files hold.

    Attributes:
        runs: by name, in the order in which they are first named.
        other_metrics: the names of those that the mapping does not name.
        columns: the columns of the files, and the parts of their names.
    """

    runs: Mapping[str, Run]
    other_metrics: tuple[str, ...]
    columns: frozenset[str]


def gather(
    paths: Sequence[Path],
    kind: Kind,
    mapping: RunMapping,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Gathered:
    """Reads files as a mapping says.

    Args:
        paths: the files; they may hold parts of the same runs.
        kind: their format.
        mapping: what stands in them.
        on_progress: called after each file with the number that is read and that of all.

    Raises:
        RunsError: a file is malformed or does not hold what the mapping says.
    """
    _check_names(paths, mapping)
    gatherer = _Gatherer(paths, mapping)
    for number, path in enumerate(paths):
        gatherer.read(number, path, kind)
        on_progress(number + 1, len(paths))
    return gatherer.result()


def _check_names(paths: Sequence[Path], mapping: RunMapping) -> None:
    """Refuses files of one name where each file is a run.

    Raises:
        RunsError: there are such files.
    """
    parts = mapping.names.names if mapping.names is not None else []
    if mapping.run is not None or "run" in parts or (mapping.tag and mapping.tag in parts):
        return
    first: dict[str, Path] = {}
    for path in paths:
        if path.stem in first:
            raise RunsError(
                f"{first[path.stem]} and {path} would both be run {shown(path.stem)}: say under "
                '[files] which column names the run, as run = "…", or name = "{run}/…"'
            )
        first[path.stem] = path


class _Gatherer:
    """The runs so far."""

    def __init__(self, paths: Sequence[Path], mapping: RunMapping) -> None:
        self._paths = paths
        self._mapping = mapping
        self._runs: dict[str, Run] = {}
        self._seen: set[str] = set()
        self._metrics: dict[str, Metric | None] = {}
        structure = {mapping.run, mapping.step, mapping.tag, mapping.value}
        named = set(mapping.names.names) if mapping.names is not None else set()
        self._no_metrics = structure | named | mapping.property_columns

    def read(self, number: int, path: Path, kind: Kind) -> None:
        """Adds what a file holds."""
        said = self._said_by_name(path)
        self._seen.update(said)
        for line, record in read_records(path, kind, self._seen):
            self._add(number, line, {**record, **said})

    def result(self) -> Gathered:
        """What all files hold."""
        self._check_seen()
        for run in self._runs.values():
            for name, series in run.series.items():
                run.series[name] = self._sorted(name, series)
        others = (
            metric.name
            for source, metric in self._metrics.items()
            if metric is not None and source not in self._mapping.metrics
        )
        unnamed = tuple(sorted(set(others) - set(metric_columns())))
        return Gathered(self._runs, unnamed, frozenset(self._seen - {""}))

    def _said_by_name(self, path: Path) -> dict[str, str]:
        names = self._mapping.names
        if names is None:
            return {}
        parts = names.parts(path.resolve().as_posix())
        if parts is None:
            raise RunsError(f"{path} is not named as the mapping says, {names.pattern}")
        return parts

    def _add(self, number: int, line: int, record: Record) -> None:
        place = Place(self._paths[number], line)
        run = self._run(record, place)
        for column in self._mapping.property_columns & record.keys():
            self._note(run, column, record[column], place)
        if self._mapping.tag is not None:
            found = self._long(record, place)
        else:
            found = [(name, text) for name, text in record.items() if name not in self._no_metrics]
        measured = [
            (name, metric, text) for name, text in found if (metric := self._metric(name, place))
        ]
        if not measured:
            return
        step = self._step(record, place)
        for name, metric, text in measured:
            series = run.series.get(metric.name)
            if series is None:
                series = run.series[metric.name] = Series()
            series.steps.append(step)
            series.values.append(self._value(metric, text, name, place))
            series.places.append(number << _LINE_BITS | line)

    def _run(self, record: Record, place: Place) -> Run:
        column = self._mapping.run
        if column is not None:
            name = self._cell(record, column, place)
        else:
            names = self._mapping.names
            name = record["run"] if names and "run" in names.names else place.path.stem
        run = self._runs.get(name)
        if run is None:
            run = self._runs[name] = Run(name, place)
        return run

    def _cell(self, record: Record, column: str, place: Place) -> str:
        try:
            return record[column]
        except KeyError:
            pass
        if column in self._seen:
            raise at(place, column, "it is empty")
        raise at(
            place, None, f"there is no column {shown(column)}; closest: {among(column, record)}"
        )

    @staticmethod
    def _note(run: Run, column: str, text: str, place: Place) -> None:
        """Keeps what a column says of a run, which is the same throughout."""
        held = run.columns.get(column)
        if held is None:
            run.columns[column] = text, place
        elif held[0] != text:
            raise at(
                place,
                column,
                f"run {shown(run.name)} has {shown(text)}, and had {shown(held[0])} at {held[1]}; "
                "what the mapping reads from it is one value a run",
            )

    def _long(self, record: Record, place: Place) -> list[tuple[str, str]]:
        tag, value = self._mapping.tag, self._mapping.value
        assert tag is not None  # noqa: S101 (the long format has both)
        assert value is not None  # noqa: S101
        name = self._cell(record, tag, place)
        if value not in record:
            if value not in self._seen:
                self._cell(record, value, place)
            return []
        return [(name, record[value])]

    def _metric(self, name: str, place: Place) -> Metric | None:
        """What a column or tag is; None where it is not to be taken."""
        try:
            return self._metrics[name]
        except KeyError:
            pass
        metric = self._mapping.metrics.get(name)
        if metric is None and not self._mapping.ignores(name):
            metric = Metric(name)
            if name in _TAKEN or name in {mapped.name for mapped in self._mapping.metrics.values()}:
                reason = (
                    f"the database has another {name}: rename it, or name it under [files] ignore"
                )
                raise at(place, name, reason)
        self._metrics[name] = metric
        return metric

    def _step(self, record: Record, place: Place) -> int:
        column, times = self._mapping.step, self._mapping.step_times or 1
        text = self._cell(record, column, place)
        step = whole_number(text, times)
        if step is None or step < 0:
            multiplied = f" times {times}" if times != 1 else ""
            reason = f"{shown(text)}{multiplied} is no step, a whole number from 0"
            raise at(place, column, reason)
        return step

    def _value(self, metric: Metric, text: str, name: str, place: Place) -> float:
        value = turned(text, metric.transform, float32=self._mapping.float32)
        if value is None:
            reason = f"{shown(text)} is no number; what is no metric goes under [files] ignore"
            raise at(place, name, reason)
        if not (0 <= value <= 1) and np.isfinite(value) and metric.name.endswith(_SHARES):
            as_ours = f" (as {metric.name} {value:g})" if metric.transform else ""
            wanted = 'a share from 0 to 1; give the column a transform such as "x / 100"'
            if metric.name in metric_columns():
                raise at(place, name, f"{shown(text)}{as_ours} is not {wanted}")
        return value

    def _check_seen(self) -> None:
        """Refuses a mapping that names what no file has."""
        missing = [name for name in self._mapping.metrics if name not in self._metrics]
        if missing:
            # A column that is there and empty throughout is no mistake.
            known = {*self._metrics, *(() if self._mapping.tag else self._seen)} - {""}
            missing = [name for name in missing if name not in known]
        if missing:
            kind = "metric" if self._mapping.tag is not None else "column"
            files = self._paths[0] if len(self._paths) == 1 else f"{len(self._paths)} files"
            raise RunsError(
                f"{files}: there is no {kind} {shown(missing[0])}, which [metrics] of "
                f"{self._mapping.path} names; closest: {among(missing[0], known)}"
            )

    def _sorted(self, name: str, series: Series) -> Series:
        """A series by step, each step once."""
        steps = np.frombuffer(series.steps, np.int64)
        values = np.frombuffer(series.values, np.float64)
        order = np.argsort(steps, kind="stable")
        steps, values = steps[order], values[order]
        again = np.flatnonzero(steps[1:] == steps[:-1])
        if not len(again):
            return Series(array("q", steps.tobytes()), array("d", values.tobytes()))
        if self._mapping.repeated_steps == "refuse":
            for first in again.tolist():
                if (
                    values[first : first + 2].tobytes()
                    != values[first + 1 : first + 2].tobytes() * 2
                ):
                    self._refuse_repeated(name, series, order[first : first + 2].tolist())
        kept = np.ones(len(steps), bool)
        kept[again + (self._mapping.repeated_steps != "last")] = False
        return Series(array("q", steps[kept].tobytes()), array("d", values[kept].tobytes()))

    def _refuse_repeated(self, name: str, series: Series, both: list[int]) -> None:
        first, second = (
            Place(self._paths[place >> _LINE_BITS], place & ((1 << _LINE_BITS) - 1))
            for place in (series.places[index] for index in both)
        )
        column = next(
            source
            for source, metric in self._metrics.items()
            if metric is not None and metric.name == name
        )
        raise at(
            second,
            column,
            f"step {series.steps[both[0]]:,} is there with another value at {first}; "
            'choose one with repeated_steps = "first" or "last" under [files]',
        )
