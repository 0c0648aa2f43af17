"""The properties of each run: its workload, study, status and metaparameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dbtool.core.checks import InvalidError, convert
from dbtool.core.errors import UsageError
from dbtool.core.index import OWN_COLUMN
from dbtool.sources.numbers import is_number, is_rounded, number, same, whole_number
from dbtool.sources.tables.mapping import Property, RunMapping, listed
from dbtool.sources.tables.problems import Problems, among
from dbtool.sources.tables.runs import Cell, Run
from dbtool.store.table_files import Position, shown
from dbtool.store.texts import LINE, read_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_OPTIONAL = ("trial", "metaparameters")
_TABLES = ("files", "workload", "study", *_OPTIONAL)


def read_table_of_runs(mapping: RunMapping, columns: set[str]) -> dict[tuple[str, ...], Run]:
    """Return the runs of the table of runs by key, in its order; empty without such a table.

    The names of its columns are added to the set.

    Raises:
        RunsError: the table is malformed, names a run twice or lacks the column that names them.
    """
    found: dict[tuple[str, ...], Run] = {}
    if mapping.runs is None:
        return found
    path, keys = Path(mapping.runs.file), listed(mapping.runs.run)
    for part in read_parts(path):
        columns.update(set(part.columns) - {LINE})
        for texts in part.iter_rows(named=True):
            position = Position(path, texts.pop(LINE))
            cells = {
                name: Cell(text, position)
                for name, text in texts.items()
                if text and (name in keys or text not in mapping.files.empty)
            }
            for each in keys:
                if each not in cells:
                    reason = f"there is nothing in {shown(each)}; columns like it: "
                    raise position.error(None, reason + among(each, columns))
            run = Run(tuple(cells[each].text for each in keys), len(found), position, cells)
            first = found.setdefault(run.key, run).first
            if first != position:
                reason = f"run {shown(run.name)} is there already at {first}"
                raise position.error(keys[-1], reason)
    return found


def properties_of(
    run: Run,
    mapping: RunMapping,
    table: Mapping[tuple[str, ...], Run],
    columns: Collection[str],
    problems: Problems,
) -> dict[str, dict[str, Any]]:
    """Return a run's properties by table and name; missing ones are dropped.

    The table of runs overrides the files. The columns are those of both. It is a problem where a
    column does not exist, the table does not name the run, or a value is missing or invalid.
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in _TABLES}
    said = table.get(run.key, run)
    if mapping.runs is not None and run.key not in table:
        reason = f"run {shown(run.name)} is not in {mapping.runs.file}; closest: "
        names = [each.name for each in table.values()]
        problems.add(run.first.error(None, reason + among(run.name, names)))
    for each in mapping.properties:
        with problems:
            value = each.value
            if each.column is not None:
                cell = said.cells.get(each.column) or run.cells.get(each.column)
                if cell is None and value.default is None and each.column not in columns:
                    raise UsageError(
                        f"the mapping reads {each.table}.{each.name} from the column "
                        f"{shown(each.column)}, which neither the files nor the table of runs "
                        f"have; closest: {among(each.column, columns)}"
                    )
                value = value.default if cell is None else _property_value(cell, each, each.column)
            if value is not None:
                found[each.table][each.name] = value
            elif each.table not in _OPTIONAL and (mapping.runs is None or run.key in table):
                reason = f"run {shown(run.name)} has no {each.name}; give one, or a default in the "
                raise said.first.error(each.column, reason + "mapping")
    return found


def _property_value(cell: Cell, wanted: Property, column: str) -> Any:
    """Return a cell as the value of a property."""
    values = {same(text): meant for text, meant in (wanted.value.values or {}).items()}
    if same(cell.text) in values:
        return values[same(cell.text)]
    if wanted.table != "metaparameters" and is_rounded(cell.text):
        reason = f"{wanted.name} is {shown(cell.text)}, which a float has rounded: write all digits"
        raise cell.position.error(column, reason)
    if wanted.table == "metaparameters" and wanted.name not in OWN_COLUMN:
        if (whole := whole_number(cell.text)) is not None and abs(whole) > 2**53:
            return whole
        # A text such as 007 is a name.
        if number(cell.text) is not None and cell.text[-1].isdigit() and not is_number(cell.text):
            return cell.text
    for meant in _meanings(cell.text):
        try:
            return msgspec.convert(meant, wanted.kind)
        except msgspec.ValidationError:
            continue
    try:
        return convert(cell.text, wanted.kind, wanted.name)
    except InvalidError as error:
        known = ", ".join(map(shown, values))
        reason = f"{error}; its values in the mapping are {known}" if known else str(error)
        raise cell.position.error(column, reason) from error


def _meanings(text: str) -> Iterator[Any]:
    """Yield what a text may stand for, the likeliest first: 1 is a number rather than a boolean."""
    word = text.strip().lower()
    yield whole_number(text)
    yield number(text)
    yield {"true": True, "false": False}.get(word)
    yield text
    yield _TRUTHS.get(word)
