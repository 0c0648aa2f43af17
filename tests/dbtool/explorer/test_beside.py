"""The explorer beside a published release: listed, checked, pulled, renewed and taken away."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest

from dbtool.core.manifest import read_manifest
from dbtool.database import explore_beside
from dbtool.figures.specs import FIGURES
from dbtool.release.verify import verify
from tests.dbtool.explorer.conftest import ERRORS, RELEASE
from tests.support.explorer import contents_of, needs_explorer
from tests.support.made_up import write_shard
from tests.support.published import bytes_of, published

pytestmark = needs_explorer
TABLES = ("trials", "improvements", "curves")
FILES = {"explorer.html", *(f"explorer/{name}.parquet" for name in TABLES)}


@pytest.fixture(scope="module")
def folder(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(release, tmp_path_factory.mktemp("out") / "new", explorer=explore_beside)


def listed(folder: Path) -> set[str]:
    return {file.path for file in read_manifest(folder).files if "explorer" in file.path}


@pytest.mark.slow
def test_what_is_beside_a_release_belongs_to_it(folder):
    assert listed(folder) == FILES
    assert verify(folder).problems == ()
    for path in FILES - {"explorer.html"}:
        held: Any = read_manifest(folder).file(path)
        assert held.rows == pl.read_parquet(folder / path).height
    assert "[explorer.html](explorer.html)" in (folder / "README.md").read_text()


@pytest.mark.slow
def test_the_same_release_gives_the_same_bytes(folder, release, tmp_path):
    again = published(release, tmp_path / "again", explorer=explore_beside)
    assert bytes_of(again) == bytes_of(folder)
    # Where it lies, too, and after it was published before.
    published(again, again, explorer=explore_beside)
    assert bytes_of(again) == bytes_of(folder)


@pytest.mark.slow
def test_the_page_asks_its_own_server_for_tables_and_shards(folder):
    page = folder / "explorer.html"
    assert "connect-src 'self'; " in page.read_text(encoding="utf-8")
    contents = contents_of(page)
    assert contents.facts["files"] == {
        name: {"path": path, "bytes": (folder / path).stat().st_size}
        for name in TABLES
        for path in [f"explorer/{name}.parquet"]
    }
    assert contents.tables == {}
    figures = contents.figures
    assert len(figures["figures"]) + len(figures["missing"]) == len(FIGURES)
    for workload in contents.facts["workloads"]:
        for study in workload["studies"]:
            shards = [folder / unquote(shard["path"]) for shard in study["shards"]]
            assert shards
            sizes = [shard["bytes"] for shard in study["shards"]]
            assert [shard.stat().st_size for shard in shards] == sizes
            tables = [pl.read_parquet(shard, hive_partitioning=False) for shard in shards]
            rows = pl.concat(tables, how="diagonal")
            assert set(rows["workload"]) == {workload["workload"]}
            assert set(rows["batch_size"]) == {study["batch_size"]}


@pytest.mark.slow
def test_what_is_added_and_publishing_without_it_take_it_away(release, tmp_path):
    out = published(release, tmp_path / "out", explorer=explore_beside)
    published(out, out)
    assert listed(out) == set()
    assert verify(out).problems == ()
    assert "explorer" not in (out / "README.md").read_text()
    published(out, out, explorer=explore_beside)
    write_shard(out, release=RELEASE, workload=ERRORS, batch_size=2, goal=0.2)
    assert listed(out) == set()
    assert verify(out).problems == ()
    assert not (out / "explorer.html").exists()
    assert not (out / "explorer").exists()
