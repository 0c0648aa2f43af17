"""The columns of what is published, with their meanings: as schema/ says them."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from dbtool.resources import schema_folder
from dbtool.store.published.layout import MEASUREMENTS, STORED, TABLES

_TABLE = re.compile(r"CREATE TABLE stored\.(\w+) \(\n(.*?)\n\);", re.DOTALL)
_COLUMN = re.compile(r"^    ([a-z]\w*) (.+?),? *(?:-- (.*))?$", re.MULTILINE)
_COMMENT = re.compile(r"^COMMENT ON COLUMN (\w+)\.(\w+) IS '(.*)';$", re.MULTILINE)
_TYPE = re.compile(r"[A-Z]+(?:\([A-Z, ]+\))?")
# Columns that let a file be read without the tables.
_BESIDE = {"workload": ("VARCHAR", ""), "batch_size": ("INTEGER", "")}


class Column(NamedTuple):
    """A column of a published table.

    Attributes:
        name: its name.
        type: its type in DuckDB, such as VARCHAR.
        meaning: what it holds, with the unit where it has one; may be empty.
    """

    name: str
    type: str
    meaning: str


@functools.cache
def published_columns() -> dict[str, tuple[Column, ...]]:
    """The columns of each published table, by the name of the table."""
    text = (schema_folder() / "tables.sql").read_text(encoding="utf-8")
    bodies = dict(_TABLE.findall(text))
    found = {table: _columns(bodies[STORED[table]]) for table in (*TABLES, MEASUREMENTS)}
    study, *others = found[MEASUREMENTS]
    beside = [Column(name, kind, meaning) for name, (kind, meaning) in _BESIDE.items()]
    found[MEASUREMENTS] = (study, *beside, *others)
    said = _comments()
    return {
        table: tuple(
            column._replace(meaning=said.get((table, column.name), column.meaning))
            for column in columns
        )
        for table, columns in found.items()
    }


def _columns(body: str) -> tuple[Column, ...]:
    """The columns between the brackets of CREATE TABLE."""
    columns = []
    for name, rest, comment in _COLUMN.findall(body):
        kind = _TYPE.match(rest)
        columns.append(Column(name, kind[0] if kind else rest, comment))
    return tuple(columns)


def _comments() -> dict[tuple[str, str], str]:
    """What schema/comments.sql says of the columns of views, which have the tables' names."""
    text = (schema_folder() / "comments.sql").read_text(encoding="utf-8")
    return {
        (view, column): meaning.replace("''", "'")
        for view, column, meaning in _COMMENT.findall(text)
    }
