"""What other programs read in a published release, by the calls that its card and docs show."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from dbtool.core.manifest import read_manifest
from dbtool.database import open_database
from dbtool.release.layout import MEANINGS, address_of_folder, published_columns
from tests.support.documents import DOCUMENTS, blocks_of
from tests.support.made_up import curve, write_shard
from tests.support.published import published, texts_of, write_shards
from tests.support.spark import needs_spark, open_spark

# Letters that folders' names hold as %XX, of more than one byte each, and what looks like that.
ODD = "a b/ü=+&/c%20"
# The rows as dbtool has them, the columns of objects as text.
ANSWERS = {
    "workloads": "FROM workloads",
    "studies": "FROM studies",
    "trials": "SELECT * REPLACE (settings AS metaparameters) FROM trials",
    "measurements": "FROM stored.measurements",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("release")
    own = write_shards(base / "own")
    write_shard(own, workload=ODD, trials=[(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9]))])
    out = base / "my-release"
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


def check(folder: Path, table: str, found: pa.Table, *, nan_is_null: bool = False) -> None:
    """Compares the columns, types and rows of a table with dbtool's own answer."""
    with open_database(folder) as db:
        expected = db.sql(ANSWERS[table]).polars().to_arrow()
    assert found.column_names == [column.name for column in published_columns()[table]]
    # Some that the views leave out follow from others.
    common = [name for name in found.column_names if name in expected.column_names]
    assert len(found.column_names) - len(common) <= 1
    assert types(found, common, nan_is_null) == types(expected, common, nan_is_null)
    assert rows(found, common, nan_is_null) == rows(expected, common, nan_is_null)


def types(table: pa.Table, columns: list[str], nan_is_null: bool) -> list[str]:
    """The types of columns; of those without values none, where NULL is NaN."""
    kinds = [str(table.schema.field(name).type).removeprefix("large_") for name in columns]
    return [
        "null" if nan_is_null and table[name].null_count == len(table) else kind
        for name, kind in zip(columns, kinds, strict=True)
    ]


def rows(table: pa.Table, columns: list[str], nan_is_null: bool) -> list[str]:
    frame = pl.DataFrame(pl.from_arrow(table.select(columns)))
    return texts_of(frame.fill_nan(None) if nan_is_null else frame)


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
def test_a_program_reads_what_dbtool_does(package, shown, needed, folder, request):
    if needed is not None:
        request.getfixturevalue(needed)
    names = run(folder, package, shown)
    for table in ("trials", "measurements"):
        check(folder, table, READ[package](names[table]), nan_is_null=package == "pandas")


def test_hugging_face_finds_every_table(folder, datasets):
    path = str(folder)
    assert set(datasets.get_dataset_config_names(path)) == set(MEANINGS)
    assert datasets.get_dataset_default_config_name(path) == "measurements"
    manifest = read_manifest(folder)
    measurements = sum(file.rows or 0 for file in manifest.shards)
    for table in MEANINGS:
        check(folder, table, datasets.load_dataset(path, table, split="train").data.table)
        streamed = list(datasets.load_dataset(path, table, split="train", streaming=True))
        file = manifest.file(f"{table}.parquet")
        assert len(streamed) == (file.rows if file else measurements)
