"""How the page looks, on any screen and to assistive technology, and that it works by keyboard."""

import re

import pytest

from tests.support.explorer_browser import expect, needs_explorer_browser
from tests.support.programs import CHECKOUT

pytestmark = needs_explorer_browser
SGD = "replication:mnist/fc_1024/sgd"
STUDY = {"study": SGD, "batch_size": 64}
FIGURES = {"view": "figures", "figure": "figure_03"}
AXE = CHECKOUT / "dbtool/explorer/page/node_modules/axe-core/axe.min.js"
_VIOLATIONS = """async () => {
    const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
    const { violations } = await axe.run(document, { runOnly });
    return violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html.slice(0, 200))]);
}"""


def see(explorer, state):
    explorer.go(**state)
    if "study" in state:
        expect(explorer.page.locator("#study-curves svg[role=img]")).to_be_visible()
    if "view" in state:
        expect(explorer.page.locator(".panels svg").first).to_be_visible()


@pytest.mark.slow
def test_the_page_follows_the_system_a_button_switches_it_and_paper_is_light(tab, few_page):
    ink = "getComputedStyle(document.body).color"
    seen = {}
    for scheme in ("light", "dark"):
        explorer = tab(few_page, color_scheme=scheme)
        before = explorer.page.evaluate(ink)
        explorer.button("Light or dark").click()
        seen[scheme] = (before, explorer.page.evaluate(ink))
        explorer.page.emulate_media(media="print")
        assert explorer.page.evaluate(ink) == seen["light"][0]
    assert seen["light"] == seen["dark"][::-1]
    assert seen["light"][0] != seen["light"][1]


_UNFOLD = "for (const each of document.querySelectorAll('details')) each.open = true"
# A checkbox is as large as the line that it belongs to.
_SMALL = """() => [...document.querySelectorAll("button, select, input:not([type=file]), summary")]
    .map((each) => [each.textContent || each.ariaLabel, each.getBoundingClientRect()])
    .filter(([, box]) => box.height < 24 && box.height > 17 && box.width > 1)
    .map(([name, box]) => [name, box.height])"""
_LABELS = """() => [...document.querySelectorAll(".chart svg[role=img]")].flatMap((chart) => {
    const labels = [...chart.querySelectorAll("[aria-label='x-axis tick label'] text")];
    const boxes = labels.map((each) => each.getBoundingClientRect());
    return boxes.slice(1).map((box, at) => box.left - boxes[at].right);
})"""


@pytest.mark.parametrize(
    "width", [360, *(pytest.param(width, marks=pytest.mark.slow) for width in (768, 3840))]
)
def test_nothing_scrolls_sideways_labels_stand_apart_and_everything_can_be_touched(
    tab, few_page, width
):
    explorer = tab(few_page, viewport={"width": width, "height": 900})
    for state in ({}, STUDY, FIGURES):
        see(explorer, state)
        gaps = explorer.page.evaluate(_LABELS)
        assert len(gaps) > 3
        assert min(gaps) > 4
        explorer.page.evaluate(_UNFOLD)
        expect(explorer.page.locator("td").first).to_be_visible()
        assert explorer.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert explorer.page.evaluate(_SMALL) == []


def test_a_tip_is_whole_on_a_phone_and_keys_and_buttons_keep_their_sizes(tab, few_page):
    """Of a chart wherever its point is, by the sides and in the middle; beside long names."""
    explorer = tab(few_page, viewport={"width": 360, "height": 800})
    for state, card in (({}, "#steps"), (FIGURES, ".panels")):
        see(explorer, state)
        chart = explorer.page.locator(f"{card} svg[role=img]").first
        points = chart.locator("g[aria-label=dot] path")
        expect(points.first).to_be_visible()
        for place in range(0, points.count(), 2):
            points.nth(place).hover(force=True)
            tip = chart.locator("[aria-label=tip] text")
            expect(tip).to_be_visible()
            box = tip.bounding_box()
            assert box["x"] > 0
            assert box["x"] + box["width"] < 360
    explorer.go()
    explorer.drop(own="workload,batch_size,steps\n" + f"{'long_' * 20},16,800\n")
    expect(explorer.page.locator("#steps .legend li")).to_have_count(2)
    keys = explorer.page.locator("#critical .answers svg, #steps .legend svg")
    assert keys.evaluate_all("(all) => Math.min(...all.map((each) => each.clientWidth))") >= 14
    assert explorer.button(re.compile("^Remove long_")).bounding_box()["height"] < 40


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `make explorer`")
@pytest.mark.parametrize(
    ("scheme", "states"),
    [
        ("light", [STUDY]),
        pytest.param("light", [{}, FIGURES], marks=pytest.mark.slow),
        pytest.param("dark", [STUDY, {}, FIGURES], marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing_against_the_guidelines(tab, few_page, scheme, states):
    # The page's own policy would not run it.
    explorer = tab(few_page, color_scheme=scheme, bypass_csp=True)
    explorer.page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    for state in states:
        see(explorer, state)
        explorer.page.evaluate(_UNFOLD)
        assert explorer.page.evaluate(_VIOLATIONS) == [], state


_FOCUSED = """() => {
    const each = document.activeElement;
    return each.ariaLabel || each.labels?.[0]?.textContent || each.textContent.trim();
}"""


def press(explorer, key, times=1):
    for _ in range(times):
        explorer.page.keyboard.press(key)


def tab_to(explorer, name, key="Tab"):
    """Presses Tab until something of that name has the focus."""
    for _ in range(150):
        press(explorer, key)
        if re.search(name, explorer.page.evaluate(_FOCUSED)):
            return
    raise AssertionError(f"Tab does not come to {name}")


def test_the_charts_are_one_step_from_the_top_and_the_focus_is_never_behind_the_controls(
    tab, few_page
):
    explorer = tab(few_page, viewport={"width": 1440, "height": 600}, reduced_motion="reduce")
    press(explorer, "Tab")
    assert explorer.page.evaluate(_FOCUSED) == "Skip to the charts"
    press(explorer, "Enter")
    press(explorer, "Tab")
    assert explorer.page.evaluate(_FOCUSED) == "Goal"
    press(explorer, "ArrowRight", 5)
    goal = float(explorer.field("Goal as a number").input_value())
    assert goal > 0.03
    explorer.expect_state(goal=goal)
    explorer.page.locator("#learning-rates summary").focus()
    for _ in range(12):
        press(explorer, "Shift+Tab")
        assert explorer.page.evaluate(
            "document.activeElement.getBoundingClientRect().top"
            " >= document.querySelector('.controls').getBoundingClientRect().bottom"
        ), explorer.page.evaluate(_FOCUSED)


@pytest.mark.slow
def test_a_table_is_sorted_and_a_study_of_it_opened_a_trial_pinned_and_closed_by_keys(explorer):
    explorer.unfold("steps")
    tab_to(explorer, "^steps$")
    press(explorer, "Enter")
    heads = explorer.page.locator("#steps th[aria-sort=ascending]")
    expect(heads).to_have_text(["steps ↑"])
    [rows] = explorer.tables("steps")
    steps = [float(row[next(name for name in row if name.startswith("steps"))]) for row in rows]
    assert steps == sorted(steps)
    press(explorer, "Enter")
    expect(explorer.page.locator("#steps th[aria-sort=descending]")).to_have_text(["steps ↓"])
    tab_to(explorer, "^Open mnist/fc_1024/sgd at batch size 4$")
    press(explorer, "Enter")
    study = {"study": SGD, "batch_size": 4}
    explorer.expect_state(**study)
    expect(explorer.page.locator("#study-title")).to_be_focused()
    tab_to(explorer, "^Copy command of Search space")
    press(explorer, "Tab")
    press(explorer, "Enter")
    tab_to(explorer, "^Pin trial 3$")
    press(explorer, "Enter")
    explorer.expect_state(**study, trial=3)
    tab_to(explorer, "^Close$", "Shift+Tab")
    press(explorer, "Enter")
    explorer.expect_state()
