"""Opening releases: damage and hostile contents are told in a sentence, and queries only read."""

import contextlib
import json
import os
import random
import re
import shutil
from pathlib import Path

import duckdb
import platformdirs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbtool.core.errors import DbtoolError
from dbtool.core.index import TABLES
from dbtool.core.manifest import read_manifest
from dbtool.database import open_database
from tests.dbtool.store.conftest import failure
from tests.support.made_up import write_shard
from tests.support.published import (
    bytes_of,
    everything,
    flipped,
    list_as_it_is,
    rewrite,
    write_shards,
    write_swapped,
)

COUNT = "SELECT count(step), sum(step), sum(val_classification_error) FROM measurements"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_shards(tmp_path / "release")


@pytest.mark.parametrize("every", [293, pytest.param(1, marks=pytest.mark.slow)])
def test_every_flipped_byte_of_a_shard_is_noticed(folder, every):
    """By the question that would read it, also where others were asked before."""
    chance = random.Random(1)
    with open_database(folder) as db:
        sound = db.sql(COUNT).rows()
        for file in read_manifest(folder).shards[:2]:
            path = folder / file.path
            content = path.read_bytes()
            for position in range(0, len(content), every):
                path.write_bytes(flipped(content, position, chance.randrange(8)))
                with pytest.raises(DbtoolError, match="is damaged: its contents are not those"):
                    db.sql(COUNT)
                assert db.workloads().height == 2
            path.write_bytes(content)
            assert db.sql(COUNT).rows() == sound


@pytest.mark.parametrize("kind", ["gone", "short", "long", "pipe"])
def test_a_shard_that_is_not_what_was_listed(folder, kind):
    """Also the one that is opened for its columns, of which DuckDB would say it is no Parquet."""
    smallest, *_, largest = sorted(read_manifest(folder).shards, key=lambda file: file.bytes)
    for file in (smallest, largest):
        path = folder / file.path
        content = path.read_bytes()
        path.unlink()
        match kind:
            case "pipe":
                os.mkfifo(path)
            case "short":
                path.write_bytes(content[:-1])
            case "long":
                path.write_bytes(content + b"x")
        assert f"{path} is damaged: it" in failure(folder)
        path.unlink(missing_ok=True)
        path.write_bytes(content)


def test_what_was_sound_is_not_read_again(folder):
    told: list[tuple[int, int]] = []

    def ask() -> int:
        told.clear()
        with open_database(folder, on_progress=lambda *each: told.append(each)) as db:
            db.sql(COUNT)
        return len(told)

    assert ask() == 4
    assert told[-1][0] == told[-1][1] == sum(file.bytes for file in read_manifest(folder).shards)
    # What changed just now may change again within a tick of the file system's clock.
    assert ask() == 4
    for path in folder.rglob("measurements/**/*.parquet"):
        os.utime(path, ns=(0, 0))
    [memory] = (platformdirs.user_cache_path("dbtool") / "sound").iterdir()
    states = {
        file.path: [file.sha256, *map(found.__getattribute__, NAMES)]
        for file in read_manifest(folder).shards
        for found in [(folder / file.path).stat()]
    }
    memory.write_text(json.dumps(states))
    assert ask() == 0
    # Of another time or elsewhere, it is another file.
    copied = folder / read_manifest(folder).shards[0].path
    copied.write_bytes(copied.read_bytes())
    assert ask() == 1
    for noise in (b"", b"[]", b"\xff", b'{"a": 1}', b"[" * 100_000):
        memory.write_bytes(noise)
        assert ask() == 4


NAMES = ("st_size", "st_ino", "st_mtime_ns", "st_ctime_ns")


def test_a_cache_that_cannot_be_written_is_done_without(folder, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert everything(folder)["measurements"]


def test_a_manifest_that_leaves_out_a_shard_is_refused(folder):
    manifest = read_manifest(folder)
    rewrite(folder, files=tuple(each for each in manifest.files if each != manifest.shards[0]))
    assert failure(folder).startswith(
        f"the index of {folder} is not sound: trials.parquet has other"
    )


def test_a_shard_out_of_contract_is_a_sentence(folder):
    for file in read_manifest(folder).shards:
        rows = pq.read_table(folder / file.path, partitioning=None)
        pq.write_table(rows.drop_columns(["step"]), folder / file.path)
        list_as_it_is(folder, file.path)
    failure(folder, "SELECT max(step) + 1 FROM measurements")


def test_hostile_names_are_values_like_others(tmp_path):
    """In SQL that is put together of them."""
    name = 'a\'; DROP TABLE "b" --/{}?*[x]/$1'
    folder = tmp_path / "it's [a] *folder? {1}"
    write_shard(folder, release=name, workload=name)
    with open_database(folder, release=name) as db:
        query = "SELECT release, workload FROM measurements WHERE workload = $name"
        assert db.sql(query, name=name).rows() == [(name, name)]
        assert db.measurements([name]).collect().height == 1
        assert db.steps([name], goal=0.95)["steps"].to_list() == [0]
        assert db.best([name])["value"].to_list() == [0.9]


def test_names_of_folders_are_not_patterns(tmp_path):
    """Another folder that they would match holds the very same shards."""
    releases = {name: name.replace(",", "-") for name in ("a", "*", "?", "[a]", "{a,b}")}
    for name, release in releases.items():
        write_shards(tmp_path / name, release=release)
    query = "SELECT release, count(*) FROM measurements GROUP BY release"
    for name, release in releases.items():
        with open_database(tmp_path / name) as db:
            assert db.sql(query).rows() == [(release, 169)]
    with open_database(tmp_path) as db:
        assert set(db.sql(query)) == {(release, 169) for release in releases.values()}


def test_a_shard_of_another_study_than_its_path_is_refused(tmp_path):
    """Though the manifest has its hash, and the index its rows."""
    folder = write_swapped(tmp_path / "release")
    assert "is damaged: its name is not that of its study and its contents" in failure(folder)


def test_a_release_without_shards_has_no_rows(folder):
    shutil.rmtree(folder / "measurements")
    for table in TABLES:
        pq.write_table(pq.read_table(folder / table).slice(0, 0), folder / table)
    files = tuple(each for each in read_manifest(folder).files if each.path in TABLES)
    rewrite(folder, files=files)
    for table in TABLES:
        list_as_it_is(folder, table)
    with open_database(folder) as db:
        assert db.releases()["measurements"].to_list() == [0]
        assert db.sql("FROM measurements").rows() == []
        assert db.measurements().collect().height == 0


QUERIES = (
    "SELECT * FROM read_text('{other}')",
    "SELECT * FROM glob('{outside}/*')",
    "SELECT * FROM read_text('{folder}/../other.csv')",
    "COPY (SELECT 1) TO '{folder}/new'",
    "COPY (SELECT 1) TO '{shard}' (FORMAT csv, USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{shard}' (FORMAT csv, USE_TMP_FILE false)",
    "EXPLAIN /* */ analyse DELETE FROM stored.trials",
    "FROM enable_logging(storage = 'file', storage_path = '{folder}')",
    "FROM query('FROM enable_' || 'logging(storage = ''stdout'')')",
    "FROM \"query\" /* /* ( */ */ ('FROM enable_' || 'profiling()')",
    "FROM system.main.Query -- (\n('SELECT 1')",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM enable_profiling()'))",
    "SELECT (SELECT 1 FROM \"Enable_Logging\"(storage = 'stdout'))",
    "SUMMARIZE FROM enable_logging(storage = 'stdout')",
    "EXPLAIN (FORMAT json) /* é */ FROM query('FROM enable_profiling()')",
    "EXPLAIN (FROM enable_logging(storage = 'stdout'))",
    "EXPLAIN (ANALYZE) (SELECT 1)",
    "EXPLAIN DELETE FROM stored.trials",
    "WITH gone AS (INSERT INTO stored.trials FROM enable_logging() RETURNING *) FROM gone",
    "FROM arrow_scan(0, 0, 0)",
    "FROM force_checkpoint()",
    "UPDATE EXTENSIONS",
    "FROM enable_profiling(format = 'json')",
    "CREATE PERSISTENT SECRET made_up (TYPE s3)",
    "IMPORT DATABASE '{folder}'",
    "SELECT getenv('HOME')",
    "ATTACH '{folder}/new'",
    "ATTACH '{other}' (TYPE sqlite)",
    "EXPORT DATABASE '{folder}'",
    "INSTALL httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET temp_directory = '{folder}'",
    "PRAGMA enable_profiling = 'json'",
    "CREATE TABLE made_up (x INTEGER)",
    "DELETE FROM stored.trials",
    "WITH gone AS (DELETE FROM stored.trials RETURNING *) FROM gone",
    "SELECT 1; DROP VIEW measurements",
    "",
)

# What the check of a query alone keeps from running: these write to the shards themselves, or end
# the process, print or answer (DuckDB 1).
UNREACHED = re.compile(
    r"EXPLAIN|{shard}|able_(logging|profiling)|query\b|UPDATE EXT|_scan|checkpoint", re.IGNORECASE
)


@pytest.fixture
def names(folder: Path) -> dict[str, Path]:
    """The files and folders that queries name."""
    other = folder.with_name("other.csv")
    other.write_text("a\n1\n")
    shard = folder / read_manifest(folder).shards[0].path
    return {"other": other, "folder": folder, "outside": folder.parent, "shard": shard}


def test_queries_cannot_change_or_touch_or_print_anything(folder, names, capfd):
    before = bytes_of(folder.parent)
    with open_database(folder) as db:
        trials = db.trials().height
        for query in QUERIES:
            with pytest.raises(DbtoolError) as caught:
                db.sql(query.format(**names))
            assert "\n" not in str(caught.value), query
            assert db.trials().height == trials, query
    assert bytes_of(folder.parent) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_what_kind_of_statement_it_is_does_not_matter(folder, names):
    """Past the check of it, a connection cannot touch anything either, but the shards it reads."""
    before = bytes_of(folder.parent)
    for query in QUERIES:
        if query and not UNREACHED.search(query):
            with (
                open_database(folder) as db,
                db.cursor() as cursor,
                contextlib.suppress(duckdb.Error),
            ):
                assert cursor.execute(query.format(**names)).fetchall() == [], query
    assert bytes_of(folder.parent) == before


def test_variables_of_python_are_no_tables(folder):
    secret = pa.table({"secret": [1]})
    assert len(secret) == 1
    assert "Table with name secret does not exist" in failure(folder, "SELECT * FROM secret")


def test_what_only_reads_is_answered(folder):
    with open_database(folder) as db:
        for query in (
            "DESCRIBE trials",
            "EXPLAIN FROM trials",
            "EXPLAIN (FORMAT json) /* é */ SELECT 'analyze' FROM trials",
            "EXPLAIN (SELECT 1)",
            "EXPLAIN (FORMAT json) (FROM trials) UNION ALL (FROM trials)",
            "SHOW TABLES",
            "VALUES (1)",
            "WITH query(a) AS (SELECT 1) FROM query",
            "SELECT 'disable_profiling' AS enable_logging -- FROM query('x')",
            """SELECT '"function_name":"query"' AS \"""function_name"":""query\"""",
        ):
            assert len(db.sql(query)) >= 1, query


def test_what_is_open_stays_as_it_was_while_writers_add(folder):
    with open_database(folder) as early:
        before = early.sql(COUNT).rows(), early.studies().height
        write_shard(folder, batch_size=2)
        assert (early.sql(COUNT).rows(), early.studies().height) == before
    with open_database(folder) as late:
        assert late.studies().height == before[1] + 1
