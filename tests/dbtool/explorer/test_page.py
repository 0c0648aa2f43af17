"""The page as a file: what it holds, what it escapes, and that it needs nothing else."""

import base64
import hashlib
import re

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from dbtool import __version__
from dbtool.figures.points import Request, read_points
from dbtool.figures.specs import find_figure
from tests.dbtool.explorer.conftest import BIBTEX, ERRORS, HOSTILE, RELEASE
from tests.support.explorer import contents_of, needs_explorer, write_page

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
    named = {"release": RELEASE, "workload": ERRORS, "batch_size": 8}
    metric = {"metric": "val_classification_error"}
    for kind in ("steps", "learning_rates"):
        for goal, trials in ((0.2, None), (0.5, 5), (0.01, None)):
            asked = {"keys": [f"{RELEASE}:{ERRORS}"], "goal": goal, "trials": trials}
            found = db.sql(queries[kind], **asked, **metric).polars()
            answer = db.scaling(ERRORS, trials=trials, goal=goal)
            expected = answer.rows(kind).select(found.columns)
            assert_frame_equal(found, expected, check_dtypes=False)
    trials = db.sql(queries["trials"], **named, **metric, goal=0.2).polars()
    held = db.trials(ERRORS, batch_size=8)
    assert trials.select("trial_id", "status").rows() == held.select("trial_id", "status").rows()
    fewest = db.steps(ERRORS, goal=0.2, batch_size=8)["steps"][0]
    assert trials["steps"].min() == fewest
    curves = db.sql(queries["curves"], **named, **metric).polars()
    rows = db.measurements(ERRORS, batch_size=8).collect()["val_classification_error"]
    assert len(curves) == len(rows.drop_nulls())


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
    markers = contents_of(page).facts["looks"]["markers"]
    for panel in each["panels"]:
        rows = points.rows.filter(pl.col("panel_order") == panel["number"])
        assert {*panel["series"]} == {*rows["series"]}
        assert all(look["marker"] in markers for look in panel["series"].values())
    simple_cnn = each["panels"][0]["series"]["simple_cnn_base"]
    assert simple_cnn["label"] == "Simple CNN"
    assert simple_cnn["colour"].startswith("light-dark(#12806a, ")
    [missing] = figures["missing"]
    assert missing["full_name"] == find_figure("1").full_name
    assert "has no rows of figure_01" in missing["reason"]
