"""Picking workloads: searched by their names, several at once, and none."""

import re

from tests.support.explorer_browser import expect, needs_explorer_browser

pytestmark = needs_explorer_browser
SGD = "mnist/fc_128_128_128/sgd"
ADAM = "mnist/fc_128_128_128/adam"


def choices(explorer):
    return explorer.page.locator(".choice")


def test_every_workload_is_offered_and_one_with_most_studies_is_drawn(explorer, measured):
    names = {each.removesuffix(" ") for each in measured.workloads()["workload"]}
    offered = (
        choices(explorer)
        .locator(".name")
        .evaluate_all(
            "(all) => all.map((each) => [...each.childNodes].filter((node) => node.nodeType === 3)"
            ".map((node) => node.data).join(''))"
        )
    )
    assert len(offered) == len(names)
    assert set(offered) == names
    assert {row["workload"] for row in explorer.csv("Steps to result")} == {SGD}


def test_workloads_are_searched_by_parts_of_their_names_in_any_order(explorer, measured):
    search = explorer.page.get_by_role("searchbox")
    search.fill("128 MOMENTUM mnist")
    expected = [
        name
        for name in measured.workloads()["workload"]
        if all(word in name for word in ("128", "momentum", "mnist"))
    ]
    assert expected
    expect(choices(explorer)).to_have_count(len(expected))
    search.fill("no such name")
    expect(choices(explorer)).to_have_count(0)
    expect(explorer.page.locator(".picker .empty")).to_have_text(
        "No workload has all of these words in its name."
    )
    expect(explorer.button("Add all")).to_be_disabled()
    search.fill("")
    expect(choices(explorer)).to_have_count(measured.workloads().height)


def test_workloads_are_added_in_the_order_in_which_they_are_picked(explorer):
    explorer.page.get_by_role("searchbox").fill("fc_128_128_128/adam")
    explorer.page.get_by_role("checkbox", name=re.compile("adam")).check()
    explorer.expect_state(workload=[f"measured:{SGD}", f"measured:{ADAM}"])
    expect(explorer.page.locator("#steps .legend li")).to_have_text(["sgd", "adam"])
    explorer.settle()
    for title in ("Steps to result", "Critical batch size", "Best learning rates"):
        assert [*dict.fromkeys(row["workload"] for row in explorer.csv(title))] == [SGD, ADAM]
    colours = explorer.points("steps").evaluate_all(
        "(all) => [...new Set(all.map((each) => getComputedStyle(each).fill))]"
    )
    assert len(colours) == 2
    explorer.page.get_by_role("searchbox").fill("")
    explorer.page.get_by_role("checkbox", name=f"{SGD} 13 batch sizes", exact=True).uncheck()
    explorer.expect_state(workload=f"measured:{ADAM}")
    expect(explorer.page.locator("#steps .legend li")).to_have_text([ADAM])


def test_all_that_are_found_are_added_and_all_are_cleared(explorer):
    explorer.page.get_by_role("searchbox").fill("sparsity")
    explorer.button("Add all").click()
    expect(explorer.page.locator("#steps .legend li")).to_have_count(4)
    explorer.button("Clear").click()
    explorer.expect_state(workload="")
    expect(explorer.page.locator("#steps .empty")).to_have_text(
        "Pick a workload, or drop a CSV of your own."
    )
    expect(explorer.page.locator("#critical")).to_have_count(0)
    expect(explorer.button("Clear")).to_be_disabled()


def test_another_workload_is_asked_for_its_own_goal(explorer):
    explorer.go(goal=0.05)
    explorer.page.get_by_role("searchbox").fill("fashion sgd")
    explorer.button("Clear").click()
    explorer.button("Add all").click()
    explorer.expect_state(workload="measured:fashion_mnist/fc_128_128_128/sgd")
    explorer.settle()
    assert {row["goal"] for row in explorer.csv("Steps to result")} == {"0.14"}
