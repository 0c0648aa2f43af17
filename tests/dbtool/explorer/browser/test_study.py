"""A study behind a point: its curves, its search space, its winner and a trial that is pinned."""

import json
import re

import pytest

from tests.support.explorer_browser import expect, needs_explorer_browser, same

pytestmark = needs_explorer_browser
SGD = "mnist/fc_1024/sgd"
BATCH_SIZE = 16
STUDY = {"study": f"replication:{SGD}", "batch_size": BATCH_SIZE}
CURVES = "Curves: validation classification error"


def winner(db):
    [row] = db.steps(SGD, batch_size=BATCH_SIZE, trials=10**6).rows(named=True)
    return row["trial_id"], row["steps"]


def test_a_point_opens_its_study_with_its_trials_and_their_curves(explorer, few_db):
    told = explorer.page.locator("#steps svg[role=img]").get_attribute("aria-label")
    assert "31124 steps at batch size 1" in told
    point = explorer.points("steps").nth(4)
    point.hover(force=True)
    tip = explorer.page.locator("#steps [aria-label=tip]")
    expect(tip).to_contain_text("batch size 16")
    expect(tip).to_contain_text("2,121 steps; goal missed at 1,945")
    expect(tip).to_contain_text("best of 24 trials")
    place = few_db.studies(SGD).sort("batch_size")["batch_size"].to_list().index(BATCH_SIZE)
    explorer.press_point("steps", place)
    explorer.expect_state(**STUDY)
    heading = explorer.page.get_by_role("heading", name=f"{SGD} at batch size {BATCH_SIZE}")
    expect(heading).to_be_focused()
    trial, steps = winner(few_db)
    expect(explorer.page.locator("#trial-title")).to_have_text(f"Trial {trial} first to the goal")
    about = explorer.page.locator(".study > header .about")
    expect(about).to_contain_text(f"trial {trial} was first, after {steps:,} steps")

    of_study = {"workload": SGD, "size": BATCH_SIZE}
    rows = explorer.csv("Search space")
    trials = few_db.sql(
        "SELECT trial_id, status, settings FROM trials WHERE workload = $workload AND "
        "batch_size = $size ORDER BY trial_id",
        **of_study,
    ).rows()
    assert [(int(row["trial_id"]), row["status"]) for row in rows] == [r[:2] for r in trials]
    for row, (*_, settings) in zip(rows, trials, strict=True):
        assert all(same(row[name], value) for name, value in json.loads(settings).items())
    reached = {int(row["trial_id"]): int(row["steps"]) for row in rows if row["steps"]}
    assert min(reached.values()) == steps
    assert min(number for number in reached if reached[number] == steps) == trial
    expect(about).to_contain_text(f"{len(rows)} trials: {len(reached)} reached the goal 0.03")
    rows = explorer.csv(CURVES)
    expected = few_db.sql(
        "SELECT trial_id, step, value FROM evaluations WHERE workload = $workload AND "
        "batch_size = $size AND metric = 'val_classification_error' ORDER BY trial_id, step",
        **of_study,
    ).rows()
    assert len(rows) == len(expected) == 332
    assert [(int(r["trial_id"]), int(r["step"]), float(r["value"])) for r in rows] == expected

    explorer.button("Close").click()
    explorer.expect_state()
    expect(heading).to_have_count(0)


@pytest.mark.slow
def test_a_trial_is_pinned_by_its_point_or_its_curve_and_let_go(explorer, few_db):
    explorer.go(**STUDY)
    chart = explorer.page.locator("#study-curves svg[role=img]")
    expect(chart).to_be_visible()
    title = explorer.page.locator("#trial-title")
    explorer.press_point("search-space", 3)
    expect(title).to_have_text(re.compile(r"^Trial \d+ pinned$"))
    trial = title.inner_text().split()[1]
    explorer.expect_state(**STUDY, trial=trial)
    told = dict(
        explorer.page.locator(".trial dl > div").evaluate_all(
            "(all) => all.map((each) => [...each.children].map((one) => one.textContent))"
        )
    )
    # The mouse rests where it was.
    explorer.page.mouse.down()
    explorer.page.mouse.up()
    explorer.expect_state(**STUDY)
    expect(title).to_have_text(f"Trial {winner(few_db)[0]} first to the goal")
    [row] = [row for row in explorer.csv("Search space") if row["trial_id"] == trial]
    assert told["status"] == row["status"]
    assert told["learning rate"] == f"{float(row['learning_rate']):.5g}"

    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    explorer.page.mouse.move(*middle, steps=2)
    tip = explorer.page.locator("#study-curves [aria-label=tip]").text_content()
    [trial] = re.findall(r"trial (\d+)", tip)
    explorer.page.mouse.click(*middle)
    explorer.expect_state(**STUDY, trial=trial)
    expect(title).to_have_text(f"Trial {trial} pinned")


@pytest.mark.slow
def test_the_axes_of_the_search_space_are_chosen(explorer):
    key = "replication:mnist/fc_128_128_128/nesterov_momentum"
    explorer.go(workload=key, study=key, batch_size=64)
    labels = explorer.page.locator("#search-space svg [aria-label$='axis label']")
    expect(labels).to_have_text(["learning rate →", "↑ 1 \N{MINUS SIGN} momentum"])
    explorer.choice("Horizontal axis").select_option("momentum")
    expect(labels).to_have_text(["1 \N{MINUS SIGN} momentum →", "↑ learning rate"])
    explorer.choice("Vertical axis").select_option("steps")
    expect(labels).to_have_text(["1 \N{MINUS SIGN} momentum →", "↑ steps to the goal"])
