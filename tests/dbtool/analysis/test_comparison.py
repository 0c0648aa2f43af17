"""Optimizers compared by all choices of trials, and profiled: by hand, and by tests of others."""

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.analysis.comparison import (
    chance_interval,
    chance_of_fewer,
    compare,
    comparison_rows,
    enough_of_stopped,
    quarter_of_fewest,
    tasks_of,
)
from dbtool.analysis.profiles import cells_left_out, performance_profiles, ratios
from dbtool.analysis.searches import Search
from dbtool.core.errors import UsageError
from dbtool.database import open_database
from tests.support.made_up import curve, write_shard

INF = math.inf
TASK = ("made-up", None, "digits", "fc", "val_classification_error", 0.1)
# Few different numbers, so that there are ties, and some that are never reached.
EVALUATIONS = st.sampled_from([(0, 3), (1, 3), (2, 3), (1, 4), (3, 5), (3, INF), (INF, INF)])
INTERVALS = st.lists(EVALUATIONS, min_size=2, max_size=5)


def search(batch_size: int, intervals: list[tuple[float, float]]) -> Search:
    after, steps = np.array(intervals, float).T
    nothing = np.full(len(steps), math.nan)
    return Search(batch_size, after, steps, nothing, nothing, {})


def exact(batch_size: int, *steps: float) -> Search:
    """Trials evaluated at every step."""
    return search(batch_size, [(each - 1, each) for each in steps])


def score(one: float, other: float) -> float:
    return 0.5 if one == other < INF else float(one < other)


def by_all_choices(steps: list[float], others: list[float], k: int) -> float:
    pairs = product(combinations(steps, k), combinations(others, k))
    return float(np.mean([score(min(mine), min(theirs)) for mine, theirs in pairs]))


@given(INTERVALS, INTERVALS, st.integers(1, 3))
def test_chances_against_all_choices_of_trials(first, other, k):
    k = min(k, len(first), len(other))
    found = compare(search(8, first), search(8, other), k, level=0.95)
    # Each in the middle of the steps from the one after the last that missed the goal.
    steps, others = ([(after + 1 + end) / 2 for after, end in each] for each in (first, other))
    win, loss = by_all_choices(steps, others, k), by_all_choices(others, steps, k)
    for name, expected in (("win", win), ("loss", loss)):
        is_open = found[f"{name}_possible"] - found[f"{name}_certain"] > 0.5
        assert found[name] == (None if is_open else pytest.approx(expected))
    assert win + loss + found["neither"] == pytest.approx(1)


def test_rare_evaluations_are_no_disadvantage():
    steps = np.random.default_rng(5).integers(1, 2_000, 200)
    seldom = [(40 * ((each - 1) // 40), 40 * ((each - 1) // 40 + 1)) for each in steps.tolist()]
    for k in (1, 5):
        found = compare(exact(8, *map(float, steps)), search(8, seldom), k, level=0.95)
        assert found["win"] == pytest.approx(0.5, abs=0.02)
        assert found["win_certain"] < found["win"] < found["win_possible"]


@given(INTERVALS, INTERVALS, st.integers(1, 2), st.data())
def test_bounds_hold_for_any_steps_between_evaluations(first, other, k, data):
    def step(after: float, end: float) -> float:
        later = [after + 1, after + 5, INF] if end == INF else range(int(after) + 1, int(end) + 1)
        return float(data.draw(st.sampled_from(later)))

    found = compare(search(8, first), search(8, other), k, level=0.95)
    steps, others = [step(*each) for each in first], [step(*each) for each in other]
    for name, pair in (("win", (steps, others)), ("loss", (others, steps))):
        share = by_all_choices(*pair, k)
        assert found[f"{name}_certain"] - 1e-9 <= share <= found[f"{name}_possible"] + 1e-9


@pytest.mark.parametrize(
    ("first", "other", "win", "loss"),
    [
        # 10 < T <= 20 and 15 < T <= 18: either may be first. 10 < T <= 15 is first for certain.
        ((10, 20), (15, 18), (None, 0, 1), (None, 0, 1)),
        ((10, 15), (15, 18), (1, 1, 1), (0, 0, 0)),
        # Neither reached the goal: the first was trained longer, but may have reached it right
        # after. One that diverged never does.
        ((100, INF), (50, INF), (None, 0, 1), (None, 0, 1)),
        ((INF, INF), (50, INF), (0, 0, 0), (None, 0, 1)),
    ],
)
def test_bounds_by_hand(first, other, win, loss):
    found = compare(search(8, [first]), search(8, [other]), 1, level=0.95)
    for name, expected in (("win", win), ("loss", loss)):
        assert tuple(found[f"{name}{end}"] for end in ("", "_certain", "_possible")) == expected
    assert found["neither"] == (INF in first)


def test_equal_searches_of_many_trials_are_even():
    steps = np.arange(1.0, 301)
    assert chance_of_fewer(steps, steps, 150) == pytest.approx(0.5)


@pytest.mark.parametrize(("counts", "quarter"), [((4, 9, 20), 2), ((3, 4), 1), ((), 1)])
def test_a_quarter_of_the_fewest_trials_that_are_enough(counts, quarter):
    assert quarter_of_fewest(exact(8, *range(1, count + 1)) for count in counts) == quarter


def test_searches_of_few_trials_are_compared_by_one_of_each():
    few = {TASK: {"adam": [exact(8, 1, 2, 3, 4)], "sgd": [exact(8, 2.5, 5, 6, 7)]}}
    [row] = comparison_rows(few).to_dicts()
    # Of 16 pairs Adam loses two: those of 2.5 with 3 and with 4.
    assert (row["k"], row["win"], row["missing"]) == (1, 14 / 16, None)
    assert row["win_low"] < 0.5 < row["win_high"]


@given(st.integers(0, 10_000))
def test_intervals_against_pseudo_values_of_mann_and_whitney(seed):
    """Of k = 1 the jackknife's variance is that of DeLong et al. 1988, by placements."""
    rng = np.random.default_rng(seed)
    steps, others = rng.normal(0, 1, 12), rng.normal(0.3, 1, 15)
    wins = (steps[:, None] < others).astype(float)
    value = wins.mean()
    variance = wins.mean(axis=1).var(ddof=1) / 12 + wins.mean(axis=0).var(ddof=1) / 15
    # Shares p whose distance from the value is Student's quantile times their own deviation.
    excess = 2.2009851600829**2 / min(value * (1 - value) / variance, 27)
    expected = sorted(np.roots([1 + excess, -2 * value - excess, value**2]).real)
    assert chance_interval(steps, others, 1, level=0.95) == pytest.approx(expected)


@pytest.mark.parametrize(("k", "chance"), [(3, 0.5), (6, 0.94), (3, 0.995)])
def test_intervals_hold_the_chance_as_often_as_they_say(k, chance):
    # The fewest of k exponential steps is exponential, too: the chance is the share of rates.
    rng = np.random.default_rng(11)
    runs, held, decided = 200, 0, 0
    for _ in range(runs):
        steps = rng.exponential(size=24)
        others = rng.exponential(chance / (1 - chance), size=24)
        low, high = chance_interval(steps, others, k, level=0.95)
        held += low <= chance <= high
        decided += low > 0.5 or high < 0.5
    # At least what they say, up to three standard deviations of the count.
    assert held >= 0.95 * runs - 3 * math.sqrt(runs * 0.95 * 0.05)
    assert decided < 0.1 * runs if chance == 0.5 else decided > 0.75 * runs


def test_intervals_where_all_choices_agree():
    steps = np.arange(1.0, 13)
    # As 8 searches of 3 trials each that all agree: 8 / (8 + t^2), with 11 degrees of freedom.
    low, high = chance_interval(steps, steps + 20, 3, level=0.95)
    assert [low, high] == pytest.approx([8 / (8 + 2.2009851600829**2), 1])
    # The best of all trials is the luck of one.
    low, high = chance_interval(steps, steps + 20, 12, level=0.95)
    assert low < 0.5 < high
    assert chance_interval(np.ones(1), np.ones(1) + 1, 1, level=0.95) == (0, 1)


def test_intervals_cover_what_evaluations_leave_open():
    steps = np.append(np.arange(1.0, 11), [math.inf, math.inf])
    coarse = search(8, [(step - 2, step) for step in steps])
    found = compare(coarse, coarse, 3, level=0.95)
    low, _ = chance_interval(steps, steps - 1, 3, level=0.95)
    _, high = chance_interval(steps - 1, steps, 3, level=0.95)
    assert (found["win_low"], found["win_high"]) == (low, high)
    names = ("win_low", "win_certain", "win", "win_possible", "win_high")
    ends = [found[name] for name in names]
    assert ends == sorted({*ends})


def test_searches_in_lockstep_are_compared_where_stopping_tells():
    def lockstep(first: int, reached: int) -> Search:
        """24 trials, of which all but the first to the goal were dropped with the last of them."""
        steps = np.array([first + each for each in range(reached)] + [INF] * (24 - reached))
        after = np.where(np.isfinite(steps), steps - 1, first + reached - 1)
        nothing = np.full(24, math.nan)
        return Search(8, after, steps, nothing, nothing, {}, stopped=True)

    # Of 15 trials one is among the first 3 with 95 %: 1 - C(21, 15) / C(24, 15).
    assert [enough_of_stopped(lockstep(25, reached)) for reached in (3, 12, 24)] == [15, 4, 1]
    few = comparison_rows({TASK: {"muon": [lockstep(25, 3)], "sgd": [lockstep(298, 3)]}})
    assert few.select("k").item() == 15
    assert few["win"].item() > 0.95
    assert few["win_low"].item() < 0.5
    many = comparison_rows({TASK: {"muon": [lockstep(25, 12)], "sgd": [lockstep(298, 12)]}})
    assert many["k"].item() == 6
    assert many["win_low"].item() > 0.5
    # Of one trial each, three of 24 decide next to nothing.
    open_ones = comparison_rows({TASK: {"muon": [lockstep(25, 3)], "sgd": [lockstep(25, 3)]}}, 1)
    assert open_ones["win"].item() is None
    assert open_ones["win_certain"].item() < 0.13
    assert open_ones["win_possible"].item() > 0.6


def test_rows_flag_what_is_missing():
    tasks = {
        TASK: {
            "adam": [exact(8, *[5] * 8), exact(16, *[3] * 8), exact(64, *[1] * 8)],
            "sgd": [exact(8, *[6] * 9), exact(32, *[3] * 9), exact(64, 9)],
        }
    }
    rows = comparison_rows(tasks)
    columns = ("batch_size", "optimizer_trials", "other_trials", "k", "win", "loss", "missing")
    assert rows.select(columns).rows() == [
        (8, 8, 9, 2, 1.0, 0.0, None),
        (16, 8, 0, 2, None, None, "sgd"),
        (32, 0, 9, 2, None, None, "adam"),
        (64, 8, 1, 2, None, None, "sgd"),
    ]
    assert rows["optimizer"].unique().to_list() == ["adam"]
    assert comparison_rows(tasks, k=1).filter(batch_size=64)["win"].item() == 1.0
    nothing_common = {TASK: {"adam": [exact(8, 5)], "sgd": [exact(16, 5)]}}
    found = comparison_rows(nothing_common).select("k", "win", "missing").rows()
    assert found == [(1, None, "sgd"), (1, None, "adam")]
    # One without any trial on a task is named there, though not in another release.
    fashion, other = (*TASK[:2], "fashion", *TASK[3:]), ("other", *TASK[1:])
    tasks = {TASK: tasks[TASK], fashion: {"sgd": [exact(8, 5)]}, other: {"lion": [exact(8, 5)]}}
    pair = ("batch_size", "optimizer", "other", "missing")
    assert comparison_rows(tasks).filter(dataset="fashion").select(pair).rows() == [
        (8, "sgd", "adam", "adam")
    ]
    assert len(comparison_rows(tasks)) == 5


def test_why_a_probability_is_left_open():
    def reason(*trials: tuple[float, float]) -> object:
        rows = comparison_rows(
            {TASK: {"adam": [search(8, [(90, 100)])], "sgd": [search(8, [*trials])]}}
        )
        assert rows["win"].null_count() == (rows["open"].item() is not None)
        return rows["open"].item()

    assert reason((50, INF)) == "misses"
    assert reason((50, 200)) == "evaluations"
    assert reason((100, 110)) is None


def test_tasks_of_a_database(tmp_path):
    def write(workload: str, batch_size: int, error: float, **study: Any) -> None:
        trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, error]))]
        write_shard(tmp_path, workload=workload, batch_size=batch_size, trials=trials, **study)

    write("digits/fc/sgd", 8, 0.05)
    write("digits/fc/adam", 8, 0.5)
    write("digits/fc/adam", 16, 0.05)
    write("sparsity_50/digits/fc/adam", 8, 0.05)
    write("digits/fc/momentum", 8, 0.05, goal=0.2)
    with open_database(tmp_path) as db:
        workloads = db.workloads()
        trials = db.crossings("*")
    tasks = tasks_of(trials, workloads)
    sparse = (TASK[0], "sparsity_50", *TASK[2:])
    other_goal = (*TASK[:-1], 0.2)
    assert tasks.keys() == {TASK, sparse, other_goal}
    assert tasks[TASK].keys() == {"sgd", "adam"}
    assert [each.batch_size for each in tasks[TASK]["adam"]] == [8, 16]
    found = comparison_rows(tasks, k=1).filter(pl.col("win").is_not_null())
    # The evaluation of SGD at step 10 missed; that of Adam at step 20 is its last, and missed.
    assert found.select("optimizer", "other", "win", "win_certain").rows() == [
        ("adam", "sgd", 0.0, 0)
    ]
    assert found.select("loss", "loss_certain").rows() == [(1.0, 1.0)]

    # Two workloads of one optimizer go by their names.
    same = workloads.with_columns(optimizer=pl.lit("own"))
    assert tasks_of(trials, same)[TASK].keys() == {"digits/fc/sgd", "digits/fc/adam"}


MNIST = ("made-up", None, "mnist", "fc", "val_classification_error", 0.1)
FASHION = ("made-up", None, "fashion_mnist", "fc", "val_classification_error", 0.2)


def alike(batch_size: int, steps: float, *, trials: int = 8, after: float | None = None) -> Search:
    """Trials that all came to the same, evaluated at every step unless told otherwise."""
    return search(batch_size, [(steps - 1 if after is None else after, steps)] * trials)


PROFILED = {
    MNIST: {
        "sgd": [alike(8, 100), alike(16, 60), alike(32, 90, after=40), alike(64, 5)],
        "adam": [alike(8, 50), alike(16, 60), alike(32, 60, after=30)],
    },
    FASHION: {
        "sgd": [alike(8, INF, after=500), alike(32, 10), alike(64, 10, trials=1)],
        "adam": [alike(8, 300), alike(64, 20)],
    },
}


def test_profiles_by_hand():
    factors = (1.0, 1.5, 2.0, 10.0)
    found = performance_profiles(PROFILED)
    found = found.filter(found["factor"].is_in(factors))
    # Of mnist 8, 16 and 32 and fashion_mnist 8 the ratios are 2, 1, 1.5, inf and 1, 1, 1, 1.
    columns = ("optimizer", "factor", "share", "reached_share", "cells", "k")
    assert found.select(columns).rows() == [
        ("sgd", 1.0, 0.25, 0.75, 4, 2),
        ("sgd", 1.5, 0.5, 0.75, 4, 2),
        ("sgd", 2.0, 0.75, 0.75, 4, 2),
        ("sgd", 10.0, 0.75, 0.75, 4, 2),
        *[("adam", factor, 1.0, 1.0, 4, 2) for factor in factors],
    ]
    # At 32 SGD took 41 to 90 steps and Adam 31 to 60: ratios from 1 to 90/31 and to 60/41. At
    # fashion_mnist 8 SGD may have got there at 501, 1.67 times the steps of Adam.
    bounds = found.select("share_low", "share_high").rows()
    assert bounds[:4] == [(0.25, 0.5), (0.25, 0.5), (0.5, 1.0), (0.75, 1.0)]
    assert bounds[4:] == [(0.75, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)]


def test_only_cells_with_enough_trials_of_all_count():
    assert set(performance_profiles(PROFILED, k=1)["cells"]) == {5}
    assert set(performance_profiles(PROFILED, k=2)["cells"]) == {4}
    tasks = {MNIST: {**PROFILED[MNIST], "momentum": [alike(8, 10)]}}
    assert set(performance_profiles(tasks)["cells"]) == {1}
    told = "left out are 3 of 7 cells, for want of 2 trials of adam (2) and sgd (1)"
    assert cells_left_out(PROFILED, k=2) == told
    assert cells_left_out({MNIST: {"sgd": [alike(8, 1)], "adam": [alike(8, 1)]}}) is None
    apart = {MNIST: {"sgd": [alike(8, 10)], "adam": [alike(16, 10)]}}
    assert performance_profiles(apart).is_empty()
    told = "left out are 2 of 2 cells, for want of 1 trial of adam (1) and sgd (1)"
    assert cells_left_out(apart) == told
    with pytest.raises(UsageError, match="sgd has no other optimizer to be compared with"):
        performance_profiles({MNIST: {"sgd": [alike(8, 10)]}})


CELLS = st.sampled_from([(1.0, 2.0), (2.0, 3.0), (1.0, 4.0), (3.0, INF), (INF, INF)])


@given(st.lists(CELLS, min_size=2, max_size=3))
def test_ratios_against_all_steps_in_between(cell):
    lower, upper = np.array(cell).T
    plain, least, most = ratios(lower[None], upper[None])
    steps = [[each for each in (1, 2, 3, 4, INF) if a <= each <= b] for a, b in cell]
    possible = np.array(
        [[each if each == INF else each / min(row) for each in row] for row in product(*steps)]
    )
    assert least[0] == pytest.approx(possible.min(axis=0))
    assert most[0] == pytest.approx(possible.max(axis=0))
    assert (least <= plain).all()
    assert (plain <= most).all()
