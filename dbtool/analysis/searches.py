"""The searches of a workload, one a batch size, and their steps to result at equal trials.

Steps to result are a minimum over a search, so they fall with the number of trials: compare only
searches with equal numbers, by the best of k of the n trials that were run. Trials that never
reached the goal are infinite, not missing.

Trials of quasi-random searches are not independent. They cover the space more evenly than the
formulas here assume, so their intervals are more often too wide than too narrow.
"""

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import bdtr

from dbtool.analysis.censored import Floats
from dbtool.analysis.critical import StepsAt

FEWEST_TRIALS = 5
"""Searches with fewer trials are dropped, so that the rest can be compared at more."""
_LEAST = (FEWEST_TRIALS, 2, 1)
"""Fewest trials of a search that counts: the first that half of the searches have."""
_ROUNDING = 1e-12  # 1 - 9/10 is a little less than 1/10 in floating point
_BORROWED = 4
"""Degrees of freedom by which the spread of all replicates counts in that of each setting."""


@dataclass(frozen=True)
class Search:
    """The trials of a study, and when each passed the goal.

    A setting with replicates is one trial here, by their medians.

    Attributes:
        batch_size: examples in a step.
        after: [trials] steps that were not enough, from the last evaluation that missed; inf for a
            trial that diverged.
        steps: [trials] steps of the first evaluation past the goal; inf where there is none.
        learning_rate: [trials].
        momentum: [trials] NaN where there is none.
        search_space: ranges by metaparameter, as the study has them.
        windowed: whether it searched only near the best of another batch size.
        stopped: whether trials were dropped before they could reach the goal, as in lockstep.
        ended: whether it ended at its own goal, so that steps to a harder one are unknown.
        settings: for each trial the replicates behind it; empty where none has any.
        errors: [trials] standard errors of the logarithms of steps that these tell; None likewise.
    """

    batch_size: int
    after: Floats
    steps: Floats
    learning_rate: Floats
    momentum: Floats
    search_space: dict[str, dict[str, object]]
    windowed: bool = False
    stopped: bool = False
    ended: bool = False
    settings: "Sequence[Search]" = ()
    errors: Floats | None = None

    @property
    def replicates(self) -> "Search | None":
        """Return the replicates of a study of one setting, which is no search; else None."""
        return self.settings[0] if len(self.settings) == 1 else None

    @property
    def trials(self) -> int:
        """Return how many trials were run, including those that diverged."""
        return len(self.steps)

    @property
    def earliest(self) -> Floats:
        """Return the earliest step at which each trial may have passed the goal: [trials]."""
        return np.minimum(self.after + 1, self.steps)

    def best_of(self, k: int, quantile: float = 0.5) -> StepsAt:
        """Return a quantile of the steps of the best of k of the trials.

        It lies between the values of the same rank in `after` and in `steps`.

        Args:
            k: at most the number of trials.
            quantile: between 0 and 1.
        """
        return self._at(rank_of_quantile(quantile, self.trials, k))

    def median_between(self, k: int, level: float) -> tuple[float, float]:
        """Return the steps between which the median of the best of k lies, for any distribution.

        An end is 0 or inf where there are too few trials for it; see `ranks_around_median`.
        """
        if self.replicates:
            return self.replicates.median_between(1, level)
        low, high = ranks_around_median(self.trials, k, level)
        return (
            0.0 if low is None else self._at(low).lower,
            math.inf if high is None else self._at(high).upper,
        )

    def _at(self, rank: int) -> StepsAt:
        lower, upper = (np.partition(each, rank - 1)[rank - 1] for each in (self.after, self.steps))
        # Of equal steps the first.
        error = 0.0 if self.errors is None else float(self.errors[np.argmax(self.steps == upper)])
        return StepsAt(self.batch_size, float(lower), float(upper), error)

    def of(self, trials: NDArray[np.int64]) -> Self:
        """Return the search with only these of its trials."""
        arrays = ("after", "steps", "learning_rate", "momentum")
        return replace(self, **{name: getattr(self, name)[trials] for name in arrays})

    def with_medians(self, settings: "Sequence[Search]") -> "Search":
        """Return the search of these settings, each by the medians of its replicates."""

        def medians(name: str) -> Floats:
            return np.array([middle(getattr(each, name)) for each in settings])

        return replace(
            self,
            after=np.floor(medians("after")),
            steps=np.ceil(medians("steps")),
            learning_rate=np.array([each.learning_rate[0] for each in settings]),
            momentum=np.array([each.momentum[0] for each in settings]),
            settings=settings,
        )


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


def searches(trials: pl.DataFrame) -> list[Search]:
    """Return the searches of one workload, in the order of their batch sizes.

    Args:
        trials: rows of the question `crossings`, of one release and workload.
    """
    found = [_search(rows) for _, rows in trials.group_by("batch_size", maintain_order=True)]
    if not any(each.settings for each in found):
        return found
    every = [[of.steps for of in each.settings] or list(each.steps[:, None]) for each in found]
    errors = iter(median_errors(*zip(*map(spread, itertools.chain(*every)), strict=True)))
    return [
        replace(each, errors=np.fromiter(itertools.islice(errors, each.trials), float))
        for each in found
    ]


def middle(values: Floats) -> float:
    """Return the median; inf where more than half of the values, or one of the middle two, is."""
    ordered, count = np.sort(values), len(values)
    return float(ordered[(count - 1) // 2] + ordered[count // 2]) / 2


def spread(steps: Floats) -> tuple[int, float]:
    """Return how many replicates reached the goal, and their logarithms' standard deviation."""
    logs = np.log(steps[np.isfinite(steps) & (steps > 0)])
    return len(logs), float(logs.std(ddof=1)) if len(logs) > 1 else 0.0


def median_errors(counts: Sequence[int], deviations: Sequence[float]) -> Floats:
    """Return the standard errors of medians of logarithms, as n and deviation of replicates tell.

    The variance of a few replicates is itself uncertain, so that it is drawn towards that of all
    (as Smyth 2004, Statistical Applications in Genetics and Molecular Biology 3, article 3, with
    4 degrees of freedom). That of a median of n normal numbers is about pi / (2 n + pi - 2) times
    theirs, exactly so for one and for many.

    Args:
        counts: [settings] n; of 1 or less the variance is that of all.
        deviations: [settings].
    """
    n, variances = np.maximum(np.array(counts, float), 1), np.square(np.array(deviations, float))
    freedom = n - 1
    common = (freedom * variances).sum() / max(freedom.sum(), 1)
    own = (_BORROWED * common + freedom * variances) / (_BORROWED + freedom)
    errors: Floats = np.sqrt(own * math.pi / (2 * n + math.pi - 2))
    return errors


def equal_trials(given: Sequence[Search], k: int | None) -> tuple[list[Search], int]:
    """Return the searches that have enough trials, and the number at which they are compared.

    Args:
        given: at least one.
        k: the number of trials; None: the fewest of those that have 5 or more, of which there are
            at least half; else of those with 2, or with 1.
    """
    if k is None:
        counts = [each.trials for each in given]
        enough = ([count for count in counts if count >= least] for least in _LEAST)
        k = min(next(each for each in enough if 2 * len(each) >= len(counts)))
    return [each for each in given if each.trials >= k], k


def _search(rows: pl.DataFrame) -> Search:
    status = rows["status"].to_numpy()
    after = rows["after"].cast(float).to_numpy()
    steps = rows["steps"].cast(float).fill_null(math.inf).to_numpy()
    # A search in lockstep drops trials early, and only ones that come after its first.
    dropped = status == "INCOMPLETE"
    first = after[np.argmin(steps)] if np.isfinite(steps).any() else after.max()
    after = np.where(dropped, np.maximum(after, first), after)
    search = Search(
        batch_size=rows["batch_size"][0],
        after=np.where(status == "INFEASIBLE", math.inf, after),
        steps=steps,
        learning_rate=rows["learning_rate"].cast(float).to_numpy(),
        momentum=rows["momentum"].cast(float).fill_null(math.nan).to_numpy(),
        search_space=json.loads(rows["search_space"][0] or "{}"),
        windowed=json.loads(rows["search"][0] or "{}").get("origin") is not None,
        stopped=bool(dropped.any()),
        ended=rows["stopped"][0],
    )
    if rows["setting"].null_count() == rows.height:
        return search
    keys = rows.select(pl.coalesce("setting", "trial_id")).to_series()
    return search.with_medians(
        [search.of(np.flatnonzero(keys == key)) for key in keys.unique(maintain_order=True)]
    )
