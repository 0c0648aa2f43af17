"""The page by keyboard alone."""

import re

import pytest

from tests.support.explorer_browser import expect, needs_explorer_browser

pytestmark = needs_explorer_browser
SGD = "replication:mnist/fc_1024/sgd"
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


def test_the_charts_are_one_step_from_the_top_and_the_goal_is_moved(explorer):
    press(explorer, "Tab")
    assert explorer.page.evaluate(_FOCUSED) == "Skip to the charts"
    press(explorer, "Enter")
    press(explorer, "Tab")
    assert explorer.page.evaluate(_FOCUSED) == "Goal"
    press(explorer, "ArrowRight", 5)
    goal = float(explorer.field("Goal as a number").input_value())
    assert goal > 0.03
    explorer.expect_state(goal=goal)


@pytest.mark.slow
def test_a_study_is_opened_from_the_table_a_trial_pinned_and_the_study_closed(explorer):
    tab_to(explorer, "^Copy command of Steps to result")
    press(explorer, "Tab")
    press(explorer, "Enter")
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


@pytest.mark.slow
def test_a_table_is_sorted(explorer):
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
