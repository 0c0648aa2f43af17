"""The best of k trials of a search, estimated from n trials that were run.

Steps to result are a minimum over a search, so they fall with the number of trials: compare only
searches with equal numbers. Trials that never reached the goal are infinite, not missing.

Trials of quasi-random searches are not independent. They cover the space more evenly than the
formulas here assume, so their intervals are more often too wide than too narrow.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import bdtr

_ROUNDING = 1e-12  # 1 - 9/10 is a little less than 1/10 in floating point


def chance_above(rank: int, trials: int, k: int) -> float:
    """Return the chance that the best of k of n trials is above the rank-th.

    The k are drawn without replacement. All of them come from the n - rank trials above it:
    C(n - rank, k) / C(n, k). This is exact, unlike averages over resamples. Unlike averages over
    resamples with replacement, it does not shrink the spread (Dodge et al. 2021, arXiv 2010.03446,
    section 3).

    Args:
        rank: from 1, the best, to n.
        trials: n.
        k: at most n.

    Example:
        >>> chance_above(1, trials=4, k=2)
        0.5
    """
    return math.comb(trials - rank, k) / math.comb(trials, k)


def rank_of_quantile(quantile: float, trials: int, k: int) -> int:
    """Return which of n sorted trials is a quantile of the best of k of them.

    It is the first trial that the best of k does not exceed with a chance of at least the
    quantile.

    Args:
        quantile: between 0 and 1.
        trials: n.
        k: at most n.

    Example:
        >>> [rank_of_quantile(0.5, trials=100, k=k) for k in (100, 50, 10, 1)]
        [1, 1, 7, 50]
    """
    return next(
        rank
        for rank in range(1, trials - k + 2)
        if 1 - chance_above(rank, trials, k) > quantile - _ROUNDING or rank == trials - k + 1
    )


def ranks_around_median(trials: int, k: int, level: float) -> tuple[int | None, int | None]:
    """Return the ranks, among n sorted trials, between which the median of the best of k lies.

    They hold for any distribution. The median of the best of k independent trials is the
    p-quantile of one trial, p = 1 - 2^(-1/k). The number of trials below it is binomial, so order
    statistics bound it whatever the distribution (as Lourie et al. 2023, arXiv 2311.09480, section
    4, with bands for all k at once).

    Args:
        trials: n.
        k: the number of trials of a search.
        level: the least chance that the two ranks contain the median.

    Returns:
        The ranks; None for one that n trials are too few for. With k = n, for example, no rank
        bounds the median from below.

    Example:
        >>> ranks_around_median(100, k=10, level=0.95)
        (2, 13)
        >>> ranks_around_median(100, k=100, level=0.95)
        (None, 4)
    """
    # Chances that at most so many lie below it.
    chances = bdtr(np.arange(trials + 1), trials, -math.expm1(-math.log(2) / k))
    low, high = np.searchsorted(chances, ((1 - level) / 2, (1 + level) / 2)).tolist()
    return low or None, high + 1 if high < trials else None
