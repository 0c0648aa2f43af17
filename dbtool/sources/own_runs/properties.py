"""The properties of each run: its workload, study, status and metaparameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import inspect

from dbtool.core.errors import UsageError
from dbtool.core.parsing import InvalidError, convert
from dbtool.sources.numbers import number, whole_number
from dbtool.sources.own_runs.records import Record, among, read_records, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dbtool.sources.own_runs.mapping import Property, RunMapping
    from dbtool.sources.own_runs.reading import Run

_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_OPTIONAL = ("trial", "metaparameters")
_TABLES = ("files", "workload", "study", *_OPTIONAL)


def read_table_of_runs(mapping: RunMapping, columns: set[str]) -> dict[str, Record]:
    """The records of the table of runs by their runs, in its order; none where there is no table.

    Args:
        mapping: that names the table.
        columns: takes the names of its columns.

    Raises:
        RunsError: it is malformed, names a run twice or lacks the column that names them.
    """
    found: dict[str, Record] = {}
    if mapping.runs is None:
        return found
    path, key = Path(mapping.runs.file), mapping.runs.run
    for record in read_records(path, "jsonl" if path.suffix == ".jsonl" else "csv", columns):
        name = record.fields.get(key)
        if name is None:
            reason = f"there is nothing in {shown(key)}; columns like it: {among(key, columns)}"
            raise record.error(None, reason)
        first = found.setdefault(name, record)
        if first is not record:
            raise record.error(key, f"run {shown(name)} is there already at {first}")
    return found


def properties_of(
    run: Run, mapping: RunMapping, table: Mapping[str, Record]
) -> dict[str, dict[str, Any]]:
    """A run's properties by table and name; those that it does not have are left out.

    Args:
        run: the run.
        mapping: says where they stand.
        table: the table of runs.

    Raises:
        RunsError: the table of runs does not name it, or a value is not what it should be.
    """
    if mapping.runs is not None and run.name not in table:
        reason = f"run {shown(run.name)} is not in {mapping.runs.file}; closest: "
        raise run.first.error(None, reason + among(run.name, table))
    row = table.get(run.name, run.first)
    found: dict[str, dict[str, Any]] = {name: {} for name in _TABLES}
    for each in mapping.properties:
        value = each.value
        if each.column is not None:
            there = each.column in row.fields
            value = _read(row if there else run.columns.get(each.column), each, each.column)
        if value is not None:
            found[each.table][each.name] = value
        elif each.table not in _OPTIONAL:
            reason = f"run {shown(run.name)} has no {each.name}; give one, or a default in the "
            raise row.error(each.column, reason + "mapping")
    return found


def refuse_missing(mapping: RunMapping, columns: Collection[str]) -> None:
    """Refuses a mapping that reads properties from columns which are nowhere.

    Args:
        mapping: the mapping.
        columns: those of the files and of the table of runs.

    Raises:
        UsageError: it does.
    """
    for each in mapping.properties:
        column = each.column
        if column is not None and column not in columns and each.value.default is None:
            raise UsageError(
                f"the mapping reads {each.table}.{each.name} from the column {shown(column)}, "
                "which neither the files nor the table of runs have; closest: "
                f"{among(column, columns)}"
            )


def _read(record: Record | None, wanted: Property, column: str) -> Any:
    """What a record says of a property; the mapping's default where there is no record."""
    if record is None:
        return wanted.value.default
    text, values = record.fields[column], wanted.value.values or {}
    if text in values:
        return values[text]
    try:
        return convert(_plain(text, wanted.kind), wanted.kind, wanted.name)
    except InvalidError as error:
        known = ", ".join(map(shown, values))
        reason = f"{error}; its values in the mapping are {known}" if known else str(error)
        raise record.error(column, reason) from error


def _plain(text: str, kind: Any) -> Any:
    """The value that a text stands for; the text itself where it stands for none of that kind."""
    found: Any = text
    word = text.strip().lower()
    match inspect.type_info(kind):
        case inspect.BoolType():
            found = _TRUTHS.get(word)
        case inspect.IntType():
            found = whole_number(text)
        case inspect.FloatType() | inspect.Metadata(type=inspect.FloatType()):
            found = number(text)
            if found is None and word in ("true", "false"):
                found = float(word == "true")
    return text if found is None else found
