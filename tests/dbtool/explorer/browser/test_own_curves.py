"""Curves of one's own beside those of the page: dropped or chosen, measured, told of, removed."""

import csv
import io
import re

import pytest

from tests.support.explorer_browser import expect, needs_explorer_browser

pytestmark = needs_explorer_browser
SGD = "mnist/fc_1024/sgd"
STEPS = """\
workload,batch_size,steps
mine,16,8000
mine,32,4100
mine,64,2150
mine,128,1200
mine,256,800
mine,512,700
mine,1024,
theirs,32,9000
theirs,64,4600
"""
MEASURED_STEPS = STEPS.replace("mine,1024,\n", "")
# Errors of two trials at each batch size, by step.
ERRORS = {
    (16, "a"): {100: 0.5, 200: 0.2, 300: 0.06, 400: 0.04, 500: 0.02},
    (16, "b"): {100: 0.6, 200: 0.09, 300: 0.07, 400: 0.045, 500: 0.029},
    (64, "a"): {50: 0.4, 100: 0.1, 150: 0.03, 200: 0.01},
    (64, "b"): {50: 0.4, 100: 0.04, 150: 0.035, 200: 0.031},
    (256, "a"): {20: 0.3, 40: 0.2, 60: 0.1},
    (256, "b"): {20: 0.9, 40: 0.15, 60: 0.08, 80: 0.06},
}
# By goal: of each batch size the fewest steps, and after how many the goal was not yet reached.
BY_HAND = {
    0.03: {16: (400, 500), 64: (150, 200), 256: (80, None)},
    0.05: {16: (300, 400), 64: (50, 100), 256: (80, None)},
    0.095: {16: (100, 200), 64: (50, 100), 256: (40, 60)},
}
ONE = "batch_size,steps\n8,500\n"


def curves_csv():
    """The errors as a CSV whose rows run backwards, with one row of another metric alone."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["batch_size", "trial_id", "step", "val_classification_error", "train_cross_entropy_error"]
    )
    writer.writerow([16, "b", 700, "", 0.01])
    for (size, trial), errors in reversed(ERRORS.items()):
        writer.writerows([size, trial, step, error, ""] for step, error in reversed(errors.items()))
    return text.getvalue()


def rows_of_own(explorer, title="Steps to result"):
    return [row for row in explorer.csv(title) if not row["release"]]


def legend(explorer):
    return explorer.page.locator("#steps .legend li")


def test_a_dropped_file_is_drawn_and_told_of_beside_the_others(explorer, few_db):
    sizes = few_db.studies(SGD).height
    expect(explorer.points("steps")).to_have_count(sizes)
    asked = len(explorer.requests)
    explorer.drop(own=STEPS)
    expect(legend(explorer)).to_have_text([SGD, "mine", "theirs"])
    expect(explorer.points("steps")).to_have_count(sizes + 6 + 2)
    assert explorer.points("steps").evaluate_all(
        "(all) => new Set(all.map((each) => getComputedStyle(each).fill)).size"
    ) == len([SGD, "mine", "theirs"])
    expect(explorer.page.locator("#critical .answers li")).to_contain_text([SGD, "mine", "theirs"])
    explorer.unfold("steps", "critical")
    steps, critical = explorer.tables("steps", "critical")
    own = [row for row in steps if row["release"] == ""]
    assert [(row["workload"], row["batch_size"], row["steps"]) for row in own] == [
        tuple(line.split(",")) for line in MEASURED_STEPS.splitlines()[1:]
    ]
    assert [row["workload"] for row in critical] == [SGD] * 3 + ["mine"] * 3 + ["theirs"] * 3
    # Nothing is sent, not even to the machine itself.
    assert len(explorer.requests) == asked


@pytest.mark.slow
def test_of_curves_the_steps_are_those_to_the_goal(explorer):
    explorer.drop(own=curves_csv())
    expect(legend(explorer)).to_have_text([SGD, "own"])
    for goal, by_hand in BY_HAND.items():
        explorer.go(goal=goal)
        rows = rows_of_own(explorer)
        steps = {
            int(row["batch_size"]): (int(row["after"]), int(row["steps"]) if row["steps"] else None)
            for row in rows
        }
        assert steps == by_hand
        told = {(row["metric"], float(row["goal"])) for row in rows}
        assert told == {("val_classification_error", goal)}
    # Alone they have a goal to slide, too.
    explorer.go(workload="")
    explorer.slide("Goal", 0.5)
    goal = float(explorer.field("Goal as a number").input_value())
    explorer.expect_state(workload="", goal=goal)
    # From the best of all errors to the middle one of those with which trials begin.
    assert 0.01 < goal < 0.5
    assert {float(row["goal"]) for row in rows_of_own(explorer)} == {goal}


@pytest.mark.slow
def test_files_are_chosen_several_at_once_again_after_they_were_removed_and_of_one_name(explorer):
    def choose(**files):
        with explorer.page.expect_file_chooser() as chooser:
            explorer.page.get_by_text("choose a file").click()
        kind = {"mimeType": "text/csv"}
        files = {f"{name}.csv": text.encode() for name, text in files.items()}
        chooser.value.set_files([kind | {"name": n, "buffer": files[n]} for n in files])

    choose(own=STEPS, laptop=ONE)
    expect(legend(explorer)).to_have_text([SGD, "mine", "theirs", "laptop"])
    for name in ("mine", "theirs", "laptop"):
        explorer.button(f"Remove {name}").click()
    expect(legend(explorer)).to_have_text([SGD])
    choose(laptop=ONE)
    choose(laptop=ONE.replace("500", "700"))
    expect(legend(explorer)).to_have_text([SGD, "laptop", "laptop (2)"])
    found = [(row["workload"], row["steps"]) for row in rows_of_own(explorer)]
    assert found == [("laptop", "500"), ("laptop (2)", "700")]
    explorer.button("Remove laptop").click()
    assert [row["steps"] for row in rows_of_own(explorer)] == ["700"]
    # None has a study.
    explorer.go(workload="")
    expect(explorer.points("steps")).to_have_count(1)
    explorer.press_point("steps", 0)
    explorer.unfold("steps")
    expect(explorer.page.locator("#steps tbody tr")).to_have_count(1)
    expect(explorer.page.locator("#steps tbody button")).to_have_count(0)
    explorer.expect_state(workload="")
    choose(wrong="a,b\n1,2\n")
    explorer.says(re.compile("^wrong.csv has the columns a, b: "))


TAKES = "it takes batch_size and steps, or batch_size, step and a metric such as"
MISTAKES = {
    "size,steps\n16,200\n": f"wrong.csv has the columns size, steps: {TAKES}",
    "batch_size,steps\n": "wrong.csv has no rows below its first line",
    f"\n{ONE}\n-16,200\n": "wrong.csv, line 5: batch_size is -16, and should be above 0",
    f'{ONE}"16,200\n': 'wrong.csv, line 3: batch_size "16,200" is not a number',
    "batch_size,step,val_classification_error\n16,100,low\n": (
        'wrong.csv, line 2: val_classification_error "low" is not a number'
    ),
}


@pytest.mark.slow
def test_what_is_wrong_with_a_file_is_told_in_one_sentence(explorer):
    for text, said in MISTAKES.items():
        explorer.drop(wrong=text)
        explorer.says(re.compile(f"^{re.escape(said)}[^.]*$"))
    expect(legend(explorer)).to_have_text([SGD])
    # Beside it a right one is taken.
    explorer.drop(wrong="", right=ONE)
    expect(legend(explorer)).to_have_text([SGD, "right"])
