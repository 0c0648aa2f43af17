"""The sources of own runs that `dbtool ingest --from` knows by name.

Installed packages add theirs by entry points of the group `dbtool.sources`: the name, and a class
that makes a `dbtool.sources.base.Source` from a list of paths.
"""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeGuard, get_args

from dbtool.core.errors import DbtoolError, first_sentence
from dbtool.store.table_files import TABLE_FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from dbtool.sources.base import Source

LogFormat: TypeAlias = Literal[
    "tensorboard", "huggingface", "mlflow", "lightning", "keras", "levanter", "trackio", "text"
]
LOG_FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)
"""The tools whose logs are read as they are, by a module each in `dbtool.sources.logs`."""
ENTRY_POINTS = "dbtool.sources"


def is_log_format(name: str) -> TypeGuard[LogFormat]:
    """Return whether a source is a tool whose logs are read as they are."""
    return name in LOG_FORMATS


def source_names() -> tuple[str, ...]:
    """Return the formats of tables and logs, followed by the sources of installed packages."""
    return tuple(dict.fromkeys((*TABLE_FORMATS, *LOG_FORMATS, *_installed())))


def installed_source(name: str) -> Callable[[Sequence[Path]], Source]:
    """Load a source from an installed package.

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
    """Return the names that only `--from` gives, as a sentence has them: csv, jsonl or parquet."""
    *others, last = (name for name in source_names() if name not in LOG_FORMATS)
    return f"{', '.join(others)} or {last}"


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)}
