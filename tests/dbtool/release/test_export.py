"""Exported files against the view, as other programs read them."""

import csv
import hashlib
import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.database import Database, open_database
from dbtool.release import selection
from dbtool.release.export import export
from dbtool.release.file_format import FileFormat, file_format_of
from tests.support import archives
from tests.support.archives import CNN, Replica, contents, imported, query
from tests.support.made_up import curve, write_shard
from tests.support.published import VIEWS

PLANS = archives.PLANS
DIGITS = "digits/simple_cnn_base/sgd"
SIZES = {"archived": 64, "produced": 8}
KEYS = ["release", "workload", "batch_size", "trial_id", "step"]


@pytest.fixture(scope="module")
def archived(replica: Replica) -> Database:
    """What the published archive has, oddities included."""
    return replica.db


@pytest.fixture(scope="module")
def produced_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases, with what the archive's format does not have; trials lie apart in shards."""
    folder = tmp_path_factory.mktemp("produced")
    measured = curve([0.9, 0.5, 1e-7], metric="val_classification_error")
    measured[3] = {**measured[3], "other_metrics": {"noise, scale": 0.1, "seconds": 2.5}}
    measured[5] = {**measured[5], "other_metrics": {"lipschitz": float("nan"), "huge": 1e300}}
    precise = curve([0.1, 0.2], metric="val_average_precision", batch_losses=False)
    diverged = [{"step": 0, "batch_cross_entropy_error": float("inf")}]
    study: Any = {"workload": DIGITS, "batch_size": 8, "train_steps": 10}
    for release, trial in (
        ("first", (5, "COMPLETE", {"learning_rate": 0.1}, measured)),
        ("second", (0, "COMPLETE", {"learning_rate": 0.5}, precise)),
        ("first", (2, "INFEASIBLE", {"learning_rate": 9.0}, diverged)),
    ):
        write_shard(folder / release, release=release, trials=[trial], **study)
    return folder


@pytest.fixture(scope="module")
def produced(produced_folder: Path) -> Iterator[Database]:
    with open_database(produced_folder) as db:
        yield db


def view(db: Database, order: str = "ALL") -> pl.DataFrame:
    return db.sql(f"SELECT * FROM measurements ORDER BY {order}").polars()


def exported(db: Database, out: Path, *words: str, **chosen: Any) -> Path:
    chosen_format = FileFormat.ORIGINAL if out.suffix == "" else file_format_of(out)
    export(db, out, chosen_format, *words, **chosen)
    return out


def read(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_ipc(path)


@pytest.mark.parametrize(("name", "ending"), [("archived", "parquet"), ("produced", "arrow")])
def test_binary_files_hold_the_view(name, ending, request, tmp_path):
    db = request.getfixturevalue(name)
    found = read(exported(db, tmp_path / f"all.{ending}"))
    expected = view(db)
    assert found.schema == expected.schema
    with duckdb.connect() as connection:
        connection.register("found", found)
        again = connection.sql("SELECT * FROM found ORDER BY ALL").to_arrow_table()
    assert pl.DataFrame(again).equals(expected)
    assert found.select(KEYS).equals(found.select(KEYS).sort(KEYS))


def test_csv_and_json_lines(produced, tmp_path):
    with exported(produced, tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    text = exported(produced, tmp_path / "all.jsonl").read_text()
    objects = [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
    expected = view(produced, ", ".join(KEYS)).rows(named=True)
    assert len(rows) == len(objects) == len(expected) == 1 + 21 + 2
    assert {row["seconds"] for row in rows} == {"", "2.5"}
    for row, written, known in zip(rows, objects, expected, strict=True):
        assert list(row) == list(written) == list(known)
        kept = known.pop("other_metrics")
        others = kept and {name: plain(value) for name, value in dict(kept).items()}
        assert json.loads(row.pop("other_metrics") or "null") == others
        assert written.pop("other_metrics") == others
        for name, value in known.items():
            cell = row[name]
            assert (cell == "") == (value is None), name
            if isinstance(value, float):
                # Losses of 32 bits are written with as many digits as tell them apart.
                kind = pa.float32() if name.startswith("batch") else pa.float64()
                assert pa.scalar(float(cell), kind).as_py() == value, name
                number = written[name]
                assert number is None or pa.scalar(number, kind).as_py() == value
                assert (number is None) == (not math.isfinite(value))
            elif value is not None:
                assert cell == str(value)
                assert written[name] == value


def test_nan_in_csv_is_a_number_to_polars(tmp_path):
    losses = [1.5, math.nan, math.copysign(math.nan, -1)]
    rows = [{"step": step, "batch_cross_entropy_error": each} for step, each in enumerate(losses)]
    trials = [(0, "INFEASIBLE", {"learning_rate": 0.1}, rows)]
    write_shard(tmp_path / "own", trials=trials)
    with open_database(tmp_path / "own") as db:
        out = exported(db, tmp_path / "all.csv")
    column = pl.read_csv(out, infer_schema_length=None)["batch_cross_entropy_error"]
    assert str(column.to_list()) == "[1.5, nan, nan]"


def plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


@pytest.mark.parametrize("name", ["produced", pytest.param("archived", marks=pytest.mark.slow)])
def test_a_file_of_duckdb_answers_alone(name, request, tmp_path):
    """With the views and macros, to whoever opens it without dbtool."""
    db = request.getfixturevalue(name)
    out = exported(db, tmp_path / "all.duckdb")
    queries = [f"FROM {view}" for view in (*VIEWS, "evaluations")]
    queries.append("FROM steps_to_result(NULL, NULL, NULL, 0.45, 100)")
    with duckdb.connect(str(out), read_only=True) as connection:
        for query in queries:
            found = sorted(map(str, connection.execute(query).fetchall()))
            assert found
            # What the tables are called is all that differs.
            assert found == sorted(map(str, db.sql(query).rows())), query
    one = exported(db, tmp_path / "one.duckdb", "*/simple_cnn_base/*", batch_size=SIZES[name])
    with duckdb.connect(str(one), read_only=True) as connection:
        sizes = connection.execute("SELECT DISTINCT batch_size FROM measurements").fetchall()
        assert sizes == [(SIZES[name],)]
        [(told, held)] = connection.execute(
            "SELECT (SELECT sum(measurements) FROM workloads), (SELECT count(*) FROM measurements)"
        ).fetchall()
        assert told == held > 0


def test_the_oldest_duckdb_that_dbtool_runs_on_reads_its_file(produced, tmp_path):
    """By the version of the storage, and without `if`, which only DuckDB 2 looks up in a file."""
    out = exported(produced, tmp_path / "all.duckdb")
    with duckdb.connect(str(out), read_only=True) as connection:
        [(tags,)] = connection.execute(
            "SELECT tags FROM duckdb_databases() WHERE NOT internal"
        ).fetchall()
        macros = connection.execute(
            "SELECT function_name FROM duckdb_functions() "
            "WHERE NOT internal AND regexp_matches(macro_definition, '\\bif\\W*\\(')"
        ).fetchall()
    assert tags["storage_version"] == "v1.5.0+"
    assert macros == []


def test_parts(archived, produced, tmp_path):
    everything = view(archived)
    part = read(exported(archived, tmp_path / "p.parquet", "*/simple_cnn_base/*", batch_size=64))
    workloads = [CNN, f"solution_quality/{CNN}"]
    chosen = everything.filter(pl.col("workload").is_in(workloads), batch_size=64)
    assert part.height == chosen.height > 0
    assert part["workload"].unique().sort().to_list() == workloads
    second = read(exported(produced, tmp_path / "s.arrow", release="second"))
    found = second.select("release", "trial_id", "val_average_precision").rows()
    assert found == [("second", 0, 0.1), ("second", 0, 0.2)]


def test_parts_of_any_size_give_the_same_rows(archived, tmp_path, monkeypatch):
    whole = read(exported(archived, tmp_path / "whole.arrow"))
    monkeypatch.setattr(selection, "_ROWS_AT_ONCE", 50)
    assert read(exported(archived, tmp_path / "parts.arrow")).equals(whole)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.tar.gz"])
def test_the_same_rows_give_the_same_bytes(name, archived, tmp_path):
    digests = set()
    for folder in ("first", "second"):
        out = exported(archived, tmp_path / folder / name)
        digests.add(hashlib.sha256(out.read_bytes()).hexdigest())
        assert [path.name for path in out.parent.iterdir()] == [name]
    assert len(digests) == 1
    if name.endswith(".gz"):
        # Neither the time nor the name of the file is in the header.
        assert out.read_bytes()[3:8] == bytes(5)


@pytest.mark.parametrize("name", ["a.duckdb", "folder"])
def test_an_interrupted_export_leaves_nothing(archived, tmp_path, name):
    told: list[tuple[int, int]] = []

    def interrupt(done: int, total: int) -> None:
        told.append((done, total))
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exported(archived, tmp_path / name, on_progress=interrupt)
    assert list(tmp_path.iterdir()) == []
    rows = view(archived).height
    assert told == sorted(told)
    assert told[-1] == (rows, rows)


@pytest.mark.slow
def test_pandas_is_not_imported(replica, tmp_path):
    """A Ctrl-C while Arrow imports it would be lost."""
    assert importlib.util.find_spec("pandas")
    program = """
import sys
from dbtool.cli.main import app
for words in (["a.parquet"], ["a.duckdb"], ["folder", "--format", "original"]):
    app(["export", "--db", sys.argv[1], "--out", *words], standalone_mode=False)
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, str(replica.folder)], cwd=tmp_path, check=True)


def test_measurements_of_producers_come_back(produced, produced_folder, tmp_path):
    out = exported(produced, tmp_path / "original", release="first")
    text = (out / f"batch_science/{DIGITS}/8/5/measurements.csv").read_text()
    assert text.splitlines()[0] == (
        "step,val/classification_error,batch/cross_entropy_error,"
        'huge,lipschitz,"noise, scale",seconds'
    )
    # As the archive has them: nothing where there is no value, and words for what is no number.
    diverged = (out / f"batch_science/{DIGITS}/8/2/measurements.csv").read_text()
    fields = ",".join((text + diverged).splitlines()).split(",")
    assert {"", "nan", "inf"} <= set(fields)
    again = tmp_path / "again"
    assert not imported(out, again, release="first").malformed
    for columns in (
        *("* FROM measurements", "* EXCLUDE (seed, shard, producer) FROM trials"),
        "* EXCLUDE (seed) FROM studies",
    ):
        sql = f"SELECT {columns} ORDER BY ALL"
        assert str(query(again, sql)) == str(query(produced_folder / "first", sql))


def test_no_workload_has_a_folder_elsewhere(tmp_path):
    names = ("../../up/a/b", "/root/a/b", "a//b/c", "a/./b/c")
    folder = tmp_path / "a" / "b"
    parts: dict[str, Any] = {"collection": None, "dataset": "a", "model": "b", "optimizer": "c"}
    for name in names:
        write_shard(folder / "own", workload=name, **parts)
    with open_database(folder / "own") as db:
        for name, out in product(names, ("original", "a.tar")):
            with pytest.raises(UsageError, match="is not a path of a folder, as the original"):
                exported(db, folder / out, name)
    assert [path.name for path in folder.iterdir()] == ["own"]


def test_a_metric_that_no_header_can_name(tmp_path):
    rows = curve([0.9, 0.5])
    rows[0] = {**rows[0], "other_metrics": {"two\nlines": 1.0}}
    write_shard(tmp_path / "own", trials=[(0, "COMPLETE", {"learning_rate": 0.1}, rows)])
    sentence = r"the metric 'two\\nlines' cannot stand in a header"
    with open_database(tmp_path / "own") as db, pytest.raises(DbtoolError, match=sentence):
        exported(db, tmp_path / "original")
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


@pytest.mark.parametrize("name", ["a.tar.bz2", pytest.param("folder", marks=pytest.mark.slow)])
def test_a_replica_comes_back(name, replica, tmp_path):
    export(replica.db, tmp_path / name, FileFormat.ORIGINAL)
    assert not imported(tmp_path / name, tmp_path / "db").malformed
    assert contents(tmp_path / "db") == contents(replica.folder)
