"""The best of k of n trials: against all subsets of k, in fractions, and simulated searches."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbtool.analysis.searches import chance_above, rank_of_quantile, ranks_around_median

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
