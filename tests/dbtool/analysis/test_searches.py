"""Searches of stored trials, and the best of k of them: by hand, by all subsets, and simulated."""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dbtool
from dbtool.analysis.critical import StepsAt
from dbtool.analysis.searches import (
    Search,
    chance_above,
    equal_trials,
    rank_of_quantile,
    ranks_around_median,
    searches,
)
from tests.support.made_up import curve, write_shard

NONE = np.full(4, math.nan)
AFTER, STEPS = np.array([[math.inf, 30, 10, 80], [math.inf, 40, 20, math.inf]])
FOUR = Search(32, AFTER, STEPS, NONE, NONE, {})


def test_the_best_of_k_lies_between_two_evaluations():
    assert FOUR.best_of(4) == StepsAt(32, 10, 20)
    # Of the six pairs three have the trial of 20 steps, and two more that of 40.
    assert FOUR.best_of(2) == StepsAt(32, 10, 20)
    assert FOUR.best_of(2, 0.75) == StepsAt(32, 30, 40)
    # Half of single trials never reach the goal, one of them within 80 steps.
    assert FOUR.best_of(1, 0.6) == StepsAt(32, 80, math.inf)
    assert FOUR.best_of(1, 0.9) == StepsAt(32, math.inf, math.inf)
    # Few trials bound the median on no side.
    assert FOUR.median_between(4, 0.95) == (0, math.inf)
    assert FOUR.median_between(4, 0.5) == (0, 40)


def test_searches_are_compared_at_as_many_trials_as_all_have():
    def of(trials: int) -> Search:
        steps = np.arange(1.0, trials + 1)
        return Search(trials, steps - 1, steps, steps, steps, {})

    given = [of(3), of(20), of(8)]
    chosen, k = equal_trials(given, None)
    # Three trials would hold all the others down.
    assert ([each.trials for each in chosen], k) == ([20, 8], 8)
    assert equal_trials(given, 10)[0] == [given[1]]
    assert equal_trials(given[:1], None) == (given[:1], 3)


def test_crossings_of_stored_trials(tmp_path):
    rates = (0.1, 0.2, 9.0, 0.3)
    # Evaluations at steps 0, 10, 20, 30; the last trial passes the goal twice.
    errors = [[0.9, 0.5, 0.05, 0.02], [0.9, 0.8, 0.7, 0.6], [0.9, 0.95], [0.9, 0.05, 0.5, 0.05]]
    trials = [
        (number, "INFEASIBLE" if number == 2 else "COMPLETE", {"learning_rate": rate}, curve(own))
        for number, (rate, own) in enumerate(zip(rates, errors, strict=True))
    ]
    write_shard(tmp_path, batch_size=8, trials=trials, goal=0.1)
    with dbtool.open(tmp_path) as db:
        [search] = searches(db.crossings("*"))
    assert search.after.tolist() == [10, 30, math.inf, 0]
    assert search.steps.tolist() == [20, math.inf, math.inf, 10]
    assert search.learning_rate.tolist() == [0.1, 0.2, 9.0, 0.3]
    assert np.isnan(search.momentum).all()


@pytest.mark.parametrize(
    "workload",
    ["mnist/fc_64_64_64/sgd", pytest.param("mnist/fc_128_128_128/sgd", marks=pytest.mark.slow)],
)
def test_two_releases_measured_apart_agree(workload):
    """One of a hundred trials a study and one of narrow windows of 24: intervals overlap."""
    data = Path(__file__).parents[3] / "data"
    found = []
    for release in ("measured", "replication"):
        with dbtool.open(data / release) as db:
            found.append(db.scaling(workload).rows("critical").row(0, named=True))
    measured, replication = found
    assert {measured["verdict"], replication["verdict"]} == {"identified"}
    assert max(measured["low"], replication["low"]) < min(measured["high"], replication["high"])


NUMBERS = st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))


@given(NUMBERS)
def test_chances_are_those_over_all_subsets(numbers):
    trials, k = numbers
    best = [min(chosen) for chosen in itertools.combinations(range(1, trials + 1), k)]
    for rank in range(1, trials + 1):
        above = sum(each > rank for each in best) / len(best)
        assert chance_above(rank, trials, k) == pytest.approx(above)


# In floating point 1 - 9/10 is less than 1/10.
@example(10, 1, "1/10")
@example(50, 5, "1/10")
@example(10, 1, "9/10")
@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from(["1/10", "1/4", "1/2", "9/10"]))
def test_ranks_of_quantiles_are_exact(trials, k, quantile):
    trials, k = max(trials, k), min(trials, k)
    expected = next(
        rank
        for rank in range(1, trials + 1)
        if 1 - Fraction(math.comb(trials - rank, k), math.comb(trials, k)) >= Fraction(quantile)
    )
    assert rank_of_quantile(float(Fraction(quantile)), trials, k) == expected


@pytest.mark.parametrize(("trials", "k"), [(30, 5), (100, 60), (5000, 40)])
def test_ranks_hold_the_median_as_often_as_they_say(trials, k):
    rng = np.random.default_rng(1)
    # Of uniform trials the median of the best of k is known.
    median = 1 - 2 ** (-1 / k)
    low, high = ranks_around_median(trials, k, 0.9)
    drawn = np.sort(rng.random((1000, trials)), axis=1)
    above = drawn[:, low - 1] > median if low else np.zeros(1000, bool)
    below = drawn[:, high - 1] < median if high else np.zeros(1000, bool)
    assert above.mean() < 0.075
    assert below.mean() < 0.075
    assert above.mean() + below.mean() > 0.01


def test_too_few_trials_bound_nothing():
    assert ranks_around_median(20, 20, 0.95)[0] is None
    assert ranks_around_median(3, 1, 0.95) == (None, None)
