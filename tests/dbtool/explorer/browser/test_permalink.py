"""The address: what it holds is seen again in a new tab, what it says wrongly is as at first."""

import pytest

from tests.support.explorer_browser import expect, needs_explorer_browser

pytestmark = needs_explorer_browser
SGD = "replication:mnist/fc_1024/sgd"
MOMENTUM = "replication:mnist/fc_128_128_128/nesterov_momentum"
STATES = {
    "several workloads at a goal": {"workload": [MOMENTUM, SGD], "goal": 0.04, "trials": 30},
    "relative steps": {"workload": [SGD, MOMENTUM], "relative": 1, "line": "none"},
    "another metric": {"metric": "test_classification_error", "goal": 0.035},
    "a pinned trial": {"study": SGD, "batch_size": 64, "trial": 5},
    "no workload": {"workload": ""},
    "a figure": {"view": "figures", "figure": "learning-rates"},
}
QUICK = "several workloads at a goal"
WRONG = [
    "workload=nowhere:nothing&workload=replication:mnist/fc_1024/sgd",
    "goal=low&trials=-3&trials=2.5",
    "trials=1e99",
    "metric=loss",
    "view=nothing&line=crooked&relative=yes",
    "study=replication:mnist/fc_1024/sgd&batch-size=3&trial=1",
    "study=nowhere&batch-size=16",
    "batch-size=16&trial=4",
    "=&&&%%%&goal=%E0%A4%A",
    "<script>alert(1)</script>",
]


def seen(explorer):
    """All that is written on the page, with its charts, and what its controls are set to."""
    page = explorer.page
    # What only a mouse shows, and where the page left off.
    page.mouse.move(0, 0)
    drawn = page.locator("main svg[role=img]").evaluate_all(
        "(all) => all.map((each) => each.innerHTML.replaceAll(/plot-clip-\\d+/g, ''))"
    )
    controls = page.locator("input, select").evaluate_all(
        "(all) => all.map((each) => each.type === 'checkbox' ? each.checked : each.value)"
    )
    return page.locator("main").inner_text(), drawn, controls


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(state, id=name, marks=() if name == QUICK else pytest.mark.slow)
        for name, state in STATES.items()
    ],
)
def test_the_address_of_what_is_seen_shows_it_again_in_a_new_tab(explorer, tab, few_page, state):
    explorer.go(**state)
    explorer.expect_state(**state)
    if "study" in state:
        expect(explorer.page.locator("#study-curves svg[role=img]")).to_be_visible()
    link = explorer.copied("Copy link to what is seen")
    assert link == explorer.page.url
    again = tab(few_page)
    again.page.goto("about:blank")
    again.page.goto(link)
    again.settle()
    if "study" in state:
        expect(again.page.locator("#study-curves svg[role=img]")).to_be_visible()
    assert seen(again) == seen(explorer)
    again.expect_state(**state)


@pytest.mark.slow
def test_what_an_address_says_wrongly_is_as_at_first(explorer):
    first = seen(explorer)
    for words in WRONG:
        explorer.page.goto("about:blank")
        explorer.page.goto(f"{explorer.url}#{words}")
        explorer.settle()
        explorer.expect_state()
        assert seen(explorer) == first, words


# Enters an address while another waits to be written, and keeps the page from drawing until then.
_ENTER_WHILE_ANOTHER_WAITS = """async ([first, second]) => {
    const enter = (address) => new Promise((done) => {
        addEventListener("hashchange", done, { once: true });
        location.hash = address;
    });
    await enter(first);
    await new Promise((done) => setTimeout(done, 100));
    await enter(second);
    const began = performance.now();
    while (performance.now() < began + 200);
}"""


@pytest.mark.slow
def test_an_address_that_is_entered_is_one_step_back_and_what_is_changed_here_is_none(explorer):
    before = explorer.page.evaluate("history.length")
    explorer.slide("Goal", 0.3)
    explorer.slide("Goal", 0.4)
    explorer.field("Relative steps").check()
    assert explorer.page.evaluate("history.length") == before
    explorer.page.evaluate(_ENTER_WHILE_ANOTHER_WAITS, ["goal=0.04", "goal=0.07"])
    explorer.settle()
    explorer.page.go_back()
    explorer.expect_state(goal=0.04)
    expect(explorer.field("Goal as a number")).to_have_value("0.04")
