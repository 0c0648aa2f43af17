"""What other programs read in a published release: Iceberg tables, and what card and docs show."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable, Table

from dbtool.core.errors import UsageError
from dbtool.core.manifest import MANIFEST, SUMS, read_manifest
from dbtool.release.layout import (
    CARD,
    MEANINGS,
    MEASUREMENTS_TABLE,
    address_of,
    address_of_folder,
    check_base_url,
    iceberg_state,
    published_columns,
)
from dbtool.release.publish import publish
from dbtool.release.verify import verify
from tests.support.documents import DOCUMENTS, blocks_of
from tests.support.made_up import curve, write_shard
from tests.support.published import SGD, bytes_of, published, texts_of, write_shards
from tests.support.spark import needs_spark, open_spark

# Letters that folders' names hold as %XX, of more than one byte each, and what looks like that.
ODD = "a b/ü=+&/c%20"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = write_shards(tmp_path_factory.mktemp("own") / "release")
    write_shard(own, workload=ODD, trials=[(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9]))])
    return own


@pytest.fixture(scope="module")
def folder(own: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "my release"
    return published(own, out, licence="CC-BY-4.0", iceberg=address_of_folder(out))


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package of Hugging Face, without a network, its cache in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("hugging-face")))
        patch.setenv("HF_HUB_OFFLINE", "1")
        datasets = pytest.importorskip("datasets")
        datasets.disable_progress_bars()
        yield datasets


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with open_spark() as session:
        yield session


def programs(folder: Path) -> dict[str, dict[str, str]]:
    """By text and package, the programs that the card and the docs show, of this folder."""
    texts = {
        "card": (folder / "README.md").read_text().replace("FOLDER", str(folder)),
        "docs": DOCUMENTS["publishing.md"].read_text().replace("my-release", str(folder)),
    }
    return {
        name: {
            block.text.split()[1].split(".")[0]: block.text for block in blocks_of(text, "python")
        }
        for name, text in texts.items()
    }


def run(folder: Path, package: str, shown: str = "docs") -> dict[str, Any]:
    """What a program leaves."""
    names: dict[str, Any] = {}
    exec(programs(folder)[shown][package], names)  # noqa: S102 (what the text says)
    return names


def in_files(folder: Path, table: str) -> pl.DataFrame:
    """The rows of a table as its files hold them, read one by one."""
    manifest = read_manifest(folder)
    paths = [file.path for file in manifest.shards]
    paths = paths if table == MEASUREMENTS_TABLE else [f"{table}.parquet"]
    return pl.concat(pl.read_parquet(folder / path, hive_partitioning=False) for path in paths)


def check(folder: Path, table: str, found: pa.Table, *, nan_is_null: bool = False) -> None:
    """Compares the columns, types and rows of a table with those of its files."""
    rows, expected = pl.DataFrame(pl.from_arrow(found)), in_files(folder, table)
    if nan_is_null:
        # A column without values has no type then.
        rows, expected = rows.fill_nan(None), expected.fill_nan(None)
        empty = [name for name in rows.columns if rows[name].null_count() == len(rows)]
        rows, expected = rows.drop(empty), expected.drop(empty)
    assert rows.schema == expected.schema
    assert texts_of(rows) == texts_of(expected)


def test_the_card_shows_the_calls_of_the_docs(folder):
    """But those of Iceberg tables, whose address the card knows."""
    shown = programs(folder)
    assert len(shown["card"]) >= 5
    for package, program in shown["card"].items():
        assert package == "pyiceberg" or shown["docs"][package].startswith(program)


READ: dict[str, Callable[[Any], pa.Table]] = {
    "polars": lambda found: found.collect().to_arrow(),
    "pandas": lambda found: pa.Table.from_pandas(found, preserve_index=False),
    "pyarrow": lambda found: found.to_table(),
    "pyiceberg": lambda found: found.scan().to_arrow(),
    "datasets": lambda found: found.data.table,
    "pyspark": lambda found: found.toArrow(),
}


@pytest.mark.parametrize(
    ("package", "shown", "needed"),
    [
        ("polars", "docs", None),
        ("pandas", "docs", None),
        ("pyarrow", "docs", None),
        ("pyiceberg", "docs", None),
        ("pyiceberg", "card", None),
        ("datasets", "docs", "datasets"),
        pytest.param("pyspark", "docs", "spark", marks=[pytest.mark.slow, needs_spark]),
    ],
)
def test_a_program_reads_the_rows_of_the_files(package, shown, needed, folder, request):
    if needed is not None:
        request.getfixturevalue(needed)
    names = run(folder, package, shown)
    for table in ("trials", "measurements"):
        check(folder, table, READ[package](names[table]), nan_is_null=package == "pandas")


STORE = "s3://bucket/my-release"


def opened(address: str, table: str) -> Table:
    return StaticTable.from_metadata(f"{address}/{iceberg_state(table)}")


def data_files(table: Table, **scan: Any) -> list[str]:
    """The addresses of the files that a scan would open."""
    return sorted(task.file.file_path for task in table.scan(**scan).plan_files())


@pytest.mark.parametrize("table", MEANINGS)
def test_pyiceberg_reads_the_rows_of_the_files(folder, table):
    found = opened(address_of_folder(folder), table)
    rows = found.scan().to_polars()
    assert rows.columns == [column.name for column in published_columns()[table]]
    assert rows.schema == in_files(folder, table).schema
    assert texts_of(rows) == texts_of(in_files(folder, table)) != []
    # No engine is to remove files.
    assert found.properties["gc.enabled"] == "false"
    snapshot: Any = found.current_snapshot()
    assert snapshot.summary["total-records"] == str(len(rows))
    # The day on which the shards were written, 2025-01-01.
    assert snapshot.timestamp_ms == found.metadata.last_updated_ms == 1_735_689_600_000
    # What a column means is told with it, and which are never NULL.
    for column in published_columns()[table]:
        assert found.schema().find_field(column.name).doc == column.meaning != ""
    assert found.schema().find_field("workload").required == (table == MEASUREMENTS_TABLE)


def test_only_the_files_of_a_study_are_opened(folder):
    assert verify(folder).problems == ()
    base = address_of_folder(folder)
    table = opened(base, MEASUREMENTS_TABLE)
    shards = {file.path: file for file in read_manifest(folder).shards}
    assert data_files(table) == sorted(address_of(base, path) for path in shards)
    # Each file has its study as its partition, which is exact where bounds are cut short.
    assert [field.name for field in table.spec().fields] == ["workload", "batch_size"]
    folders = {
        quote(task.file.partition[0], safe="") + f"/batch_size={task.file.partition[1]}"
        for task in table.scan().plan_files()
    }
    assert folders == {path.split("/workload=")[1].rpartition("/")[0] for path in shards}
    expected = sorted(path for path in shards if "sgd/batch_size=8/" in path)
    assert len(expected) == 2
    wanted = f"workload = '{SGD}' AND batch_size = 8"
    assert data_files(table, row_filter=wanted) == [address_of(base, path) for path in expected]
    rows = sum(shards[path].rows or 0 for path in expected)
    assert table.scan(row_filter=wanted).to_arrow().num_rows == rows
    assert data_files(table, row_filter=f"workload = '{ODD}'") != []
    # Where there is any value it may be NaN, which bounds would leave out.
    loss = "batch_cross_entropy_error"
    held = {path: pl.read_parquet(folder / path, hive_partitioning=False)[loss] for path in shards}
    measured = [address_of(base, path) for path in sorted(shards) if held[path].count()]
    assert 0 < len(measured) < len(data_files(table))
    assert data_files(table, row_filter=f"{loss} > 1000000.0") == measured
    assert data_files(table, row_filter="step > 1000000") == []


@pytest.mark.slow
def test_the_rest_of_the_folder_is_that_without_tables(own, tmp_path):
    plain = bytes_of(published(own, tmp_path / "plain"))
    tables = bytes_of(published(own, tmp_path / "tables", iceberg=STORE))
    metadata = {path for path in tables if path.startswith("iceberg/")}
    assert tables.keys() - metadata == plain.keys()
    assert len(metadata) == 4 * len(MEANINGS)
    told = {CARD, MANIFEST, SUMS}
    assert {path for path in plain if plain[path] != tables[path]} == told
    assert tmp_path.as_posix().encode() not in b"".join(tables[path] for path in metadata | told)
    # The same bytes again, from a process of its own too, and other names for what differs.
    words = ["publish", str(tmp_path / "plain"), "--out", str(tmp_path / "b")]
    words += ["--catalog", "iceberg", "--base-url", f"{STORE}/"]
    subprocess.run([sys.executable, "-m", "dbtool", *words], check=True, capture_output=True)
    assert bytes_of(tmp_path / "b") == tables
    elsewhere = bytes_of(published(own, tmp_path / "c", iceberg=f"{STORE}-2"))
    avro = {path for path in metadata if path.endswith(".avro")}
    assert len(avro) == 2 * len(MEANINGS)
    assert not avro & elsewhere.keys()
    # On a web server, where letters are written as %XX.
    web = published(own, tmp_path / "d", iceberg="https://example.org/mine")
    state = json.loads((web / iceberg_state(MEASUREMENTS_TABLE)).read_text())
    [snapshot] = state["snapshots"]
    assert snapshot["manifest-list"].startswith("https://example.org/mine/iceberg/")
    assert "iceberg_scan('https://example.org/mine/iceberg/" in (web / CARD).read_text()


def test_no_tables_stay_of_what_the_release_was(own, tmp_path):
    def tables() -> list[Path]:
        return [path for path in out.rglob("iceberg/**/*") if path.is_file()]

    out = published(own, tmp_path / "out", iceberg=STORE)
    before = {path for path in tables() if path.suffix == ".avro"}
    publish(out, iceberg=address_of_folder(out))
    assert not before & set(tables())
    assert opened(address_of_folder(out), MEASUREMENTS_TABLE).scan().count() > 0
    again = published(own, tmp_path / "again", iceberg=address_of_folder(out))
    assert bytes_of(out) == bytes_of(again)
    publish(out)
    assert tables() == []
    assert bytes_of(out) == bytes_of(published(own, tmp_path / "plain"))


def test_shards_without_rows_are_no_files_of_a_table(tmp_path):
    own, out = tmp_path / "own", tmp_path / "out"
    trials: Any = [(0, "INFEASIBLE", {"learning_rate": 9.0}, [])]
    write_shard(own, trials=trials, producer={"created": None})
    published(own, out, iceberg=address_of_folder(out))
    assert opened(address_of_folder(out), MEASUREMENTS_TABLE).scan().to_arrow().num_rows == 0
    found = opened(address_of_folder(out), "trials")
    assert found.scan().to_arrow().num_rows == 1
    # Without a date it is the oldest.
    assert found.metadata.last_updated_ms == 0
    write_shard(own, batch_size=8)
    publish(own, iceberg=address_of_folder(own), licence="CC0-1.0")
    assert len(data_files(opened(address_of_folder(own), MEASUREMENTS_TABLE))) == 1


@pytest.mark.parametrize(
    "address",
    [
        *("example.org/a", "s3:///a", "file://a", "ftp://example.org/a", "https://example.org:0/a"),
        *("https://me:secret@example.org/a", "https://example.org/a?b=c", "s3://bucket/a#b"),
        *("https://example.org/a b", "s3://bucket/it's", "s3://bucket/\x1b"),
    ],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(UsageError):
        check_base_url(address)


def test_addresses_of_files():
    path = "measurements/workload=a%2Fb/batch_size=8/0.parquet"
    web = "measurements/workload%3Da%252Fb/batch_size%3D8/0.parquet"
    assert address_of(check_base_url("https://example.org/"), path) == f"https://example.org/{web}"
    for base in ("s3://bucket", "abfss://files@account.example.org/a", "hf://datasets/a/b"):
        assert address_of(check_base_url(f"{base}/"), path) == f"{base}/{path}"
    assert address_of_folder(Path("/a b/it's")) == "file:///a b/it's"
    with pytest.raises(UsageError, match="--base-url"):
        address_of_folder(Path("/a/what?"))
