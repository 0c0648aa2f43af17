"""What is taken away: CSV, pictures, commands for each release, SQL, the link and the citation."""

import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from tests.support.explorer_browser import (
    agree,
    expect,
    in_bash,
    needs_explorer_browser,
    write_page,
)
from tests.support.made_up import curve, write_shard

pytestmark = needs_explorer_browser
SGD = "mnist/fc_1024/sgd"
CARDS = {
    "Steps to result": "steps",
    "Critical batch size": "critical",
    "Best learning rates": "learning_rates",
}
# How much higher a picture is than its chart.
TITLE = 26
SVG = "{http://www.w3.org/2000/svg}"
STUDY = {"study": f"replication:{SGD}", "batch_size": 64}
PLACES = [
    ("first", "digits/fc_64/sgd", 1.0),
    ("second, it's", "digits/fc_64/sgd", 1.3),
    ("second, it's", "letters/fc_64/adam", 0.7),
]


@pytest.fixture(scope="session")
def two_releases(tmp_path_factory):
    """A folder with two releases, of which both have a workload of the same name."""
    folder = tmp_path_factory.mktemp("two releases")
    for release, workload, factor in PLACES:
        for batch_size, fewest in ((8, 16), (32, 6), (128, 3)):
            trials = [
                (
                    number,
                    "COMPLETE",
                    {"learning_rate": 0.01 * 2**number, "momentum": 0.9},
                    curve(errors_after(round(fewest * factor) + abs(number - 3)), every=5),
                )
                for number in range(6)
            ]
            write_shard(
                folder / release.partition(",")[0],
                release=release,
                workload=workload,
                batch_size=batch_size,
                trials=trials,
            )
    return folder


def errors_after(evaluations):
    """Errors that are below 0.1 after so many evaluations."""
    return [0.9 - 0.8 * each / evaluations for each in range(evaluations)] + [0.05, 0.04]


@pytest.fixture(scope="session")
def page_of_two(two_releases, tmp_path_factory):
    return write_page(two_releases, tmp_path_factory.mktemp("of two") / "explorer.html")


@pytest.fixture
def releases(tab, page_of_two):
    keys = [f"{release}:{workload}" for release, workload, _ in PLACES]
    return tab(page_of_two, at={"workload": keys, "trials": 5})


def test_the_csv_of_a_card_is_what_dbtool_answers(explorer, bundled):
    asked = {"goal": 0.035, "trials": 25}
    explorer.go(**asked)
    for title, rows in CARDS.items():
        told = bundled.scaling(SGD, **asked).rows(rows)
        shown = explorer.csv(title)
        agree(shown, told.write_csv())
        # The page has of the steps those trials, too, that took the fewest.
        fewest = {"fewest_steps", "trial_id", "learning_rate", "momentum"}
        assert set(shown[0]) - set(told.columns) == (fewest if rows == "steps" else set())


def chart(explorer, title):
    card = explorer.page.get_by_role("region", name=title, exact=True)
    return card.locator("svg[role=img]")


def test_charts_are_saved_as_svg_that_needs_no_page(explorer):
    explorer.go(**STUDY)
    expect(explorer.page.locator("#search-space svg[role=img]")).to_be_visible()
    for title in [*CARDS, "Search space"]:
        text = explorer.saved(f"Download {title} as SVG").read_text(encoding="utf-8")
        root = ET.fromstring(text)  # noqa: S314 (our own file)
        assert root.tag == f"{SVG}svg"
        assert title in [each.text for each in root.iter(f"{SVG}text")]
        assert "var(" not in text
        groups = [each for each in root.iter(f"{SVG}g") if each.get("aria-label") == "dot"]
        dots = chart(explorer, title).locator("g[aria-label=dot] path")
        assert sum(len(each) for each in groups) == dots.count() > 0


@pytest.mark.slow
def test_charts_are_saved_as_png_of_twice_their_size_with_their_titles(explorer):
    for title in CARDS:
        width, height = chart(explorer, title).evaluate(
            "(each) => [each.clientWidth, each.clientHeight]"
        )
        image = Image.open(explorer.saved(f"Download {title} as PNG"))
        assert image.format == "PNG"
        assert image.size == (2 * width, 2 * (height + TITLE))
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
    assert [line.rpartition(" --release ")[2] for line in lines] == [
        "first",
        "'second, it'\\''s'",
    ]
    # Pasted at once, they run one after the other.
    printed = in_bash("\n".join(f"{line} --format csv" for line in lines))
    [header, *_] = printed.splitlines()
    assert printed.count(f"{header}\n") == len(lines)
    agree(shown, header + "\n" + printed.replace(f"{header}\n", ""))
