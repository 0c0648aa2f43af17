"""The columns of what is published, with their meanings: as schema/ says them."""

from __future__ import annotations

import functools
import re
import tomllib
from typing import NamedTuple

from dbtool.resources import schema_folder
from dbtool.store.published.layout import MEASUREMENTS, STORED, TABLES

_TABLE = re.compile(r"CREATE TABLE stored\.(\w+) \(\n(.*?)\n\);", re.DOTALL)
_COLUMN = re.compile(r"^    ([a-z]\w*) (.+?),? *(?:-- (.*))?$", re.MULTILINE)
_TYPE = re.compile(r"[A-Z]+(?:\([A-Z, ]+\))?")
_BESIDE = {
    "workload": ("VARCHAR", "the workload's name, so that a file can be read without the tables"),
    "batch_size": ("INTEGER", "global batch size of the study, for the same reason"),
}


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
    meanings = _measured()
    found[MEASUREMENTS] = (
        study,
        *beside,
        *(each._replace(meaning=each.meaning or meanings.get(each.name, "")) for each in others),
    )
    return found


def _columns(body: str) -> tuple[Column, ...]:
    """The columns between the brackets of CREATE TABLE."""
    columns = []
    for name, rest, comment in _COLUMN.findall(body):
        kind = _TYPE.match(rest)
        columns.append(Column(name, kind[0] if kind else rest, comment))
    return tuple(columns)


def _measured() -> dict[str, str]:
    """What schema/shard.toml says of the columns of measurements."""
    with (schema_folder() / "shard.toml").open("rb") as file:
        contract = tomllib.load(file)
    return {
        column["name"]: column["meaning"].rstrip(".")
        + (f" ({column['unit']})" if column["unit"] else "")
        for column in contract["column"]
    }
