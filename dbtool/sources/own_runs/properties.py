"""The properties of each run: its workload, study, status and metaparameters."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import inspect

from dbtool.core.errors import UsageError
from dbtool.core.parsing import InvalidError, convert
from dbtool.sources.numbers import number, whole_number
from dbtool.sources.own_runs.records import Record, among, listed, read_records, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dbtool.sources.own_runs.mapping import Property, RunMapping
    from dbtool.sources.own_runs.reading import Run
    from dbtool.sources.own_runs.records import Problems

_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_WORDS = {"true": True, "false": False}
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
    path, keys = Path(mapping.runs.file), listed(mapping.runs.run)
    for record in read_records(path, "jsonl" if path.suffix == ".jsonl" else "csv", columns):
        for each in keys:
            if each not in record.fields:
                reason = f"there is nothing in {shown(each)}; columns like it: "
                raise record.error(None, reason + among(each, columns))
        name = "/".join(record.fields[each] for each in keys)
        first = found.setdefault(name, record)
        if first is not record:
            raise record.error(keys[-1], f"run {shown(name)} is there already at {first}")
    return found


def properties_of(
    run: Run,
    mapping: RunMapping,
    table: Mapping[str, Record],
    columns: Collection[str],
    problems: Problems,
) -> dict[str, dict[str, Any]]:
    """A run's properties by table and name; those that it does not have are left out.

    Args:
        run: the run.
        mapping: says where they stand.
        table: the table of runs.
        columns: those of the files and of the table of runs.
        problems: takes what is wrong: a column is nowhere, the table of runs does not name the run,
            a value is missing or not what it should be.
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in _TABLES}
    with problems:
        if mapping.runs is not None and run.name not in table:
            reason = f"run {shown(run.name)} is not in {mapping.runs.file}; closest: "
            raise run.first.error(None, reason + among(run.name, table))
    row = table.get(run.name, run.first)
    for each in mapping.properties:
        with problems:
            value = each.value
            if each.column is not None:
                there = each.column in row.fields
                record = row if there else run.columns.get(each.column)
                if record is None and value.default is None and each.column not in columns:
                    raise _nowhere(each, each.column, columns)
                value = _read(record, each, each.column)
            if value is not None:
                found[each.table][each.name] = value
            elif each.table not in _OPTIONAL and (mapping.runs is None or run.name in table):
                reason = f"run {shown(run.name)} has no {each.name}; give one, or a default in the "
                raise row.error(each.column, reason + "mapping")
    return found


def _nowhere(each: Property, column: str, columns: Collection[str]) -> UsageError:
    return UsageError(
        f"the mapping reads {each.table}.{each.name} from the column {shown(column)}, which "
        f"neither the files nor the table of runs have; closest: {among(column, columns)}"
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
        case inspect.Metadata(type=inspect.UnionType()):
            # A setting, which is kept as what it looks like.
            found = _WORDS.get(word, number(text))
            if found is not None and not math.isfinite(found):
                found = str(found)
    return text if found is None else found
