"""The figures about trials, drawn from an imported replica, against the rules in plain Python.

The replica plants the traps: values equal to the goal, ties in step, INCOMPLETE trials and trials
past the hundredth that reach the goal first, INFEASIBLE ones that reach it, unusual files.
"""

import math
from typing import Any, TypeAlias

import pytest

from dbtool.database import Database
from tests.replica import plan_study
from tests.support import rules
from tests.support.archives import Replica
from tests.support.figure_points import figure_rows as rows
from tests.support.rules import StudyFrames

BASE = "lm1b/transformer_base/nesterov_momentum"
CNN = "mnist/simple_cnn_base/nesterov_momentum"
RESNET = "imagenet/resnet_50/nesterov_momentum"
HALF = "imagenet_subsets/imagenet_half_images/resnet_50/nesterov_momentum"
IMAGES = "open_images_v4/resnet_50/nesterov_momentum"
VAL, ENTROPY = "val/classification_error", "val/cross_entropy_error"
PRECISION = "val/average_precision"
SIZES = ("wide", "base", "shallow", "narrow_and_shallow")
PLANS = (
    *(plan_study(BASE, size, seed=3, odd=size == 128) for size in (128, 512, 1_024, 4_096, 16_384)),
    plan_study("lm1b/transformer_wide/nesterov_momentum", 1_024),
    plan_study("lm1b/transformer_shallow/nesterov_momentum", 1_024, infeasible=0),
    plan_study(RESNET, 64, odd=True),
    plan_study(RESNET, 1_024),
    plan_study(CNN, 1, odd=True),
    plan_study(CNN, 128, complete=106, evaluations=240),
    plan_study(CNN, 8_192, complete=7, evaluations=1_300),
    plan_study(IMAGES, 256),
    plan_study("mnist/fc_64_64_64/sgd", 2),
    plan_study(HALF, 64),
)
EPOCH = 30_301_028


@pytest.fixture(scope="module")
def studies(replica: Replica) -> dict[str, StudyFrames]:
    """The studies that were written, by their folder."""
    return {f"{each.workload}/{each.study['batch_size']}": each for each in replica.studies}


@pytest.fixture(scope="module")
def db(replica: Replica) -> Database:
    return replica.db


def within(study: StudyFrames | None, budget: int) -> int:
    """The steps that a scatter plot says its trials had: those of the longest, if fewer."""
    if study is None:
        return budget
    taken = study.trials[study.trials["status"].isin(["COMPLETE", "INFEASIBLE"])]
    return min(budget, int(taken["steps"].max()))


# Of a scatter plot's panels: title, study, metric, goal, and the budget of steps.
Panels: TypeAlias = "list[tuple[str, str, str, str, float]]"
EPOCHS = {size: EPOCH / size for size in (128, 256, 512, 1_024, 2_048, 4_096)}
STEPS = dict.fromkeys((512, 1_024, 2_048, 4_096, 8_192, 16_384), 25_000.0)


def figure_9(goal: str, budgets: dict[int, float]) -> Panels:
    return [
        (f"Batch size {size:,}", f"{BASE}/{size}", ENTROPY, goal, budget)
        for size, budget in budgets.items()
    ]


def figure_10() -> Panels:
    workloads = {size: f"lm1b/transformer_{size}/nesterov_momentum" for size in SIZES}
    return [
        (f"Transformer {size.replace('_', ' ')}", f"{workload}/1024", ENTROPY, "4.2", 50_000)
        for size, workload in workloads.items()
    ]


# The one with the most trials.
LARGEST: Panels = [
    (f"Batch size {n:,}", f"{CNN}/{n}", VAL, "0.01", math.inf) for n in (1, 128, 8_192)
]
SMALL_TITLE = "fc_64_64_64 on mnist with sgd, batch size 2"
IMAGES_TITLE = "resnet_50 on open_images_v4 with nesterov_momentum, batch size 256"
NAMED: Panels = [
    (SMALL_TITLE, "mnist/fc_64_64_64/sgd/2", VAL, "0.03", math.inf),
    (IMAGES_TITLE, f"{IMAGES}/256", PRECISION, "0.31", math.inf),
]


@pytest.mark.parametrize(
    ("figure", "request_", "panels"),
    [
        ("9a", {}, figure_9("3.9", EPOCHS)),
        ("9b", {}, figure_9("3.9", STEPS)),
        ("9b", {"goal": 5.1}, figure_9("5.1", STEPS)),
        ("10", {}, figure_10()),
        ("scatter", {}, LARGEST),
        ("scatter", {"workloads": (IMAGES, "mnist/fc_64_64_64/sgd")}, NAMED),
    ],
)
def test_every_trial_of_a_scatter_plot(figure, request_, panels, studies, db):
    expected: list[tuple[Any, ...]] = []
    for panel, path, metric, goal, most_steps in panels:
        found = [("goal achieved", None, None, None, False, None)]
        if path in studies:
            found = rules.scatter(studies[path], metric, goal, most_steps=most_steps)
        expected += [(panel, *row) for row in found]
    assert rows(db, figure, "panel, series, x, y, trial_id, best, steps", **request_) == expected


def test_budgets_borders_and_axes_of_a_scatter_plot(studies, db):
    assert set(rows(db, "9a", "batch_size, most_steps")) == {
        (size, within(studies.get(f"{BASE}/{size}"), EPOCH // size)) for size in EPOCHS
    }
    found = set(rows(db, "9b", "x_low, x_high, y_low, y_high, most_steps, batch_size"))
    borders = (1e-4, 10.0, 1 - 0.9999, 1 - 0.9)
    assert {row for row in found if row[0] is not None} == {
        (*borders, within(studies[f"{BASE}/{size}"], 25_000), size)
        for size in (512, 1_024, 4_096, 16_384)
    }
    # The axes are those of the paper.
    ninth = (10**-4.5, 10**-0.5, 1e-6, 10)
    for figure, ends in (("9a", ninth), ("9b", ninth), ("10", (1e-4, 1e-1, 1e-4, 1e-1))):
        [axes] = rows(db, figure, "DISTINCT x_from, x_to, y_from, y_to")
        assert axes == pytest.approx(ends)


def test_the_first_trials_of_a_scatter_plot(db):
    everything = rows(db, "10", "panel_order, trial_id")
    first = rows(db, "10", "panel_order, trial_id, trials, asked_trials", trials=3)
    for panel in (1, 2, 3):
        ids = sorted(trial_id for place, trial_id in everything if place == panel)
        taken = sorted(row[1:] for row in first if row[0] == panel)
        assert taken == [(trial_id, 3, 3) for trial_id in ids[:3]]


GRID = "series, x, value, low, high, trial_id, best"
SCALES = {
    "learning_rate": "log",
    "momentum": "reverse_log",
    "learning_rate_decay_steps": "linear",
    "end_learning_rate_factor": "log",
    "label_smoothing": "linear",
}


@pytest.mark.parametrize(
    ("figure", "workload", "metric", "goal", "panels"),
    [
        ("search-space-transformer", BASE, ENTROPY, "3.9", 2),
        ("search-space-resnet", RESNET, VAL, "0.25", 5),
    ],
)
def test_search_spaces(figure, workload, metric, goal, panels, studies, db):
    scales = dict(list(SCALES.items())[:panels])
    found = rows(db, figure, f"metaparameter, scale, y, {GRID}")
    assert list(dict.fromkeys(row[:2] for row in found)) == list(scales.items())
    of_workload = [study for study in studies.values() if study.workload == workload]
    for name, scale in scales.items():
        panel = [row[2:] for row in found if row[0] == name]
        expected = rules.grid(of_workload, name, metric, goal)
        assert [row[1:4] + row[6:] for row in panel] == [row[:3] + row[5:] for row in expected]
        for (y, *_, low, high, _, _), row in zip(panel, expected, strict=True):
            value, lowest, highest = row[2:5]
            if name == "learning_rate_decay_steps":
                assert (y, low, high) == (value / highest, lowest / highest, 1)
            elif scale == "reverse_log":
                assert (y, low, high) == (1 - value, 1 - highest, 1 - lowest)
            else:
                assert (y, low, high) == (value, lowest, highest)


def test_search_space_of_any_workload(studies, db):
    found = rows(db, "search-space", f"panel, scale, {GRID}", workloads=(RESNET,))
    panels = list(dict.fromkeys(row[0] for row in found))
    assert panels == [
        *("Learning rate", "Momentum", "End learning rate factor", "Label smoothing"),
        *("Learning rate decay steps", "Weight decay"),
    ]
    # Searched at one of the two batch sizes only.
    assert {row[3] for row in found if row[0] == "Weight decay"} == {64}
    of_workload = [study for study in studies.values() if study.workload == RESNET]
    rates = rules.grid(of_workload, "learning_rate", VAL, "0.25")
    assert [row[2:] for row in found if row[0] == "Learning rate"] == rates
    default = rows(db, "search-space", "DISTINCT workload, panel")
    assert sorted(default) == [
        (CNN, name) for name in ("Learning rate", "Momentum", "Weight decay")
    ]


READING = "trial_id, x, y, best, read_off"


@pytest.mark.parametrize("first", [None, 3])
def test_reading_steps_to_result(first, studies, db):
    study = studies[f"{CNN}/128"]
    expected = rules.reading(study, VAL, "0.01", first=first or 100)
    found = rows(db, "reading-steps-to-result", READING, trials=first)
    assert found == expected
    read = rules.steps_to_result(study, VAL, "0.01", first=first or 100)
    assert [(row[1], row[0]) for row in found if row[4]] == ([] if read is None else [read])
    assert len({row[0] for row in found}) == (first or 100)
    assert rows(db, "reading", READING, trials=first, workloads=(CNN,)) == expected


def test_reading_of_a_value_to_get_above(studies, db):
    study = studies[f"{IMAGES}/256"]
    found = rows(db, "reading", READING, workloads=(IMAGES,), goal=0.3)
    assert found == rules.reading(study, PRECISION, "0.3", first=100)
    assert sum(row[4] for row in found) == 1


CURVES = "panel_order, panel, series, trial_id, x, y, read_off"


@pytest.mark.parametrize("goal", ["0.01", "0.0001"])
def test_learning_curves(goal, studies, db):
    expected = []
    for place, split in enumerate(("train", "val", "test")):
        for axis in ("steps", "epochs"):
            for size in (1, 128, 8_192):
                study = studies[f"{CNN}/{size}"]
                trial_id, points = rules.learning_curve(study, split, VAL, goal)
                expected += [
                    (
                        2 * place + (1 if axis == "steps" else 2),
                        f"{split}_classification_error against {axis}",
                        f"Batch size {size:,}",
                        trial_id,
                        step if axis == "steps" else step * size / 55_000,
                        value,
                        read,
                    )
                    for step, value, read in points
                ]
    request = {} if goal == "0.01" else {"goal": float(goal)}
    assert rows(db, "learning-curves", CURVES, **request) == expected
    named = rows(db, "curves", CURVES, workloads=(CNN,), **request)
    assert named == expected
    # The goal is drawn on the split that it is read on.
    drawn = rows(db, "learning-curves", "DISTINCT panel_order, metric = goal_metric", **request)
    assert {place for place, on_this_split in drawn if on_this_split} == {3, 4}
    assert any(row[6] for row in expected) == (goal == "0.01")


def test_curves_of_a_training_set_of_unknown_size_are_against_examples(db):
    found = rows(db, "curves", "x_label, x, step, batch_size", workloads=(HALF,))
    assert {row[0] for row in found} == {"Step", "Examples"}
    assert all(row[1] == row[2] * (1 if row[0] == "Step" else row[3]) for row in found)


# One of each query.
@pytest.mark.parametrize(
    "figure", ["10", "search-space-resnet", "scatter", "search-space", "reading", "curves"]
)
def test_another_release_has_its_own_rows(figure, db):
    """A release without the workloads has one row a curve; the other's rows stay as they are."""
    columns = "panel, series, x, y, trial_id, release_order"
    alone = rows(db, figure, columns)
    both = rows(db, figure, f"{columns}, release", release="published,other")
    assert [row[:-1] for row in both if row[-1] == "published"] == alone
    lacking = [row for row in both if row[-1] == "other"]
    assert lacking
    assert {(row[2], row[4], row[5]) for row in lacking} == {(None, None, 2)}
    assert {row[0] for row in lacking} == {row[0] for row in alone}
    assert all(row[1] for row in lacking)


def test_schedules_start_at_one_and_end_at_their_factor(db):
    found = rows(db, "schedule-shapes", "series, x, y")
    curves: dict[str, dict[float, float]] = {}
    for series, x, y in found:
        curves.setdefault(series, {})[round(x, 9)] = y
    half = {
        "constant": 1.0,
        "linear": 1 - 0.99 / 2,
        "cosine": (1 + 0.01) / 2,
        "exponential polynomial": 0.01 + 0.99 / 8,
        "inverse exponential polynomial": 0.01 + 0.99 * 7 / 8,
        "exponential": 0.1,
    }
    assert list(curves) == list(half)
    for series, points in curves.items():
        assert points[0] == 1
        assert points[0.5] == pytest.approx(half[series])
        end = 1 if series == "constant" else 0.01
        assert points[1] == pytest.approx(end)
        assert points[1.2] == pytest.approx(end)
        values = [points[x] for x in sorted(points)]
        assert values == sorted(values, reverse=True)
