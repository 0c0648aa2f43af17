"""The properties of each run: its workload, study, status and metaparameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dbtool.errors import UsageError
from dbtool.own_runs.errors import Place, RunsError, among, at, shown
from dbtool.own_runs.numbers import number, whole_number
from dbtool.own_runs.records import kind_of, read_records
from dbtool.store.contract import STATUSES

if TYPE_CHECKING:
    from collections.abc import Collection

    from dbtool.own_runs.gather import Run
    from dbtool.own_runs.mapping import RunMapping, Source, Value

_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
# They become folders, and parts of a workload's name.
_PARTS = ("collection", "dataset", "model", "optimizer")


class Properties:
    """Reads the properties of runs, from their own rows and from the table of runs."""

    def __init__(self, mapping: RunMapping) -> None:
        """Reads the table of runs, where the mapping names one.

        Raises:
            RunsError: it is malformed, or names a run twice.
            UsageError: it lacks the column that names the runs.
        """
        _check_constants(mapping)
        self._mapping = mapping
        self._names: set[str] = set()
        self._rows: dict[str, tuple[dict[str, str], Place]] = {}
        path, key = mapping.runs_file, mapping.runs_key
        if path is None:
            return
        for line, record in read_records(path, kind_of(path), self._names):
            place = Place(path, line)
            if key not in record:
                known = among(key, self._names)
                raise at(place, None, f"there is nothing in {shown(key)}; columns like it: {known}")
            if record[key] in self._rows:
                first = self._rows[record[key]][1]
                raise at(place, key, f"run {shown(record[key])} is there already at {first}")
            self._rows[record[key]] = record, place

    @property
    def runs(self) -> list[str]:
        """The runs of the table of runs, in its order."""
        return list(self._rows)

    def of(self, run: Run) -> dict[tuple[str, str], Value]:
        """A run's properties by table and name; those that it does not have are left out.

        Raises:
            RunsError: the table of runs does not name it, or a value is not what it should be.
            UsageError: there is no such column.
        """
        if self._mapping.runs_file is not None and run.name not in self._rows:
            reason = f"run {shown(run.name)} is not in {self._mapping.runs_file}"
            raise at(run.place, None, f"{reason}; closest: {among(run.name, self._rows)}")
        found = {}
        for (table, name), source in self._mapping.properties.items():
            value = self._value(run, name, source)
            if value is not None:
                found[table, name] = value
            elif table in ("files", "workload", "study") and source.column is not None:
                where = self._rows[run.name][1] if run.name in self._rows else run.place
                reason = f"run {shown(run.name)} has no {name}"
                raise at(where, source.column, f"{reason}; give one, or a default in the mapping")
        return found

    def _value(self, run: Run, name: str, source: Source) -> Value | None:
        if source.column is None:
            return source.constant
        row, place = self._rows.get(run.name, ({}, run.place))
        if source.column in row:
            text = row[source.column]
        elif source.column in run.columns:
            text, place = run.columns[source.column]
        else:
            return source.default
        if source.values is not None:
            if text in source.values:
                return source.values[text]
            if source.kind is not str or name == "status":
                known = ", ".join(map(shown, source.values))
                raise at(place, source.column, f"{shown(text)} is none of the mapping's {known}")
        if name == "status" and source.values is None and text not in STATUSES:
            raise at(
                place,
                source.column,
                f"{shown(text)} is not one of {', '.join(STATUSES)}; "
                f'say what it stands for, as in values = {{ "{text}" = "COMPLETE" }}',
            )
        value = _read(text, source.kind)
        if value is None:
            reason = f"{shown(text)} is not {_KINDS[source.kind]}, which {name} is"
            raise at(place, source.column, reason)
        if name in _PARTS and not _is_part(text):
            raise at(place, source.column, f"{shown(text)} cannot be part of a workload's name")
        return value

    def check_columns(self, columns: Collection[str]) -> None:
        """Refuses a mapping that reads properties from columns which are nowhere.

        Args:
            columns: those of the files.

        Raises:
            UsageError: it does.
        """
        known = self._names.union(columns)
        for (table, name), source in self._mapping.properties.items():
            column = source.column
            if column is not None and column not in known and source.default is None:
                raise UsageError(
                    f"the mapping {self._mapping.path}: [{table}] {name} is read from the column "
                    f"{shown(column)}, which neither the files nor the table of runs have; "
                    f"closest: {among(column, known)}"
                )


def _check_constants(mapping: RunMapping) -> None:
    """Refuses parts of a workload's name that cannot be.

    Raises:
        RunsError: there is one.
    """
    for name in _PARTS:
        source = mapping.properties.get(("workload", name))
        if source is None:
            continue
        said: list[Any] = [source.constant, source.default, *(source.values or {}).values()]
        for text in said:
            if text is not None and not _is_part(str(text)):
                reason = f"[workload] {name} {shown(str(text))} cannot be part of a workload's name"
                raise RunsError(f"the mapping {mapping.path}: {reason}")


def _read(text: str, kind: type) -> Value | None:
    """A text as a value of a kind; None where it is none."""
    if kind is bool:
        return _TRUTHS.get(text.strip().lower())
    if kind is int:
        return whole_number(text)
    if kind is float:
        value = number(text)
        if value is None and text.strip().lower() in ("true", "false"):
            value = float(_TRUTHS[text.strip().lower()])
        return value if value is None or math.isfinite(value) else None
    return text


def _is_part(text: str) -> bool:
    """Whether a text can be the name of a data set, a model or an optimizer."""
    return (
        bool(text)
        and text.isprintable()
        and text == text.strip()
        and not set(text) & set("/\\*?[]")
        and not text.startswith(".")
        and len(text.encode(errors="replace")) <= 200
    )
