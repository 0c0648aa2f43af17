"""What is chosen: what each choice changes, and the address, which shows it again in a new tab."""

import re

import pytest

from tests.support.explorer_browser import expect, needs_explorer_browser

pytestmark = needs_explorer_browser
SGD = "mnist/fc_1024/sgd"
SMALL = "mnist/fc_64_64_64/sgd"
SUBSET = "mnist_subsets/mnist_55000/simple_cnn_base/nesterov_momentum"
TICKS = "#steps svg [aria-label='y-axis tick label'] text"


def tables(explorer):
    steps, critical = explorer.csv("Steps to result"), explorer.csv("Critical batch size")
    return [row["steps"] for row in steps], critical[0]["critical_batch_size"], steps


def enter(explorer, label, text):
    explorer.field(label).fill(text)
    explorer.field(label).press("Enter")


def test_the_goal_slider_moves_steps_critical_batch_size_and_address(explorer):
    first = tables(explorer)
    explorer.slide("Goal", 0.5)
    goal = float(explorer.field("Goal as a number").input_value())
    explorer.expect_state(goal=goal)
    assert goal != 0.03
    steps, critical, rows = tables(explorer)
    assert {row["goal"] for row in rows} == {f"{goal:g}"}
    assert steps != first[0]
    assert critical != first[1]
    for card in ("steps", "critical", "learning-rates"):
        expect(explorer.page.locator(f"#{card} > header .about").first).to_have_text(
            f"Goal: validation classification error down to {goal:g}"
        )
    # Of a goal that no trial reached nothing is made up.
    enter(explorer, "Goal as a number", "1e-9")
    steps, _, rows = tables(explorer)
    assert {*steps} == {""}
    assert {row["verdict"] for row in explorer.csv("Critical batch size")} == {"not_identified"}
    expect(explorer.page.locator(".answers")).to_contain_text("not identified")
    expect(explorer.page.locator(TICKS)).to_have_count(0)
    explorer.button("Reset goal").click()
    explorer.expect_state()
    assert tables(explorer) == first


@pytest.mark.slow
def test_goal_trials_metric_and_how_steps_are_drawn_are_chosen_and_taken_back(explorer):
    enter(explorer, "Goal as a number", "0.05")
    explorer.expect_state(goal=0.05)
    explorer.slide("Trials per search", 0.01)
    trials = int(explorer.field("Trials per search as a number").input_value())
    assert trials < 10
    explorer.expect_state(goal=0.05, trials=trials)
    assert {row["trials"] for row in tables(explorer)[2]} == {str(trials)}
    enter(explorer, "Goal as a number", "")
    enter(explorer, "Trials per search as a number", "60")
    explorer.expect_state(trials=60)
    expect(explorer.field("Goal as a number")).to_have_value("0.03")
    about = explorer.page.locator("#steps > header .about").last
    expect(about).to_have_text(re.compile("^Best of 60 trials; .* with fewer trials dropped"))
    explorer.button("Reset trials per search").click()
    # Divided by those of the first batch size; with one line of perfect scaling, or none.
    ticks = explorer.page.locator(TICKS)
    dashed = explorer.page.locator("#steps svg [stroke-dasharray='5 4'] path")
    explorer.choice("Perfect scaling").select_option("none")
    explorer.expect_state(line="none")
    expect(dashed).to_have_count(0)
    explorer.field("Relative steps").check()
    explorer.expect_state(relative=1, line="none")
    expect(explorer.page.locator("#steps h2")).to_have_text("Relative steps to result")
    expect(about).to_contain_text("batch size 1.")
    assert "1" in ticks.all_text_contents()
    explorer.go()
    explorer.choice("Metric").select_option("train_cross_entropy_error")
    explorer.expect_state(metric="train_cross_entropy_error")
    expect(explorer.page.locator("#steps .empty")).to_be_visible()
    enter(explorer, "Goal as a number", "0.1")
    explorer.expect_state(metric="train_cross_entropy_error", goal=0.1)
    assert {row["metric"] for row in tables(explorer)[2]} == {"train_cross_entropy_error"}


_TEXTS = """(all) => all.map((each) => [...each.childNodes].filter((node) => node.nodeType === 3)
    .map((node) => node.data).join(''))"""


def test_every_workload_is_offered_and_searched_by_parts_of_its_name_in_any_order(explorer, few_db):
    names = few_db.workloads()["workload"].to_list()
    choices = explorer.page.locator(".choice")
    assert sorted(choices.locator(".name").evaluate_all(_TEXTS)) == sorted(names)
    assert {row["workload"] for row in explorer.csv("Steps to result")} == {SGD}
    search = explorer.page.get_by_role("searchbox")
    search.fill("128 ADAM mnist")
    expected = [name for name in names if all(w in name for w in ("128", "adam", "mnist"))]
    assert expected
    expect(choices).to_have_count(len(expected))
    search.fill("no such name")
    expect(choices).to_have_count(0)
    expect(explorer.page.locator(".picker .empty")).to_have_text(
        "No workload has all of these words in its name."
    )
    expect(explorer.button("Add all")).to_be_disabled()
    search.fill("")
    expect(choices).to_have_count(len(names))


@pytest.mark.slow
def test_workloads_are_added_in_the_order_in_which_they_are_picked_and_cleared(explorer):
    search, legend = explorer.page.get_by_role("searchbox"), "#steps .legend li"
    search.fill("fc_64")
    explorer.page.get_by_role("checkbox", name=re.compile("fc_64")).check()
    explorer.expect_state(workload=[f"replication:{SGD}", f"replication:{SMALL}"])
    expect(explorer.page.locator(legend)).to_have_text(["fc_1024", "fc_64_64_64"])
    explorer.settle()
    for title in ("Steps to result", "Critical batch size", "Best learning rates"):
        assert [*dict.fromkeys(row["workload"] for row in explorer.csv(title))] == [SGD, SMALL]
    colours = explorer.points("steps").evaluate_all(
        "(all) => [...new Set(all.map((each) => getComputedStyle(each).fill))]"
    )
    assert len(colours) == 2
    search.fill("")
    explorer.page.get_by_role("checkbox", name=f"{SGD} 17 batch sizes", exact=True).uncheck()
    explorer.expect_state(workload=f"replication:{SMALL}")
    expect(explorer.page.locator(legend)).to_have_text([SMALL])
    enter(explorer, "Goal as a number", "0.05")
    explorer.button("Clear").click()
    explorer.expect_state(workload="")
    expect(explorer.page.locator("#steps .empty")).to_have_text(
        "Pick a workload, or drop a CSV of your own."
    )
    expect(explorer.page.locator("#critical")).to_have_count(0)
    expect(explorer.button("Clear")).to_be_disabled()
    # Others have goals of their own.
    search.fill("subsets 55000")
    explorer.button("Add all").click()
    explorer.expect_state(workload=f"replication:{SUBSET}")
    explorer.settle()
    assert {row["goal"] for row in explorer.csv("Steps to result")} == {"0.02"}


KEY = f"replication:{SGD}"
OTHER = "replication:mnist/fc_128_128_128/nesterov_momentum"
SEVERAL = {"workload": [OTHER, KEY], "goal": 0.04, "trials": 30}
STATES = [
    {"workload": [KEY, OTHER], "relative": 1, "line": "none"},
    {"metric": "test_classification_error", "goal": 0.035},
    {"study": KEY, "batch_size": 64, "trial": 5},
    {"workload": ""},
    {"view": "figures", "figure": "learning-rates"},
]
WRONG = [
    "workload=nowhere:nothing&workload=replication:mnist/fc_1024/sgd",
    "goal=low&trials=-3&trials=2.5",
    "trials=1e99&metric=loss",
    "view=nothing&line=crooked&relative=yes",
    "study=replication:mnist/fc_1024/sgd&batch-size=3&trial=1",
    "study=nowhere&batch-size=16",
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


@pytest.mark.parametrize("states", [[SEVERAL], pytest.param(STATES, marks=pytest.mark.slow)])
def test_the_address_of_what_is_seen_shows_it_again_in_a_new_tab(explorer, tab, few_page, states):
    again = tab(few_page)
    for state in states:
        explorer.go(**state)
        explorer.expect_state(**state)
        link = explorer.copied("Copy link to what is seen")
        assert link == explorer.page.url
        again.page.goto("about:blank")
        again.page.goto(link)
        again.settle()
        if "study" in state:
            for each in (explorer, again):
                expect(each.page.locator("#study-curves svg[role=img]")).to_be_visible()
        assert seen(again) == seen(explorer), state
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
