"""Runs, and what the table of runs, the files and the mapping state of them: their properties."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from dbtool.core.checks import InvalidError, convert
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.index import OWN_COLUMN
from dbtool.sources.numbers import COMMA, USE_POINTS, is_rounded, number, same, whole_number
from dbtool.sources.tables.mapping import Property, RunMapping, listed
from dbtool.store.table_files import Position, among, shown
from dbtool.store.texts import LINE, read_parts

_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_OPTIONAL = ("trial", "metaparameters")
_TABLES = ("files.step", "workload", "study", *_OPTIONAL)


class Cell(NamedTuple):
    """A text of a file, and its position."""

    text: str
    position: Position


@dataclass(slots=True, eq=False)
class Run:
    """One run of the files, or of the table of runs.

    Attributes:
        keys: the values of its key columns, which make its name.
        first: where it first appears.
        cells: by the columns that properties are read from, its values.
        properties: by table of the mapping and name; missing ones are dropped.
        values: metric, step (in updates), value; sorted by metric and step.
    """

    keys: tuple[str, ...]
    first: Position
    cells: dict[str, Cell] = field(default_factory=dict)
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    values: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def name(self) -> str:
        """Return the tool's name of the run."""
        return "/".join(self.keys)

    @property
    def key(self) -> tuple[str, ...]:
        """Return what is equal for the same run, however its numbers are spelled."""
        return tuple(map(same, self.keys))

    @property
    def steps(self) -> int:
        """Return the last step."""
        return int(self.values.select(pl.col("step").max()).item())

    def keep(self, column: str, cell: Cell) -> None:
        """Keep a column's value for the run; it must have only one."""
        if "\0" in cell.text:
            reason = f"{shown(cell.text)} has a NUL, which no text may have"
            raise cell.position.error(column, reason)
        known = self.cells.setdefault(column, cell)
        if same(known.text) != same(cell.text):
            reason = f"run {shown(self.name)} has {shown(cell.text)}, and had {shown(known.text)} "
            reason += f"at {known.position}; what the mapping reads from it is one value a run"
            raise cell.position.error(column, reason)


class TableOfRuns(NamedTuple):
    """The table of runs: its columns, and its runs by key, in its order; without one, neither."""

    columns: set[str]
    runs: dict[tuple[str, ...], Run]


def read_table_of_runs(mapping: RunMapping) -> TableOfRuns:
    """Read the table of runs that a mapping names, if it does.

    Raises:
        RunsError: the table is malformed, names a run twice or lacks the column that names them.
    """
    table = TableOfRuns(set(), {})
    if mapping.runs is None:
        return table
    path, keys = Path(mapping.runs.file), listed(mapping.runs.run)
    for part in read_parts(path):
        table.columns.update(set(part.columns) - {LINE})
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
                    raise position.error(None, reason + among(each, table.columns))
            run = Run(tuple(cells[each].text for each in keys), position, cells)
            first = table.runs.setdefault(run.key, run).first
            if first != position:
                reason = f"run {shown(run.name)} is there already at {first}"
                raise position.error(keys[-1], reason)
    return table


def read_properties(
    run: Run, mapping: RunMapping, table: TableOfRuns, columns: Collection[str]
) -> list[DbtoolError]:
    """Read a run's properties from its cells and the table of runs, which overrides the files.

    Returns:
        What is wrong: the table does not name the run, a property's column is not among those of
        the files and the table, or a value is missing or invalid.
    """
    errors: list[DbtoolError] = []
    run.properties = {name: {} for name in _TABLES}
    said = table.runs.get(run.key)
    if mapping.runs is not None and said is None:
        reason = f"run {shown(run.name)} is not in {mapping.runs.file}; closest: "
        names = [each.name for each in table.runs.values()]
        errors.append(run.first.error(None, reason + among(run.name, names)))
    for each in mapping.properties:
        try:
            value = _stated(run, said or run, each, columns)
        except DbtoolError as error:
            errors.append(error)
            continue
        if value is not None:
            run.properties[each.table][each.name] = value
        elif each.table not in _OPTIONAL and (mapping.runs is None or said is not None):
            reason = f"run {shown(run.name)} has no {each.name}; give one, or a default in the "
            errors.append((said or run).first.error(each.column, reason + "mapping"))
    return errors


def _stated(run: Run, said: Run, wanted: Property, columns: Collection[str]) -> Any:
    """Return the value of a property by the table of runs, the files or the mapping, if any."""
    if wanted.column is None:
        return wanted.value
    cell = said.cells.get(wanted.column) or run.cells.get(wanted.column)
    if cell is not None:
        return _property_value(cell, wanted, wanted.column)
    if wanted.value.default is None and wanted.column not in columns:
        raise UsageError(
            f"the mapping reads {wanted.table}.{wanted.name} from the column "
            f"{shown(wanted.column)}, which neither the files nor the table of runs have; closest: "
            f"{among(wanted.column, columns)}"
        )
    return wanted.value.default


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
        # A text such as 007 is a name; .5 and +1 are numbers.
        if number(cell.text) is not None and re.match(r"\s*[+-]?0\d", cell.text):
            return cell.text
    word = cell.text.strip().lower()
    truth = {"true": True, "false": False}.get(word)
    # The likeliest first: 1 is a number rather than a truth.
    for meant in (whole_number(cell.text), number(cell.text), truth, cell.text, _TRUTHS.get(word)):
        try:
            return msgspec.convert(meant, wanted.kind)
        except msgspec.ValidationError:
            continue
    try:
        return convert(cell.text, wanted.kind, wanted.name)
    except InvalidError as error:
        known = ", ".join(map(shown, values))
        reason = f"{error}; its values in the mapping are {known}" if known else str(error)
        reason += f"; {USE_POINTS}" if re.match(COMMA, cell.text) else ""
        raise cell.position.error(column, reason) from error
