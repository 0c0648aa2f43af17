"""Queries of the user: SQL or the name of an analysis, their values, and mistakes in them."""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError, closest, first_sentence
from dbtool.core.resources import queries_folder, query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# No query is a single word of these characters, the last of which occur in paths.
_WORD = re.compile(r"[\w./\\-]+")
_VIEWS = {"releases", "workloads", "studies", "trials", "measurements", "evaluations"}
_NO_COLUMN = re.compile(r'Referenced column "([^"]+)" not found')
_SEARCHES = (
    "it needs random searches whose trials were trained to their end, not in lockstep, as those in "
    "the archive of 2018 (`dbtool fetch`, then `dbtool import`) or in data/measured of the "
    "repository"
)
_NEEDS = dict.fromkeys(("best_of_k", "luck", "sensitivity"), _SEARCHES)
# DuckDB's own tables, which resemble none of the views.
_OWN_TABLE = re.compile(r'Did you mean "(?:pg|sqlite|duckdb|information_schema)_?[^"]*"\??')
_VIEWS_THERE_ARE = (
    "the views are releases, workloads, studies, trials, measurements and evaluations; "
    "`dbtool sql --with NAME=FILE` adds a table, and in Python db.sql(…, tables={…})"
)


def analyses() -> dict[str, str]:
    """Return the question of each analysis, which is its first line, by its name."""
    return {name: _analysis(name).splitlines()[0].removeprefix("-- ") for name in _analysis_names()}


def lack_of(text: str) -> str:
    """Return a sentence on what an analysis needs that ended without rows; "" for other queries."""
    if not is_analysis(text):
        return ""
    name = text.strip()
    needs = _NEEDS.get(name, "it reads studies of workloads that have a goal or a metric")
    return f"{name} has no rows: {needs}"


def is_analysis(text: str) -> bool:
    """Return whether a query is the name of an analysis."""
    return text.strip() in _analysis_names()


def query_text(text: str) -> str:
    """Return SQL as it is, or that of the analysis of that name; another word is a UsageError."""
    word, names = text.strip(), _analysis_names()
    if word in names:
        return _analysis(word)
    if not _WORD.fullmatch(word):
        return text
    if word.lower() in _VIEWS:
        raise UsageError(
            f"{word!r} is not an analysis but a view: write `dbtool sql 'FROM {word}'` for its rows"
        )
    path = PurePath(word)
    if path.suffix == ".sql" and Path(word).is_file():
        raise UsageError(f"{word!r} is a file: run it with `dbtool sql -f {word}`")
    is_path = path.suffix == ".sql" or len(path.parts) > 1
    raise UsageError(
        f"unknown analysis {word!r}; closest: {', '.join(closest(path.stem, names))} (there are "
        f"{', '.join(names)}{'; `dbtool sql -f FILE` reads a file' if is_path else ''})"
    )


def of_workloads(analysis: str, names: Sequence[str]) -> str:
    """Return the query of an analysis whose rows are those of the named workloads alone."""
    from dbtool.store.statements import sql_text

    listed = ", ".join(map(sql_text, names))
    return f"FROM ({analysis.strip().removesuffix(';')}\n)\nWHERE workload IN ({listed})"


def check_values(
    named: set[str], values: Mapping[str, object], remedy: str = "give it as {name}=VALUE"
) -> None:
    """Raise a UsageError unless a query's parameters and the values have the same names.

    The remedy is that for a missing value, with {name} for its name.
    """
    from dbtool.store.statements import require_text

    for name, value in values.items():
        if name not in named:
            near = ", ".join(f"${each}" for each in closest(name, named))
            has = f"closest: {near}" if near else "it has no parameters"
            raise UsageError(f"the query has no ${name}; {has}")
        if isinstance(value, str):
            require_text(value, f"the value of ${name}")
    for name in sorted(named - set(values)):
        raise UsageError(f"the query needs a value for ${name}; {remedy.format(name=name)}")


def explained(error: BaseException) -> str:
    """Return one sentence on why a query failed and what to write instead."""
    from dbtool.core.index import OWN_COLUMN

    text = _OWN_TABLE.sub(_VIEWS_THERE_ARE, first_sentence(error))
    missing = _NO_COLUMN.search(text)
    if missing and missing[1] in OWN_COLUMN:
        return (
            f"{missing[0]}; it is a column of trials: JOIN trials USING (release, workload, "
            "batch_size, trial_id)"
        )
    if missing and not missing[1].isidentifier():
        return f"{missing[0]}; text stands in single quotes, names of columns in double ones"
    return text


def _analysis_names() -> list[str]:
    return sorted(path.stem for path in (queries_folder() / "analyses").glob("*.sql"))


def _analysis(name: str) -> str:
    return query(name, "analyses")
