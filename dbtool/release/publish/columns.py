"""The tables of a release folder and their columns, with the meanings that schema/ gives them."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from dbtool.core.contract import shard_schema, sql_type
from dbtool.core.index import Index
from dbtool.core.resources import schema_folder
from dbtool.release.layout import SHARDS

MEASUREMENTS = "measurements"
MEANINGS = {
    "workloads": "a row a workload: a data set, a model and an optimizer, with the goal of one of "
    "its metrics",
    "studies": "a row a study: a workload at one batch size, and how its metaparameters were "
    "searched",
    "trials": "a row a trial of a study: its metaparameters, how it ended, and what produced it",
    MEASUREMENTS: "a row a measurement, sorted by trial and step, a file or more a study",
}
"""What the rows of each table are."""
_COMMENT = re.compile(r"^COMMENT ON COLUMN (\w+)\.(\w+) IS '(.*)';$", re.MULTILINE)
# Of columns that the views leave out or have in another form.
_OTHER_MEANINGS = {
    ("workloads", "definition"): "The producer's whole definition: an object. NULL for archives.",
    ("studies", "trials"): "How many trials it has, of any status.",
    ("trials", "metaparameters"): "All metaparameters by name as they were given: an object of "
    "numbers, truths and text.",
    ("trials", "name"): "What the tool that it comes from calls it. NULL where it has no name.",
    ("trials", "source"): "Digest of the files that it was imported from. NULL where none were.",
    (MEASUREMENTS, "other_metrics"): "Metrics without a column of their own, by name: an object. "
    "NULL where a step has none.",
}


class PublishedColumn(NamedTuple):
    """A column of a table.

    Attributes:
        name: its name.
        type: its type in DuckDB, such as VARCHAR.
        meaning: what it holds, with the unit where it has one.
    """

    name: str
    type: str
    meaning: str


def table_path(table: str) -> str:
    """Where the rows of a table lie below the release folder; a pattern for measurements."""
    return SHARDS if table == MEASUREMENTS else f"{table}.parquet"


@functools.cache
def published_columns() -> dict[str, tuple[PublishedColumn, ...]]:
    """The columns of workloads, studies, trials and measurements, by the name of the table."""
    schemas = {
        path.removesuffix(".parquet"): rows.schema for path, rows in Index().tables().items()
    }
    schemas[MEASUREMENTS] = shard_schema()
    meanings = _comments() | _OTHER_MEANINGS
    return {
        table: tuple(
            PublishedColumn(field.name, sql_type(field.type), meanings.get((table, field.name), ""))
            for field in schema
        )
        for table, schema in schemas.items()
    }


def _comments() -> dict[tuple[str, str], str]:
    """What schema/comments.sql says of the columns of views, which have the tables' names."""
    text = (schema_folder() / "comments.sql").read_text(encoding="utf-8")
    return {
        (view, column): meaning.replace("''", "'")
        for view, column, meaning in _COMMENT.findall(text)
    }
