"""The page as a file, alone or beside a published release: what it holds, escapes and needs."""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from dbtool import __version__
from dbtool.core.manifest import read_manifest
from dbtool.database import explore_beside
from dbtool.figures.points import Request, read_points
from dbtool.figures.specs import FIGURES, find_figure
from dbtool.release.verify import verify
from tests.dbtool.explorer.conftest import BIBTEX, ERRORS, HOSTILE, RELEASE
from tests.support.explorer import contents_of, needs_explorer, write_page
from tests.support.made_up import write_shard
from tests.support.published import bytes_of, published

pytestmark = needs_explorer


@pytest.fixture(scope="module")
def page(release, tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "new" / "explorer.html"
    return write_page(release, out, "learning-rates", "figure_01")


def test_the_policy_lets_the_pages_own_script_and_style_run_and_asks_nothing_of_others(page):
    text = page.read_text(encoding="utf-8")
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[0]
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src 'none'; " in policy
    for tag in ("style", "script"):
        own = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[0]
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.findall(r'<(?:script|img|link|iframe)[^>]* (?:src|href)="', text)


def test_the_facts_tell_of_every_study(page, release, db):
    facts = contents_of(page).facts
    names = [row[1] for row in db.sql("FROM workloads ORDER BY release, workload")]
    assert [each["workload"] for each in facts["workloads"]] == names
    for each in facts["workloads"]:
        studies = db.studies(each["workload"]).sort("batch_size").rows(named=True)
        for study, expected in zip(each["studies"], studies, strict=True):
            for name in ("batch_size", "train_steps", "stopped"):
                assert study[name] == expected[name]
            held = [expected[name] for name in ("complete", "incomplete", "infeasible")]
            assert (study["trials"], study["shards"]) == (sum(held), None)
            assert set(study["search_space"]) == {"learning_rate", "momentum"}
            assert study["windowed"] is False
    assert (facts["files"], facts["version"]) == (None, __version__)
    assert facts["releases"] == [
        {"release": RELEASE, "title": HOSTILE, "licence": "CC0-1.0", "citation": BIBTEX}
    ]
    assert facts["bibtex"].endswith(BIBTEX)
    assert facts["options"] == ["--db", str(release)]


def test_the_queries_to_copy_give_what_dbtool_answers(page, db):
    queries = contents_of(page).facts["queries"]
    assert set(queries) == {"steps", "learning_rates", "trials", "curves"}
    metric = {"metric": "val_classification_error"}
    for kind in ("steps", "learning_rates"):
        for goal, trials in ((0.2, None), (0.5, 5), (0.01, None)):
            asked = {"keys": [f"{RELEASE}:{ERRORS}"], "goal": goal, "trials": trials}
            found = db.sql(queries[kind], **asked, **metric).polars()
            answer = db.scaling(ERRORS, trials=trials, goal=goal)
            expected = answer.rows(kind).select(found.columns)
            assert_frame_equal(found, expected, check_dtypes=False)


def test_figures_have_their_points_and_say_how_they_are_drawn(page, db):
    figures = contents_of(page).figures
    spec = find_figure("learning-rates")
    points = read_points(db, spec, Request())
    [each] = figures["figures"]
    assert (each["csv"], each["sql"]) == (points.csv(), points.sql)
    assert len(each["types"]) == len(points.rows.columns)
    assert [panel["number"] for panel in each["panels"]] == sorted(
        {*points.rows["panel_order"]} - {*points.lone}
    )
    axes = {
        "x": {"label": "Batch size", "scale": "log2"},
        "y": {"label": "Learning rate", "scale": "log10"},
    }
    assert all(panel[name] == axis for panel in each["panels"] for name, axis in axes.items())
    assert each["caption"][0].startswith(each["question"])
    simple_cnn = each["panels"][0]["series"]["simple_cnn_base"]
    assert simple_cnn["label"] == "Simple CNN"
    assert simple_cnn["colour"].startswith("light-dark(#12806a, ")
    [missing] = figures["missing"]
    assert missing["full_name"] == find_figure("1").full_name
    assert "has no rows of figure_01" in missing["reason"]


TABLES = ("trials", "improvements", "curves")
FILES = {"explorer.html", *(f"explorer/{name}.parquet" for name in TABLES)}


@pytest.fixture(scope="module")
def folder(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(release, tmp_path_factory.mktemp("out") / "new", explorer=explore_beside)


def listed(folder: Path) -> set[str]:
    return {file.path for file in read_manifest(folder).files if "explorer" in file.path}


@pytest.mark.slow
def test_a_page_beside_a_release_belongs_to_it_and_asks_its_server_for_tables_and_shards(folder):
    assert listed(folder) == FILES
    assert verify(folder).problems == ()
    for path in FILES - {"explorer.html"}:
        held: Any = read_manifest(folder).file(path)
        assert held.rows == pl.read_parquet(folder / path).height
    assert "[explorer.html](explorer.html)" in (folder / "README.md").read_text()
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
def test_it_has_the_same_bytes_again_and_goes_with_what_is_added_or_published_without(
    folder, release, tmp_path
):
    again = published(release, tmp_path / "again", explorer=explore_beside)
    assert bytes_of(again) == bytes_of(folder)
    # Where it lies, too, and after it was published before.
    published(again, again, explorer=explore_beside)
    assert bytes_of(again) == bytes_of(folder)
    published(again, again)
    assert listed(again) == set()
    assert verify(again).problems == ()
    assert "explorer" not in (again / "README.md").read_text()
    published(again, again, explorer=explore_beside)
    write_shard(again, release=RELEASE, workload=ERRORS, batch_size=2, goal=0.2)
    assert listed(again) == set()
    assert verify(again).problems == ()
    assert not list(again.glob("explorer*"))
