"""Mapping files: TOML that says what the columns of a tool's files are, for `dbtool ingest`."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dbtool.errors import UsageError, closest
from dbtool.own_runs.file_names import FileNames
from dbtool.own_runs.numbers import TRANSFORMS
from dbtool.store.contract import STATUSES, metric_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

Value: TypeAlias = "str | int | float | bool"
Repeated: TypeAlias = Literal["refuse", "first", "last"]

_TABLES = (
    "files",
    "runs",
    "workload",
    "study",
    "trial",
    "metaparameters",
    "search_space",
    "metrics",
)
_ABOUT = ("release", "title", "licence", "citation")
_FILES = ("run", "step", "metric", "value", "name", "ignore", "repeated_steps", "float32")
_WORKLOAD = {
    "collection": str, "dataset": str, "model": str, "optimizer": str, "sparsity": float,
    "metric": str, "goal": float, "goal_inclusive": bool, "maximize": bool, "train_examples": int,
}  # fmt: skip
_STUDY = {"batch_size": int, "train_steps": int, "early_stopping": bool}
_TRIAL = {"trial_id": int, "status": str, "seed": int}
_REQUIRED = {
    "files": ("step",),
    "workload": ("dataset", "model", "optimizer", "metric", "train_examples"),
    "study": ("batch_size",),
}
_RANGE = '{ type = "DOUBLE", min_value = 1e-4, max_value = 1.0, scale = "LOG_SCALE" }'
_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a property of a run comes from.

    Attributes:
        kind: what it is: text, a whole number, a number, or true or false.
        constant: the same of every run; None where it is read.
        column: the column to read it from; None where it is constant.
        values: what a text in the column stands for; None where it stands for itself.
        default: for runs without a value; None where there is none.
    """

    kind: type
    constant: Value | None = None
    column: str | None = None
    values: Mapping[str, Value] | None = None
    default: Value | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """What a column, or a tag of a table in the long format, is.

    Attributes:
        name: the column of the database, or a name of its own in other_metrics.
        transform: one of `TRANSFORMS`; None: taken as it is.
    """

    name: str
    transform: str | None = None


@dataclass(frozen=True)
class RunMapping:
    """What a mapping file says.

    Attributes:
        path: the file that says so.
        about: release, title, licence and citation, those that are given.
        run: the column that names the run; None where the file's name does.
        step: the column of the step.
        step_times: what it is multiplied by; None: a property of each run, ("files", "times").
        tag: the column that names the metric, in the long format; None in the wide one.
        value: the column of its value, in the long format.
        names: what parts of a file's name say.
        ignore: patterns of columns or tags that are not taken.
        repeated_steps: what is done where a run has two values of a metric at a step.
        float32: whether the tool keeps values as 32-bit numbers.
        runs_file: the table of runs; None where there is none.
        runs_key: its column that names the run.
        properties: where the properties of a run come from, by table and name.
        search_space: as the database holds it.
        metrics: by the column or tag that they come from.
    """

    path: Path
    about: Mapping[str, str]
    run: str | None
    step: str
    step_times: int | None
    tag: str | None
    value: str | None
    names: FileNames | None
    ignore: tuple[str, ...]
    repeated_steps: Repeated
    float32: bool
    runs_file: Path | None
    runs_key: str
    properties: Mapping[tuple[str, str], Source]
    search_space: Mapping[str, Any]
    metrics: Mapping[str, Metric]

    @cached_property
    def property_columns(self) -> frozenset[str]:
        """The columns that properties of runs are read from."""
        columns = (source.column for source in self.properties.values())
        return frozenset(column for column in columns if column is not None)

    def ignores(self, name: str) -> bool:
        """Whether a column or tag is not to be taken; a column without a name never is."""
        return not name or any(fnmatchcase(name, pattern) for pattern in self.ignore)


def read_mapping(path: Path) -> RunMapping:
    """Reads a mapping file; docs/your_own_runs.md says what stands in it.

    Raises:
        UsageError: it cannot be read, is no TOML, or says what cannot be.
    """
    try:
        with path.open("rb") as file:
            given = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"cannot read the mapping {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the mapping {path} is no TOML: {error}") from error
    return _Reader(path, given).mapping()


class _Reader:
    """A mapping file that is being read."""

    def __init__(self, path: Path, given: dict[str, Any]) -> None:
        self._path = path
        self._given = given

    def mapping(self) -> RunMapping:
        """What the file says.

        Raises:
            UsageError: it says what cannot be.
        """
        self._check_names(self._given, (*_ABOUT, *_TABLES), "the file")
        about = {name: self._given[name] for name in _ABOUT if name in self._given}
        for name, value in about.items():
            if not isinstance(value, str) or not value.strip():
                raise self._wrong(name, value, "text that is not empty")
        tables = {name: self._table(name) for name in _TABLES}
        files, runs = tables["files"], tables["runs"]
        self._check_names(files, _FILES, "[files]")
        self._check_names(runs, ("file", "run"), "[runs]")
        step, times = self._step(files["step"])
        properties = self._properties(tables)
        if isinstance(times, Source):
            properties["files", "times"] = times
        tag, value = self._text(files, "metric"), self._text(files, "value")
        if (tag is None) != (value is None):
            raise self._error(
                "[files] metric and value go together: a long table has both, a wide one neither"
            )
        repeated = files.get("repeated_steps", "refuse")
        if repeated not in ("refuse", "first", "last"):
            raise self._wrong("[files] repeated_steps", repeated, "refuse, first or last")
        float32 = files.get("float32", False)
        if not isinstance(float32, bool):
            raise self._wrong("[files] float32", float32, "true or false")
        pattern = self._text(files, "name")
        runs_file = self._text(runs, "file")
        if runs and runs_file is None:
            raise self._error("[runs] has no file: name the table of runs")
        return RunMapping(
            path=self._path,
            about=about,
            run=self._text(files, "run"),
            step=step,
            step_times=times if isinstance(times, int) else None,
            tag=tag,
            value=value,
            names=None if pattern is None else self._file_names(pattern),
            ignore=self._patterns(files.get("ignore", [])),
            repeated_steps=repeated,
            float32=float32,
            runs_file=None if runs_file is None else self._path.parent / runs_file,
            runs_key=self._text(runs, "run") or "run",
            properties=properties,
            search_space=self._search_space(tables["search_space"]),
            metrics=self._metrics(tables["metrics"]),
        )

    def _table(self, name: str) -> dict[str, Any]:
        table = self._given.get(name, {})
        if not isinstance(table, dict):
            raise self._wrong(name, table, "a table")
        for key in _REQUIRED.get(name, ()):
            if key not in table:
                raise self._error(f"[{name}] has no {key}")
        return table

    def _step(self, given: Any) -> tuple[str, int | Source]:
        if isinstance(given, str) and given:
            return given, 1
        if isinstance(given, dict) and isinstance(given.get("column"), str):
            self._check_names(given, ("column", "times"), "[files] step")
            times = self._source("[files] step times", given.get("times", 1), int)
            if not isinstance(times.constant, int):
                return given["column"], times
            if times.constant > 0:
                return given["column"], times.constant
        example = '"step" or { column = "epoch", times = 391 }'
        raise self._wrong("[files] step", given, f"a column such as {example}")

    def _text(self, table: Mapping[str, Any], name: str) -> str | None:
        value = table.get(name)
        if value is not None and (not isinstance(value, str) or not value):
            raise self._wrong(name, value, "text that is not empty")
        return value

    def _patterns(self, given: Any) -> tuple[str, ...]:
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            raise self._wrong("[files] ignore", given, 'a list such as ["_timestamp", "system/*"]')
        return tuple(given)

    def _file_names(self, pattern: str) -> FileNames:
        try:
            return FileNames(pattern)
        except ValueError as error:
            raise self._error(f"[files] name {pattern!r} {error}") from error

    def _properties(self, tables: Mapping[str, dict[str, Any]]) -> dict[tuple[str, str], Source]:
        found = {}
        for table, kinds in (("workload", _WORKLOAD), ("study", _STUDY), ("trial", _TRIAL)):
            self._check_names(tables[table], kinds, f"[{table}]")
            for name, given in tables[table].items():
                found[table, name] = self._source(f"[{table}] {name}", given, kinds[name])
        for name, given in tables["metaparameters"].items():
            found["metaparameters", name] = self._source(f"[metaparameters] {name}", given, float)
        self._check_choices(found["workload", "metric"], "[workload] metric", metric_columns())
        if ("trial", "status") in found:
            self._check_choices(found["trial", "status"], "[trial] status", STATUSES)
        return found

    def _source(self, where: str, given: Any, kind: type) -> Source:
        if not isinstance(given, dict):
            return Source(kind, constant=self._value(where, given, kind))
        self._check_names(given, ("column", "values", "default"), where)
        column, values = given.get("column"), given.get("values")
        if not isinstance(column, str) or not column:
            raise self._error(f"{where} names no column: write {{ column = … }} or a value itself")
        if values is not None:
            if not isinstance(values, dict) or not values:
                raise self._wrong(f"{where} values", values, "a table such as { SGD = … }")
            values = {
                key: self._value(f"{where} {key}", value, kind) for key, value in values.items()
            }
        default = given.get("default")
        if default is not None:
            default = self._value(f"{where} default", default, kind)
        return Source(kind, column=column, values=values, default=default)

    def _value(self, where: str, given: Any, kind: type) -> Value:
        whole = isinstance(given, int) and not isinstance(given, bool)
        if kind is float and (whole or isinstance(given, float)) and math.isfinite(given):
            return float(given)
        if (kind is int and whole) or (kind in (str, bool) and isinstance(given, kind)):
            value: Value = given
            return value
        raise self._wrong(where, given, f"{_NAMES[kind]}, or a column as in {{ column = … }}")

    def _check_choices(self, source: Source, where: str, choices: Collection[str]) -> None:
        said = [source.constant, source.default, *(source.values or {}).values()]
        for value in said:
            if value is not None and value not in choices:
                names = ", ".join(closest(str(value), choices))
                raise self._error(f"{where} {value!r} is none there is; closest: {names}")

    def _search_space(self, table: dict[str, Any]) -> dict[str, Any]:
        for name, given in table.items():
            said = list(given.values()) if isinstance(given, dict) else [None]
            points = [point for each in said if isinstance(each, list) for point in each]
            for value in [each for each in said if not isinstance(each, list)] + points:
                known = isinstance(value, str | int | float)
                if not known or (isinstance(value, float) and not math.isfinite(value)):
                    raise self._wrong(f"[search_space] {name}", given, f"a table such as {_RANGE}")
        return table

    def _metrics(self, table: dict[str, Any]) -> dict[str, Metric]:
        found: dict[str, Metric] = {}
        self._check_names(table, metric_columns(), "[metrics]")
        for name, given in table.items():
            said = {"column": given} if isinstance(given, str) else given
            if not isinstance(said, dict) or not isinstance(said.get("column"), str):
                example = '"val/loss" or { column = "val/accuracy", transform = "1 - x" }'
                raise self._wrong(f"[metrics] {name}", given, f"a column such as {example}")
            self._check_names(said, ("column", "transform"), f"[metrics] {name}")
            transform = said.get("transform")
            if transform is not None and transform not in TRANSFORMS:
                raise self._wrong(
                    f"[metrics] {name} transform", transform, f"one of {', '.join(TRANSFORMS)}"
                )
            if said["column"] in found:
                raise self._error(
                    f"[metrics] {name} and {found[said['column']].name} are the same column "
                    f"{said['column']!r}"
                )
            found[said["column"]] = Metric(name, transform)
        return found

    def _check_names(self, table: Mapping[str, Any], known: Collection[str], where: str) -> None:
        for name in table:
            if name not in known:
                names = ", ".join(closest(name, known))
                raise self._error(f"{where} knows no {name!r}; closest: {names}")

    def _wrong(self, where: str, given: Any, wanted: str) -> UsageError:
        text = repr(given) if len(repr(given)) <= 60 else f"{repr(given)[:57]}…"
        return self._error(f"{where} is {text}, and should be {wanted}")

    def _error(self, reason: str) -> UsageError:
        return UsageError(f"the mapping {self._path}: {reason}")
