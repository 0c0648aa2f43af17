"""What is taken away: CSV, pictures, commands for each release, SQL, the link and the citation."""

import shutil
import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from tests.dbtool.explorer.conftest import PRECISION, RELEASE
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


@pytest.fixture(scope="session")
def page_of_two(release, tmp_path_factory):
    """The page of two releases, of which both have the same workloads."""
    folder = tmp_path_factory.mktemp("two releases")
    for name in (RELEASE, OTHER):
        copied = shutil.copytree(release, folder / str(len(name)))
        rewrite(copied, release=name)
    return write_page(folder, tmp_path_factory.mktemp("of two") / "explorer.html")


@pytest.fixture
def releases(tab, page_of_two):
    return tab(page_of_two, at={"workload": [f"{each}:{PRECISION}" for each in (RELEASE, OTHER)]})


def chart(explorer, title):
    card = explorer.page.get_by_role("region", name=title, exact=True)
    return card.locator("svg[role=img]")


@pytest.mark.slow
def test_charts_are_saved_as_svg_that_needs_no_page(explorer):
    explorer.go(**STUDY)
    expect(explorer.page.locator("#search-space svg[role=img]")).to_be_visible()
    for title in [*CARDS, "Search space"]:
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
        dots = chart(explorer, title).locator("g[aria-label=dot] path")
        assert sum(len(each) for each in groups) == dots.count() > 0


@pytest.mark.slow
def test_charts_are_saved_as_png_of_twice_their_size_with_their_titles(explorer):
    for title in CARDS:
        width, height, keys = chart(explorer, title).evaluate(
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
@pytest.mark.parametrize("title", CARDS)
def test_commands_of_several_releases_are_one_for_each(releases, title):
    shown = releases.csv(title)
    command = releases.copied(f"Copy command of {title}")
    lines = command.splitlines()
    named = [line.rpartition(" --release ")[2] for line in lines]
    assert named == [f"'{RELEASE}'", "'second it'\\''s'"]
    # Pasted at once, they run one after the other.
    printed = in_bash("\n".join(f"{line} --format csv" for line in lines))
    [header, *_] = printed.splitlines()
    assert printed.count(f"{header}\n") == len(lines)
    agree(shown, header + "\n" + printed.replace(f"{header}\n", ""))
