"""The page in a headless browser, opened as a file: wide, narrow, by mouse and by keyboard."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from tests.dbtool.figures.gallery.conftest import NASTY, ROWS, nasty_points
from tests.support.browser import needs_browser, open_browser

pytestmark = needs_browser
WIDTHS = (1280, 360)


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(params=WIDTHS)
def page(browser, nasty_page, request):
    context = browser.new_context(
        viewport={"width": request.param, "height": 800}, color_scheme="dark"
    )
    shown = context.new_page()
    said, asked = [], []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.on("dialog", lambda dialog: said.append(dialog.message))
    shown.on("request", lambda each: asked.append(each.url.partition(":")[0]))
    shown.goto(nasty_page.as_uri())
    yield shown
    assert said == []
    assert set(asked) <= {"file", "data", "blob"}
    context.close()


def downloaded(page, kind):
    with page.expect_download() as download:
        page.click(f"button[data-download={kind}]")
    return download.value.suggested_filename, Path(download.value.path()).read_text("utf-8")


def test_the_page_never_scrolls_sideways(page):
    for summary in page.query_selector_all("summary"):
        summary.click()
    page.wait_for_selector("tbody tr")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title().startswith("Figures of ")
    wide = "[...document.querySelectorAll('button, summary, h1, h2, h3, p')]"
    assert page.evaluate(f"{wide}.every(each => each.getBoundingClientRect().right <= innerWidth)")


def test_the_picture_is_drawn(page):
    page.locator("img").scroll_into_view_if_needed()
    width = page.locator("img").evaluate("img => img.decode().then(() => img.naturalWidth)")
    assert width > 100


def test_the_table_shows_the_rows_a_part_at_a_time(page):
    page.click("details.points summary")
    page.wait_for_selector("tbody tr")
    rows = nasty_points().rows
    assert page.locator("thead th").all_inner_texts() == rows.columns
    first = dict(zip(rows.columns, page.locator("tbody tr").first.locator("td").all(), strict=True))
    assert first["panel"].inner_text() == NASTY
    assert first["told"].text_content() == 'said "0.1,\nat most"'
    assert page.locator("tbody tr").count() == 100
    page.click("button[data-more]")
    assert page.locator("tbody tr").count() == ROWS
    assert page.locator("button[data-more]").is_hidden()


def test_downloads_hold_the_points(page):
    page.click("details.points summary")
    assert downloaded(page, "csv") == ("steps.csv", nasty_points().csv())
    name, text = downloaded(page, "json")
    assert name == "steps.json"
    rows = json.loads(text)
    expected = nasty_points().rows.to_dicts()
    assert [row["workload"] for row in rows] == [NASTY] * ROWS
    assert [row["y"] for row in rows] == [row["y"] for row in expected]
    assert rows[4]["learning_rate"] is None
    assert rows[1]["told"] == ""


def test_copying_takes_the_query_and_the_points(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for part, button, expected in (
        ("sql", "copy=sql", nasty_points().sql),
        ("points", "copy=csv", nasty_points().csv()),
    ):
        page.click(f"details.{part} summary")
        page.click(f"button[data-{button}]")
        page.locator(".status", has_text="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == expected
        page.evaluate("document.querySelector('.status').textContent = ''")


def test_copying_works_where_the_clipboard_is_refused(page):
    page.context.clear_permissions()
    page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error()))")
    page.click("details.points summary")
    page.click("button[data-copy=csv]")
    page.locator(".status", has_text="Copied").wait_for()
    page.context.grant_permissions(["clipboard-read"])
    copied = page.evaluate("navigator.clipboard.readText()")
    assert next(csv.DictReader(StringIO(copied)))["workload"] == NASTY


def test_everything_is_reached_with_the_keyboard(page):
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.className + document.activeElement.tagName")
        )
        if reached[-1] == "SUMMARY":
            page.keyboard.press("Enter")
    assert reached[0] == "skipA"
    assert {"pictureDIV", "SUMMARY", "BUTTON", "PRE", "rowsDIV"} <= set(reached)
    # The last press may have closed it again.
    page.wait_for_selector("tbody tr", state="attached")
    assert page.locator("tbody tr").count() == 100


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, nasty_page, scheme):
    context = browser.new_context(color_scheme=scheme)
    shown = context.new_page()
    shown.goto(nasty_page.as_uri())
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    colours = {
        name: shown.evaluate(f"{style}('--{name}')").strip()
        for name in ("ink", "quiet", "accent", "ground", "raised")
    }
    context.close()
    for text in ("ink", "quiet", "accent"):
        for ground in ("ground", "raised"):
            assert contrast(colours[text], colours[ground]) >= 4.5


def contrast(one, other):
    """The ratio of two colours' luminances, by the Web Content Accessibility Guidelines."""

    def luminance(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
