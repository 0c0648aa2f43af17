"""What is taken away, also of a release whose names are HTML, SQL and shell, which stay text."""

import re
import shutil
import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from tests.dbtool.explorer.conftest import BIBTEX, HOSTILE, PRECISION, RELEASE
from tests.support.explorer import write_page
from tests.support.explorer_browser import agree, expect, in_bash, needs_explorer_browser
from tests.support.published import rewrite

pytestmark = needs_explorer_browser
SGD = "mnist/fc_1024/sgd"
CARDS = ("Steps to result", "Critical batch size", "Best learning rates")
# How much higher a picture is than its chart.
TITLE = 26
SVG = "{http://www.w3.org/2000/svg}"
STUDY = {"study": f"replication:{SGD}", "batch_size": 64}
OTHER = "second it's"


@pytest.mark.slow
def test_charts_are_saved_as_svg_that_needs_no_page_and_as_png_with_their_titles(explorer):
    explorer.go(**STUDY)
    expect(explorer.page.locator("#search-space svg[role=img]")).to_be_visible()
    for title in [*CARDS, "Search space"]:
        card = explorer.page.get_by_role("region", name=title, exact=True)
        chart = card.locator("svg[role=img]")
        text = explorer.saved(f"Download {title} as SVG").read_text(encoding="utf-8")
        root = ET.fromstring(text)  # noqa: S314 (our own file)
        assert root.tag == f"{SVG}svg"
        texts = [each.text or "" for each in root.iter(f"{SVG}text")]
        # A chart of steps says to which goal, and which curve is whose.
        told = "; goal: validation classification error down to 0.03" if title in CARDS else ""
        assert texts[0] == title + told
        assert root.findall(f"{SVG}g")[0].get("text-anchor") == "start"
        assert title not in CARDS or texts[1].startswith(SGD)
        assert "var(" not in text
        assert "light-dark(" not in text
        groups = [each for each in root.iter(f"{SVG}g") if each.get("aria-label") == "dot"]
        dots = chart.locator("g[aria-label=dot] path")
        assert sum(len(each) for each in groups) == dots.count() > 0
        if title not in CARDS:
            continue
        width, height, keys = chart.evaluate(
            "(each) => [each.clientWidth, each.clientHeight,"
            " each.closest('.card').querySelector('.legend, .answers').clientHeight]"
        )
        image = Image.open(explorer.saved(f"Download {title} as PNG"))
        assert image.format == "PNG"
        assert image.size == (2 * width, 2 * (height + TITLE + keys))
        pixels = image.convert("RGB")
        assert len(pixels.getcolors(maxcolors=10**7) or []) > 20
        above = pixels.crop((0, 0, image.width, 2 * TITLE))
        assert len(above.getcolors(maxcolors=10**7) or []) > 2
        assert above.getpixel((image.width - 1, 0)) == (255, 255, 255)


@pytest.mark.slow
def test_commands_of_several_releases_are_one_for_each(tab, release, tmp_path):
    """Of two releases that have the same workloads."""
    folder = tmp_path / "two releases"
    for name in (RELEASE, OTHER):
        rewrite(shutil.copytree(release, folder / str(len(name))), release=name)
    both = [f"{each}:{PRECISION}" for each in (RELEASE, OTHER)]
    page = write_page(folder, tmp_path / "explorer.html")
    explorer = tab(page, at={"workload": both})
    for title in CARDS:
        shown = explorer.csv(title)
        lines = explorer.copied(f"Copy command of {title}").splitlines()
        named = [line.rpartition(" --release ")[2] for line in lines]
        assert named == [f"'{RELEASE}'", "'second it'\\''s'"]
        # Pasted at once, they run one after the other.
        printed = in_bash("\n".join(f"{line} --format csv" for line in lines))
        [header, *_] = printed.splitlines()
        assert printed.count(f"{header}\n") == len(lines)
        agree(shown, header + "\n" + printed.replace(f"{header}\n", ""))


KEY = f"{RELEASE}:{HOSTILE}"
HOSTILE_STUDY = {"workload": [KEY, f"{RELEASE}:{PRECISION}"], "study": KEY, "batch_size": 32}
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
    explorer = tab(hostile_page, at=HOSTILE_STUDY)
    expect(explorer.page.locator("#study-curves svg[role=img]")).to_be_visible()
    return explorer


def test_names_are_quoted_in_what_is_copied_and_seen_as_text_that_makes_no_elements(hostile, db):
    curves = "Curves: validation average precision"
    for title in ("Steps to result", "Best learning rates", curves, "Search space"):
        found = db.sql(hostile.copied(f"Copy SQL of {title}")).polars()
        if title == "Search space":
            found = found.select("trial_id", "status", "steps")
        agree(hostile.csv(title), found.write_csv())
    hostile.expect_state(**HOSTILE_STUDY)
    link = hostile.copied("Copy link to what is seen")
    hostile.page.goto("about:blank")
    hostile.page.goto(link)
    hostile.settle()
    hostile.expect_state(**HOSTILE_STUDY)
    expect(hostile.page.locator("#study-title")).to_have_text(f"{HOSTILE} at batch size 32")

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


@pytest.mark.slow
def test_commands_quote_names_so_that_bash_runs_them_and_files_hold_them_as_text(hostile):
    rows = hostile.csv("Steps to result")
    assert [row["workload"] for row in rows] == [HOSTILE, PRECISION]
    agree(rows, in_bash(f"{hostile.copied('Copy command of Steps to result')} --format csv"))
    picture = hostile.saved("Download Critical batch size as SVG").read_text(encoding="utf-8")
    assert "<script" not in picture
    assert hostile.saved("Download Search space as PNG").stat().st_size > 1000
    assert BIBTEX in hostile.copied("Cite these releases in BibTeX")
