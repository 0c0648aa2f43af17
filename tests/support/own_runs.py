"""Runs of other tools with made-up numbers, and ways to load them in tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dbtool.core.errors import DbtoolError
from dbtool.core.footer import Trial
from dbtool.core.index import Index
from dbtool.sources.base import Report, add_source
from dbtool.sources.tables.source import RunSource, read_own_runs
from dbtool.sources.tables.studies import shards_of
from dbtool.store.locations import folder_to_write
from dbtool.store.table_files import TableFormat
from tests.support import archives

# The lines of a mapping by table; tests change single ones.
TABLES: Mapping[str, Mapping[str, str]] = {
    "": {"release": '"own"'},
    "files": {"run": '"run"', "step": '"step"'},
    "runs": {},
    "workload": {
        "dataset": '"digits"',
        "model": '"mlp"',
        "optimizer": '"sgd"',
        "metric": '"val_classification_error"',
        "goal": "0.1",
        "train_examples": "1000",
    },
    "study": {"batch_size": "32"},
    "trial": {},
    "metaparameters": {"learning_rate": "0.1"},
    "search_space": {},
    "metrics": {"val_classification_error": '"error"'},
}

write = archives.write_files


def mapping_text(**changes: Mapping[str, str | None]) -> str:
    """A sound mapping as TOML, with lines by table changed, added or, where None, left out.

    The table "top" is what stands above all.
    """
    parts = []
    for table, lines in TABLES.items():
        changed = {**lines, **changes.get(table or "top", {})}
        chosen = [f"{key} = {value}" for key, value in changed.items() if value is not None]
        if chosen:
            parts += [f"[{table}]"] if table else []
            parts += chosen
    return "\n".join(parts) + "\n"


def load(
    folder: Path,
    contents: Mapping[str, str | bytes],
    *,
    kind: TableFormat = "csv",
    release: str | None = None,
    database: str = "db",
    also: Mapping[str, str] | None = None,
    **changes: Mapping[str, str | None],
) -> Report:
    """Writes files and a mapping into a folder and loads the files into a database there.

    Files in `also` are not loaded, such as the table of runs; for the changes see `mapping_text`.
    """
    write(folder, {**contents, **(also or {})})
    mapping = folder / "mapping.toml"
    mapping.write_text(mapping_text(**changes), encoding="utf-8")
    given = {} if release is None else {"release": release}
    read = read_own_runs([folder / name for name in contents], kind, mapping, given)
    return add_source(read, folder_to_write(folder / database, read.about.release))


def query(folder: Path, sql: str, database: str = "db") -> list[tuple[Any, ...]]:
    """The rows of a query on the database of a folder."""
    return archives.query(folder / database, sql)


def read(
    folder: Path,
    contents: Mapping[str, str | bytes] | str | bytes,
    kind: Any = "csv",
    paths: str | None = None,
    **changes: Any,
) -> RunSource:
    """The runs in files, or in one that is a run; for the changes see `mapping_text`."""
    one = f"log.{kind}"
    write(folder, contents if isinstance(contents, Mapping) else {one: contents})
    paths = paths or ("log*" if isinstance(contents, Mapping) else one)
    changes["files"] = {"run": None, **changes.get("files", {})}
    (folder / "mapping.toml").write_text(mapping_text(**changes), encoding="utf-8")
    return read_own_runs([folder / paths], kind, folder / "mapping.toml")


def values(
    source: RunSource, metric: str = "val_classification_error", run: int = 0
) -> list[tuple[int, float]]:
    """The steps and values of a metric of a run."""
    found = source.runs[run].values.filter(pl.col("metric") == metric)
    return found.select("step", "value").rows()


def trials(source: RunSource) -> list[Trial]:
    """The trials that would be stored."""
    shards = shards_of(source.by_study, source.mapping, Index())
    return [trial for footer, _ in shards for trial in footer.trials]


def refused(folder: Path, contents: Mapping[str, str | bytes], **options: Any) -> str:
    """Why `load` refuses files; asserts that no database was made."""
    with pytest.raises(DbtoolError) as error:
        load(folder, contents, **options)
    assert not (folder / "db").exists()
    return str(error.value).replace(f"{folder}/", "")
