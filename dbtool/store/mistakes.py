"""What DuckDB says of a mistake in a query, with what mends it here."""

from __future__ import annotations

import re

from dbtool.core.errors import first_sentence
from dbtool.core.index import OWN_COLUMN

_NO_COLUMN = re.compile(r'Referenced column "([^"]+)" not found')
# DuckDB's own tables, which are like no name of ours.
_OWN_TABLE = re.compile(r'Did you mean "(?:pg|sqlite|duckdb|information_schema)_?[^"]*"\??')
_VIEWS = (
    "the views are releases, workloads, studies, trials, measurements and evaluations; "
    "`dbtool sql --with NAME=FILE` adds a table, and in Python db.sql(…, tables={…})"
)


def explained(error: BaseException) -> str:
    """One sentence on why a query failed, and what to write in its place."""
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
