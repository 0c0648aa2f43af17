"""Opening databases: versions, files that are none, and what queries may not touch."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from dbtool.errors import DbtoolError
from dbtool.store.database import open_for_reading, open_for_writing, schema_version

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "db.duckdb"
    open_for_writing(path).close()
    return path


@pytest.mark.parametrize("step", [-1, 1])
def test_another_schema_version_is_named(database: Path, step: int) -> None:
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE stored.schema_version SET version = version + ?", [step])
    for opened in (open_for_reading, open_for_writing):
        with pytest.raises(DbtoolError, match=f"schema version {schema_version() + step}"):
            opened(database)


def test_what_is_no_database_is_named(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("made up " * 1000)
    other = tmp_path / "other.duckdb"
    duckdb.connect(other).close()
    for path, reason in (
        (text, "is not a database"),
        (tmp_path, "is a folder"),
        (other, "dbtool did not make"),
    ):
        with pytest.raises(DbtoolError, match=reason):
            open_for_reading(path)
    with pytest.raises(DbtoolError, match="there is no database"):
        open_for_reading(tmp_path / "nowhere")


def test_a_damaged_database_is_named(database: Path) -> None:
    sound = database.read_bytes()
    for contents, reason in (
        (b"", "is not a database"),
        (b"x", "is not a database"),
        (sound[: len(sound) // 2], "damaged"),
        (sound[:5000], "damaged"),
        (sound[:20] + bytes([sound[20] ^ 1]) + sound[21:], "damaged"),
    ):
        database.write_bytes(contents)
        for opened in (open_for_reading, open_for_writing):
            with pytest.raises(DbtoolError, match=reason) as raised:
                opened(database)
            assert "\n" not in str(raised.value)
        assert database.read_bytes() == contents


def test_a_database_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DbtoolError, match="cannot make the database"):
        open_for_writing(tmp_path / "nowhere" / "db")
    (tmp_path / "file").touch()
    with pytest.raises(DbtoolError, match="cannot make the database"):
        open_for_writing(tmp_path / "file" / "db")


def test_processes_that_make_it_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "db"
    program = (
        "import pathlib; from dbtool.store import database; "
        f"database._make(pathlib.Path({str(path)!r}))"
    )
    makers = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]
    assert [maker.wait() for maker in makers] == [0] * 4
    assert list(tmp_path.iterdir()) == [path]
    open_for_reading(path).close()


def test_a_process_may_read_twice_at_once(database: Path) -> None:
    with open_for_reading(database) as one, open_for_reading(database) as other:
        for connection in (one, other):
            assert connection.execute("SELECT count(*) FROM measurements").fetchall() == [(0,)]
            with pytest.raises(duckdb.Error):
                connection.execute("SELECT * FROM glob('*')")
        with pytest.raises(DbtoolError, match="already open in this process"):
            open_for_writing(database)


def test_a_database_in_use_is_named(database: Path) -> None:
    program = (
        "import pathlib, sys; from dbtool.store.database import open_for_writing; "
        f"connection = open_for_writing(pathlib.Path({str(database)!r})); "
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        for opened in (open_for_reading, open_for_writing):
            with pytest.raises(DbtoolError, match="is in use by another process"):
                opened(database)
        holder.communicate("")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{other}')",
        "SELECT * FROM read_text('{other}')",
        "SELECT * FROM '{other}'",
        "SELECT * FROM glob('{folder}/*')",
        "COPY (SELECT 1) TO '{new}'",
        "COPY (SELECT 1) TO '{database}'",
        # What enable_external_access alone lets through, as these are the open database's files.
        "COPY (SELECT 1) TO '{database}' (FORMAT csv, USE_TMP_FILE false)",
        "COPY (SELECT 1) TO '{database}.wal'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{database}.wal'",
        "SELECT size FROM read_blob('{database}')",
        "CALL enable_logging(storage = 'file', storage_path = '{folder}')",
        "CREATE PERSISTENT SECRET made_up (TYPE s3)",
        "IMPORT DATABASE '{folder}'",
        "SELECT getenv('HOME')",
        "ATTACH '{new}'",
        "ATTACH '{other}' (TYPE sqlite)",
        "EXPORT DATABASE '{new}'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET disabled_filesystems",
        "SET temp_directory = '{folder}'",
        "PRAGMA enable_profiling = 'json'",
        "CREATE TABLE made_up (x INTEGER)",
        "DELETE FROM stored.measurement",
        "DROP VIEW measurements",
    ],
)
def test_queries_cannot_change_or_touch_anything(database: Path, query: str) -> None:
    other = database.with_name("other.csv")
    other.write_text("a\n1\n")
    before = {path.name: path.read_bytes() for path in database.parent.iterdir()}
    names = {
        "other": other,
        "folder": database.parent,
        "new": database.with_name("new"),
        "database": database,
    }
    with open_for_reading(database) as connection, pytest.raises(duckdb.Error):
        connection.execute(query.format(**names)).fetchall()
    assert {path.name: path.read_bytes() for path in database.parent.iterdir()} == before


def test_variables_of_python_are_no_tables(database: Path) -> None:
    rows = {"secret": [1]}
    assert rows
    with open_for_reading(database) as connection, pytest.raises(duckdb.CatalogException):
        connection.execute("SELECT * FROM rows")
