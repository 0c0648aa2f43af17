"""Runs of other tools with made-up numbers, and ways to load them in tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbtool.database import open_database
from dbtool.sources.base import Report, add_source
from dbtool.sources.tables.source import read_own_runs
from dbtool.store.locations import folder_to_write
from dbtool.store.table_files import TableFormat

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
    for name, text in {**contents, **(also or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    mapping = folder / "mapping.toml"
    mapping.write_text(mapping_text(**changes), encoding="utf-8")
    read = read_own_runs([folder / name for name in contents], kind, mapping, release=release)
    return add_source(read, folder_to_write(folder / database, read.release))


def query(folder: Path, sql: str, database: str = "db") -> list[tuple[Any, ...]]:
    """The rows of a query on the database of a folder."""
    with open_database(folder / database) as db:
        return db.sql(sql).rows()
