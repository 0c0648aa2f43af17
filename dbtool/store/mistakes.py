"""DuckDB's messages on mistakes in a query, with the remedy."""

from __future__ import annotations

import re

from dbtool.core.errors import first_sentence
from dbtool.core.index import OWN_COLUMN

_NO_COLUMN = re.compile(r'Referenced column "([^"]+)" not found')
# DuckDB's own tables, which resemble none of the views.
_OWN_TABLE = re.compile(r'Did you mean "(?:pg|sqlite|duckdb|information_schema)_?[^"]*"\??')
_VIEWS = (
    "the views are releases, workloads, studies, trials, measurements and evaluations; "
    "`dbtool sql --with NAME=FILE` adds a table, and in Python db.sql(…, tables={…})"
)


def explained(error: BaseException) -> str:
    """Return one sentence on why a query failed and what to write instead."""
    text = _OWN_TABLE.sub(_VIEWS, first_sentence(error))
    missing = _NO_COLUMN.search(text)
    if missing and missing[1] in OWN_COLUMN:
        return (
            f"{missing[0]}; it is a column of trials: JOIN trials USING (release, workload, "
            "batch_size, trial_id)"
        )
    if missing and not missing[1].isidentifier():
        return f"{missing[0]}; text stands in single quotes, names of columns in double ones"
    return text
