"""The sources of own runs that `dbtool ingest --from` knows by name.

Installed packages bring theirs by entry points of the group `dbtool.sources`: the name, and a class
that makes a `dbtool.sources.base.Source` of a list of paths.
"""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from dbtool.core.errors import DbtoolError, first_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from dbtool.sources.base import Source

TableFormat: TypeAlias = Literal["csv", "jsonl", "parquet"]
TABLE_FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)
"""The formats of tables, which a mapping explains."""
ENTRY_POINTS = "dbtool.sources"


def table_format(path: Path) -> TableFormat | None:
    """The format that a file's name tells; None where it tells none."""
    ending = path.suffix.lower().removeprefix(".").replace("ndjson", "jsonl")
    return next((each for each in TABLE_FORMATS if each == ending), None)


def source_names() -> tuple[str, ...]:
    """The formats of tables, then what installed packages bring."""
    return tuple(dict.fromkeys((*TABLE_FORMATS, *_installed())))


def installed_source(name: str) -> Callable[[Sequence[Path]], Source]:
    """Load a source that an installed package brings.

    Raises:
        DbtoolError: its module fails.
    """
    entry = _installed()[name]
    try:
        source: Callable[[Sequence[Path]], Source] = entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else entry.module
        raise DbtoolError(
            f"{package}: {type(error).__name__}: {first_sentence(error)}; `pip uninstall "
            f"{package}` goes on without it"
        ) from error
    return source


def source_words() -> str:
    """The names as a sentence has them: csv, jsonl or parquet."""
    *others, last = source_names()
    return f"{', '.join(others)} or {last}"


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)}
