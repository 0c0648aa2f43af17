"""Quantiles of the best of k, in fractions."""

from fractions import Fraction
from math import comb

from hypothesis import given
from hypothesis import strategies as st

from dbtool.analysis.best_of_k import rank_of_quantile


@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from(["1/10", "1/4", "1/2", "9/10"]))
def test_ranks_of_quantiles_are_exact(trials: int, k: int, quantile: str) -> None:
    trials, k = max(trials, k), min(trials, k)
    expected = next(
        rank
        for rank in range(1, trials + 1)
        if 1 - Fraction(comb(trials - rank, k), comb(trials, k)) >= Fraction(quantile)
    )
    assert rank_of_quantile(float(Fraction(quantile)), trials, k) == expected


def test_a_rank_whose_chance_is_the_quantile_is_it() -> None:
    # In floating point 1 - 9/10 is less than 1/10.
    assert rank_of_quantile(0.1, trials=10, k=1) == 1
    assert rank_of_quantile(0.1, trials=50, k=5) == 1
    assert rank_of_quantile(0.9, trials=10, k=1) == 9
