"""The analyses that ship: the queries in queries/analyses, which run by name."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from dbtool.core.errors import UsageError, closest
from dbtool.core.resources import queries_folder, query

# No query is a single word of these characters, the last of which occur in paths.
_WORD = re.compile(r"[\w./\\-]+")
_VIEWS = {"releases", "workloads", "studies", "trials", "measurements", "evaluations"}


def analyses() -> dict[str, str]:
    """Return the question of each analysis, which is its first line, by its name."""
    return {name: _analysis(name).splitlines()[0].removeprefix("-- ") for name in _names()}


def query_text(text: str) -> str:
    """Return the text of a query: SQL as it is, or the analysis of that name.

    Raises:
        UsageError: the text is one word, and no analysis has that name.
    """
    word, names = text.strip(), _names()
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


def _names() -> list[str]:
    return sorted(path.stem for path in (queries_folder() / "analyses").glob("*.sql"))


def _analysis(name: str) -> str:
    return query(name, "analyses")
