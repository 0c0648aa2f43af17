"""The figures of curves from an imported replica, against the authors' rules in pandas.

Every panel, point for point, with the figures' own goals and trials and with others. The replica
plants the traps: values equal to the goal, ties in step, INCOMPLETE trials and trials past the
hundredth that reach the goal first, ids that sort differently as text, studies with a budget of
time, a maximised metric, the same data set, model and optimizer in two collections.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from dbtool.database import Database
from tests.replica import plan_study
from tests.support import figure_rules
from tests.support import published_figures as published
from tests.support.archives import Replica
from tests.support.figure_points import agree, figure_points
from tests.support.figure_rules import Curve, Point, Releases

NM = published.NM
CNN = f"mnist/simple_cnn_base/{NM}"
CRAWL = f"common_crawl/transformer_base/{NM}"
LSTM = f"lm1b/lstm/{NM}"
SMALLEST = {"imagenet": 64, "imagenet_subsets": 64, "open_images_v4": 128, "lm1b": 16}
# Missing from the replica, so that figures 3 and 6 have curves without data.
LACKING = {"mnist/fc_2048_2048_2048/sgd", f"mnist_subsets/mnist_27500/simple_cnn_base/{NM}"}
CURVES = (
    *published.FIGURE_1, *published.FIGURE_2, *published.FIGURE_3, *published.FIGURE_4,
    *published.FIGURE_5, *published.FIGURE_6, *published.FIGURE_11,
)  # fmt: skip
WORKLOADS = sorted({curve.workload for curve in CURVES} - LACKING)


def batch_sizes(workload: str) -> tuple[int, ...]:
    """Two batch sizes, one of which the normalised figures divide by, or three; 1 is slowest."""
    if workload == CRAWL:
        return (32, 64)
    first = SMALLEST.get(workload.split("/", 1)[0], 2)
    sizes = (first, 16 * first)
    return (1, *sizes) if workload.startswith("mnist/fc_1024_1024_1024") else sizes


PLANS = (
    *(
        plan_study(workload, size, complete=9, incomplete=3, infeasible=2, odd=size == 32)
        for workload in WORKLOADS
        for size in batch_sizes(workload)
    ),
    plan_study(CNN, 64, complete=104),
    plan_study(CRAWL, 128, complete=53),
    plan_study(LSTM, 64, complete=54),
    plan_study(f"solution_quality/{CNN}", 64, complete=108),
    plan_study(f"imagenet/resnet_50/{NM}", 128, complete=40),
    plan_study("mnist/simple_cnn_base/sgd", 1, complete=0),
)


@pytest.fixture(scope="module")
def releases(replica: Replica) -> Releases:
    return {"published": replica.studies}


@pytest.fixture(scope="module")
def db(replica: Replica) -> Database:
    return replica.db


steps, normalised, best = (
    figure_rules.steps_points, figure_rules.normalised_points, figure_rules.best_points,
)  # fmt: skip
effective = partial(figure_rules.metaparameter_points, name="effective_learning_rate")
# Another goal gives other points, also those of a metric that has nothing to do with it.
GOALS_AND_TRIALS: tuple[dict[str, Any], ...] = (
    {},
    {"trials": 4},
    {"goal": 0.0203},
    {"goal": 4.5, "trials": 7},
)
# Of a figure that takes its points from the same macros as another one.
FEW = (GOALS_AND_TRIALS[0], GOALS_AND_TRIALS[-1])
# A figure's curves and rule, and what it is asked for with.
FIGURES: dict[str, tuple[list[Curve], Callable[..., list[Point]], tuple[dict[str, Any], ...]]] = {
    "figure_01": (published.FIGURE_1, steps, GOALS_AND_TRIALS),
    "figure_02": (published.FIGURE_2, steps, ({}, {"trials": 4}, {"goal": 0.02})),
    "figure_03": (published.FIGURE_3, normalised, FEW),
    "figure_04": (published.FIGURE_4, steps, ({},)),
    "figure_05": (published.FIGURE_5, normalised, ({},)),
    "figure_06": (published.FIGURE_6, normalised, ({},)),
    "figure_08": (published.FIGURE_8, effective, FEW),
    # All trials, also those past the hundredth.
    "figure_11": (published.FIGURE_11, best, ({}, {"trials": 5})),
    "solution-quality-zoomed": (published.FIGURE_11, best, ({}, {"trials": 5})),
    "training-set-steps": (published.of_split("train"), steps, FEW),
    "test-set-steps": (published.of_split("test"), steps, ({},)),
    "trial-budget": (published.TRIAL_BUDGET, steps, ({}, {"goal": 0.0203})),
}


@pytest.mark.parametrize(
    ("figure", "request_"),
    [(figure, request) for figure, (*_, requests) in FIGURES.items() for request in requests],
    ids=str,
)
def test_every_point(figure, request_, releases, db):
    curves, rule, _ = FIGURES[figure]
    changes = request_ | ({"goal": str(request_["goal"])} if "goal" in request_ else {})
    curves = [replace(curve, **changes) for curve in curves]
    if figure == "figure_02" and "goal" in request_:
        first = [curve for curve in curves if curve.series == 1]
        curves = [replace(curve, name=f"goal {curve.goal}") for curve in first]
    expected = rule(curves, releases)
    if figure == "figure_02":
        expected = [{**point, "perfect": None} for point in expected]
    points = figure_points(db, figure, **request_)
    agree(points, expected)
    assert request_ or sum(point["y"] is not None for point in expected) >= 4
    if rule is normalised:
        assert any(point["x"] is None for point in expected) == (figure != "figure_05")
    if figure == "solution-quality-zoomed":
        rows: dict[int, list[float]] = {}
        for point in expected:
            if point["y"] is not None:
                rows.setdefault((point["panel_order"] + 1) // 2, []).append(point["y"])
        for point in points:
            lowest = min(rows[(point["panel_order"] + 1) // 2])
            assert point["y_from"] < lowest < point["y_to"] < 2 * lowest


def test_the_trials_past_the_hundredth_make_a_difference(releases):
    hundred = [replace(curve, trials=100) for curve in published.FIGURE_11]
    assert best(hundred, releases) != best(published.FIGURE_11, releases)


def test_the_parameter_trials_takes_the_place_of_larger_numbers(releases, db):
    fewer = {
        (curve.panel, number): replace(
            curve, series=number, trials=number, name=f"first {number} trials"
        )
        for curve in published.TRIAL_BUDGET
        for number in [min(curve.first, 30)]
    }
    agree(figure_points(db, "trial-budget", trials=30), steps(list(fewer.values()), releases))


@pytest.mark.parametrize("trials", [100, 20])
def test_label_smoothing(trials, releases, db):
    points = figure_points(db, "figure_07", trials=trials)
    for panel, curves, rule in (
        (1, published.FIGURE_7_BEST, best),
        (2, published.FIGURE_7_STEPS, steps),
    ):
        expected = rule([replace(curve, trials=trials) for curve in curves], releases)
        agree([point for point in points if point["panel_order"] == panel], expected)
        assert len({point["trial_id"] for point in expected}) > 3


@pytest.mark.parametrize(
    ("figure", "name", "panels"),
    [("optimal-learning-rate", "learning_rate", 35), ("optimal-momentum", "momentum", 22)],
)
def test_optimal_metaparameters_of_all_workloads(figure, name, panels, releases, db):
    points = figure_points(db, figure)
    # The order of so many panels is the query's; what they show is not.
    curves = {
        point["panel_order"]: published.curve(
            point["panel_order"], 1, point["series"], point["workload"], goal_of(point["workload"])
        )
        for point in points
    }
    assert len(curves) == len({curve.workload for curve in curves.values()}) == panels
    assert all(curve.name == curve.workload.split("/")[-2] for curve in curves.values())
    expected = figure_rules.metaparameter_points(list(curves.values()), releases, name)
    agree(points, expected)
    assert name == "learning_rate" or any(point.get("at_border") for point in expected)


GOALS = (
    # The first that is in a workload's name holds.
    ("mnist_subsets", "0.02"), ("imagenet_half", "0.3"), ("cifar", "0.3"), ("vgg", "0.35"),
    ("imagenet", "0.25"), ("open_images", "0.31"), ("wide/n", "4.2"), ("narrow_and", "4.2"),
    ("lm1b", "3.9"), ("common_crawl", "3.9"), ("fashion", "0.1"), ("/fc_", "0.03"),
    ("mnist", "0.01"),
)  # fmt: skip


def goal_of(workload: str) -> str:
    """The goal of a workload, as the papers' figures about it have it."""
    return next(goal for words, goal in GOALS if words in workload)
