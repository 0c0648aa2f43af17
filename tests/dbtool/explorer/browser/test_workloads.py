"""Picking workloads: searched by their names, several at once, and none."""

import re

import pytest

from tests.support.explorer_browser import expect, needs_explorer_browser

pytestmark = needs_explorer_browser
SGD = "mnist/fc_1024/sgd"
SMALL = "mnist/fc_64_64_64/sgd"
_TEXTS = """(all) => all.map((each) => [...each.childNodes].filter((node) => node.nodeType === 3)
    .map((node) => node.data).join(''))"""


def choices(explorer):
    return explorer.page.locator(".choice")


def test_every_workload_is_offered_and_searched_by_parts_of_its_name_in_any_order(explorer, few_db):
    names = few_db.workloads()["workload"].to_list()
    offered = choices(explorer).locator(".name").evaluate_all(_TEXTS)
    assert sorted(offered) == sorted(names)
    assert {row["workload"] for row in explorer.csv("Steps to result")} == {SGD}
    search = explorer.page.get_by_role("searchbox")
    search.fill("128 ADAM mnist")
    expected = [name for name in names if all(w in name for w in ("128", "adam", "mnist"))]
    assert expected
    expect(choices(explorer)).to_have_count(len(expected))
    search.fill("no such name")
    expect(choices(explorer)).to_have_count(0)
    expect(explorer.page.locator(".picker .empty")).to_have_text(
        "No workload has all of these words in its name."
    )
    expect(explorer.button("Add all")).to_be_disabled()
    search.fill("")
    expect(choices(explorer)).to_have_count(len(names))


@pytest.mark.slow
def test_workloads_are_added_in_the_order_in_which_they_are_picked(explorer):
    explorer.page.get_by_role("searchbox").fill("fc_64")
    explorer.page.get_by_role("checkbox", name=re.compile("fc_64")).check()
    explorer.expect_state(workload=[f"replication:{SGD}", f"replication:{SMALL}"])
    expect(explorer.page.locator("#steps .legend li")).to_have_text(["fc_1024", "fc_64_64_64"])
    explorer.settle()
    for title in ("Steps to result", "Critical batch size", "Best learning rates"):
        assert [*dict.fromkeys(row["workload"] for row in explorer.csv(title))] == [SGD, SMALL]
    colours = explorer.points("steps").evaluate_all(
        "(all) => [...new Set(all.map((each) => getComputedStyle(each).fill))]"
    )
    assert len(colours) == 2
    explorer.page.get_by_role("searchbox").fill("")
    explorer.page.get_by_role("checkbox", name=f"{SGD} 17 batch sizes", exact=True).uncheck()
    explorer.expect_state(workload=f"replication:{SMALL}")
    expect(explorer.page.locator("#steps .legend li")).to_have_text([SMALL])


@pytest.mark.slow
def test_all_that_are_found_are_added_at_their_own_goals_and_all_are_cleared(explorer):
    explorer.go(goal=0.05)
    explorer.button("Clear").click()
    explorer.expect_state(workload="")
    expect(explorer.page.locator("#steps .empty")).to_have_text(
        "Pick a workload, or drop a CSV of your own."
    )
    expect(explorer.page.locator("#critical")).to_have_count(0)
    expect(explorer.button("Clear")).to_be_disabled()
    explorer.page.get_by_role("searchbox").fill("subsets 55000")
    explorer.button("Add all").click()
    explorer.expect_state(
        workload="replication:mnist_subsets/mnist_55000/simple_cnn_base/nesterov_momentum"
    )
    explorer.settle()
    assert {row["goal"] for row in explorer.csv("Steps to result")} == {"0.02"}
