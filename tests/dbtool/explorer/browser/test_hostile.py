"""A release whose names are HTML, SQL and shell: they stay text where they are seen or copied."""

import re

import pytest

from tests.dbtool.explorer.conftest import BIBTEX, HOSTILE, PRECISION, RELEASE
from tests.support.explorer import write_page
from tests.support.explorer_browser import agree, expect, in_bash, needs_explorer_browser

pytestmark = needs_explorer_browser
KEY = f"{RELEASE}:{HOSTILE}"
STUDY = {"workload": [KEY, f"{RELEASE}:{PRECISION}"], "study": KEY, "batch_size": 32}
ELEMENTS = """() => ({
    images: document.querySelectorAll("img").length,
    handlers: document.querySelectorAll("[onerror]").length,
    scripts: [...document.scripts].map((each) => each.id),
})"""
OWN = f"""workload,batch_size,steps
"{HOSTILE.replace('"', '""')}",8,500
"""


@pytest.fixture(scope="session")
def hostile_page(release, tmp_path_factory):
    out = tmp_path_factory.mktemp("it's a $(page)") / "explorer.html"
    return write_page(release, out, "learning-rates")


@pytest.fixture
def hostile(tab, hostile_page):
    """The page at the workload with such a name, of which no dialog or message came by its end."""
    explorer = tab(hostile_page, at=STUDY)
    expect(explorer.page.locator("#study-curves svg[role=img]")).to_be_visible()
    return explorer


def test_names_are_seen_as_text_and_make_no_elements(hostile):
    page = hostile.page
    before = page.evaluate(ELEMENTS)
    assert before["scripts"][:2] == ["facts", "trials"]
    assert len(before["scripts"]) == 6
    assert (before["images"], before["handlers"]) == (0, 0)
    expect(page).to_have_title(f"Steps to result: {RELEASE}")
    expect(page.locator(".top .about")).to_contain_text(RELEASE)
    expect(page.get_by_role("checkbox", name=f"{HOSTILE} 1 batch size", exact=True)).to_be_checked()
    expect(page.locator("#steps .legend li")).to_have_text([HOSTILE, PRECISION])
    expect(page.locator("#study-title")).to_have_text(f"{HOSTILE} at batch size 32")
    expect(page.locator("main > .about")).to_contain_text(f"{HOSTILE} (CC0-1.0)")
    hostile.unfold("steps", "critical", "search-space")
    steps, critical = hostile.tables("steps", "critical")
    for rows in (steps, critical):
        named = {(row["release"], row["workload"]) for row in rows}
        assert named == {(RELEASE, HOSTILE), (RELEASE, PRECISION)}
    hostile.points("steps").first.hover(force=True)
    expect(page.locator("#steps [aria-label=tip]")).to_contain_text("batch size 32")
    hostile.drop(own=OWN)
    expect(page.locator("#steps .legend li")).to_have_text([HOSTILE, PRECISION, HOSTILE])
    expect(hostile.button(f"Remove {HOSTILE}")).to_be_visible()
    assert page.evaluate(ELEMENTS) == before
    hostile.drop(**{"<img src=x onerror=alert(1)>": "<b>,steps\n1,2\n"})
    hostile.says(re.compile(r"^<img src=x onerror=alert\(1\)>.csv has the columns <b>, steps: "))
    assert hostile.page.evaluate(ELEMENTS) == before
    hostile.go(view="figures", figure="learning-rates")
    expect(hostile.page.locator("#figure-title")).to_be_visible()
    expect(hostile.page.locator("main figcaption").first).to_be_visible()
    expect(hostile.page.locator(".figure > .about").first).to_contain_text("learning rate")
    assert hostile.page.evaluate(ELEMENTS) == before


def test_copied_sql_and_links_quote_names_so_that_they_are_found_again(hostile, db):
    curves = "Curves: validation average precision"
    for title in ("Steps to result", "Best learning rates", curves, "Search space"):
        found = db.sql(hostile.copied(f"Copy SQL of {title}")).polars()
        if title == "Search space":
            found = found.select("trial_id", "status", "steps")
        agree(hostile.csv(title), found.write_csv())
    hostile.expect_state(**STUDY)
    link = hostile.copied("Copy link to what is seen")
    hostile.page.goto("about:blank")
    hostile.page.goto(link)
    hostile.settle()
    hostile.expect_state(**STUDY)
    expect(hostile.page.locator("#study-title")).to_have_text(f"{HOSTILE} at batch size 32")


@pytest.mark.slow
def test_copied_commands_quote_names_so_that_bash_runs_them(hostile):
    command = hostile.copied("Copy command of Steps to result")
    agree(hostile.csv("Steps to result"), in_bash(f"{command} --format csv"))


@pytest.mark.slow
def test_files_hold_names_as_text(hostile):
    rows = hostile.csv("Steps to result")
    assert [row["workload"] for row in rows] == [HOSTILE, PRECISION]
    picture = hostile.saved("Download Critical batch size as SVG").read_text(encoding="utf-8")
    assert "<script" not in picture
    assert hostile.saved("Download Search space as PNG").stat().st_size > 1000
    assert BIBTEX in hostile.copied("Cite these releases in BibTeX")
