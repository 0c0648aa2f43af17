"""The searches of a workload, one a batch size, and their steps to result at equal trials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dbtool.analysis.best_of_k import rank_of_quantile, ranks_around_median
from dbtool.analysis.critical import StepsAt

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from dbtool.analysis.censored import Floats

FEWEST_TRIALS = 5
"""Searches with fewer trials are dropped, so that the rest can be compared at more."""


@dataclass(frozen=True)
class Search:
    """The trials of a study, and when each passed the goal.

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

    @property
    def trials(self) -> int:
        """Return how many trials were run, including those that diverged."""
        return len(self.steps)

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
        low, high = ranks_around_median(self.trials, k, level)
        return (
            0.0 if low is None else self._at(low).lower,
            math.inf if high is None else self._at(high).upper,
        )

    def _at(self, rank: int) -> StepsAt:
        index = rank - 1
        lower, upper = (
            np.partition(self.after, index)[index],
            np.partition(self.steps, index)[index],
        )
        return StepsAt(self.batch_size, float(lower), float(upper))


def searches(trials: pl.DataFrame) -> list[Search]:
    """Return the searches of one workload, in the order of their batch sizes.

    Args:
        trials: rows of the question `crossings`, of one release and workload.
    """
    return [_search(rows) for _, rows in trials.group_by("batch_size", maintain_order=True)]


def equal_trials(given: Sequence[Search], k: int | None) -> tuple[list[Search], int]:
    """Return the searches that have enough trials, and the number at which they are compared.

    Args:
        given: at least one.
        k: the number of trials; None: the fewest of those that have `FEWEST_TRIALS` or more.
    """
    if k is None:
        enough = [each.trials for each in given if each.trials >= FEWEST_TRIALS]
        k = min(enough, default=max(each.trials for each in given))
    return [each for each in given if each.trials >= k], k


def _search(rows: pl.DataFrame) -> Search:
    import json

    status = rows["status"].to_numpy()
    after = rows["after"].cast(float).to_numpy()
    steps = rows["steps"].cast(float).fill_null(math.inf).to_numpy()
    # A search in lockstep drops trials early, and only ones that come after its first.
    dropped = status == "INCOMPLETE"
    first = after[np.argmin(steps)] if np.isfinite(steps).any() else after.max()
    after = np.where(dropped, np.maximum(after, first), after)
    return Search(
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
