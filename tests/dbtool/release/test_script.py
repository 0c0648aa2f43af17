"""The script of a published release, with which plain DuckDB has its views and macros."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbtool.database import open_database
from tests.support.made_up import curve, write_shard
from tests.support.published import VIEWS, published, write_shards

QUERIES = (
    *(f"FROM {view}" for view in (*VIEWS, "evaluations")),
    *(f"DESCRIBE {view}" for view in VIEWS),
    "FROM steps_to_result(NULL, NULL, NULL, NULL, 100)",
    "FROM steps_to_result(NULL, 'digits/*', 'val_classification_error', 0.25, 2)",
)


def plain(folder: Path, monkeypatch: pytest.MonkeyPatch) -> duckdb.DuckDBPyConnection:
    """A connection as `duckdb -init dbtool.sql` in the folder leaves it."""
    monkeypatch.chdir(folder)
    connection = duckdb.connect()
    connection.execute((folder / "dbtool.sql").read_text(encoding="utf-8"))
    return connection


def test_plain_duckdb_answers_as_dbtool_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the folder lies, in which nothing is written."""
    out = published(write_shards(tmp_path / "own"), tmp_path / "out", title="It's made up")
    times = {path.name: path.stat().st_mtime_ns for path in out.rglob("*")}
    folder = out.rename(tmp_path / "moved")
    with plain(folder, monkeypatch) as connection, open_database(folder) as db:
        for query in QUERIES:
            found = connection.execute(query).fetchall()
            assert found
            assert sorted(map(str, found)) == sorted(map(str, db.sql(query).rows())), query
    assert {path.name: path.stat().st_mtime_ns for path in folder.rglob("*")} == times


def test_names_of_any_letters_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "it's; DROP VIEW trials; --"
    trials: list[Any] = [(0, "COMPLETE", {}, curve([0.9]))]
    write_shard(tmp_path / "own", release=name, workload='it\'s/a "b"/ü$1', trials=trials)
    folder = published(tmp_path / "own", tmp_path / "it's out", citation="@misc{a, title = {'}}")
    with plain(folder, monkeypatch) as connection:
        query = "SELECT release, workload, batch_size FROM measurements"
        assert connection.execute(query).fetchall() == [(name, 'it\'s/a "b"/ü$1', 64)]
