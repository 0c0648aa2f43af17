"""Comparison of two optimizers at equal batch sizes and equal numbers of trials.

Steps to result are a minimum over a search. So the best of k trials of each optimizer is compared,
with the same k. Both sets of trials together give the probability exactly; see
`dbtool.analysis.searches`, also for the effect of quasi-random trials. Trials that never reached
the goal are infinite, so no average is taken over only those that did.

Each optimizer is compared as searched: in a narrower search space, such as a window around a known
optimum, the same number of trials comes further.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.special import stdtrit

from dbtool.analysis.censored import Floats
from dbtool.analysis.kinds import typed_rows
from dbtool.analysis.searches import FEWEST_TRIALS, Search, chance_above, searches

_UNKNOWN = 0.05
_MOST_OPEN = 0.5  # between the least and the largest probability, for one between them to be told
TASK_COLUMNS = ("release", "collection", "dataset", "model", "metric", "goal")
"""What optimizers are compared on, a task: everything in a workload except its optimizer."""
_COLUMNS = (
    *(*TASK_COLUMNS, "batch_size", "optimizer", "other", "optimizer_trials", "other_trials", "k"),
    *("win", "win_certain", "win_possible", "win_low", "win_high"),
    *("loss", "loss_certain", "loss_possible", "loss_low", "loss_high", "neither", "missing"),
    "open",
)
Task: TypeAlias = tuple[Any, ...]
"""The values of `TASK_COLUMNS`."""
Tasks: TypeAlias = Mapping[Task, Mapping[str, Sequence[Search]]]
"""Searches of each task by optimizer, in the order of their batch sizes."""


def chance_of_fewer(steps: Floats, others: Floats, k: int) -> float:
    """Return the chance that the best of k of some trials takes fewer steps than that of others.

    Equal numbers count half, and two infinite ones not at all. Over the order statistics of both,
    the chance is the sum, over the steps s, of
    P(best = s) (P(other best > s) + P(other best = s) / 2), with
    P(best > s) = C(trials above s, k) / C(trials, k) (`chance_above`). For k = 1 it is
    the statistic of Mann and Whitney (1947, Annals of Mathematical Statistics 18, p. 50), divided
    by the number of pairs.

    Args:
        steps: [trials] inf for one that never reaches the goal.
        others: [other trials] likewise.
        k: at most the smaller number of trials.

    Example:
        >>> chance_of_fewer(np.array([1.0, 4.0]), np.array([2.0, np.inf]), k=1)
        0.75
    """
    at = np.unique(steps[np.isfinite(steps)])
    here = _chances_above(steps, at, k, "left") - _chances_above(steps, at, k, "right")
    others_later = _chances_above(others, at, k, "left") + _chances_above(others, at, k, "right")
    return float(here @ others_later / 2)


def compare(first: Search, other: Search, k: int, *, level: float) -> dict[str, Any]:
    """Compare two searches of one batch size: whose best of k trials takes fewer steps.

    The probabilities are those of drawing k trials of each search without replacement. A tie is
    half a win and half a loss.

    Evaluations only tell between which steps a trial passed the goal: win_certain and win_possible
    are the least and the largest probabilities that this leaves open. They are sharp, since a win
    gets likelier with each step that a trial of the first takes less or a trial of the other takes
    more. They allow that a trial that never reached the goal reached it one step after its last
    evaluation.

    Args:
        first: the search of one optimizer.
        other: the search of the other.
        k: at most the smaller number of trials.
        level: of the intervals, for instance 0.95.

    Returns:
        By column: k; win, the probability that the first's best takes fewer steps, each trial
        counted in the middle of the steps that its evaluations leave open, since the first of these
        past the goal comes late where they are few; None where they leave more than half open;
        win_certain and win_possible; win_low and win_high, the ends of an interval for searches
        like these two, 0 and 1 where it is not known; the same five of loss, that the other's does;
        neither, that neither reaches the goal, which adds up to 1 with win and loss; and open, the
        reason why win or loss is None: "misses", which allow for a pass right after, or, where
        these would leave less open, "evaluations".
    """
    chances = _chance("win", first, other, k, level) | _chance("loss", other, first, k, level)
    reason = None
    if chances["win"] is None or chances["loss"] is None:
        one, two = map(_never_after, (first, other))
        by_steps = max(_open(one, two, k), _open(two, one, k)) > _MOST_OPEN
        reason = "evaluations" if by_steps else "misses"
    return {
        "k": k,
        **chances,
        "neither": _never(first, k) * _never(other, k),
        "open": reason,
    }


def chance_interval(steps: Floats, others: Floats, k: int, *, level: float) -> tuple[float, float]:
    """Return an interval for `chance_of_fewer` of searches like these, not of these trials alone.

    The chance is a U-statistic of two samples, so its variance comes from dropping one trial at a
    time (Arvesen 1969, Annals of Mathematical Statistics 40, p. 2076). A share of m observations
    would have that variance; the interval is the one of Wilson (1927, Journal of the American
    Statistical Association 22, p. 209) for it, by Student's quantile. m is at most the number of
    searches of k trials that both have: where all choices agree the variance is 0, and does not
    tell how sure they are.

    Args:
        steps: [trials] inf for one that never reaches the goal.
        others: [other trials] likewise.
        k: trials of each search.
        level: of the interval.
    """
    value = chance_of_fewer(steps, others, k)
    variance = _variance(steps, k, lambda some: chance_of_fewer(some, others, k))
    variance += _variance(others, k, lambda some: chance_of_fewer(steps, some, k))
    count = (len(steps) + len(others)) / k
    if variance > 0:
        count = min(count, value * (1 - value) / variance)
    return _wilson(value, count, float(stdtrit(min(len(steps), len(others)) - 1, (1 + level) / 2)))


def _variance(trials: Floats, k: int, chance_of: Callable[[Floats], float]) -> float:
    """Return the variance of a chance that comes from the choice of some trials."""
    count = len(trials)
    without = [chance_of(np.delete(trials, one)) for one in range(count)] if count > k else [0.0]
    return (count - 1) * float(np.var(without))


def _wilson(share: float, count: float, bound: float) -> tuple[float, float]:
    """Return Wilson's interval for a share of a number of observations; 0 and 1 for none."""
    if not count > 0 or math.isnan(bound):
        return 0.0, 1.0
    excess = bound**2 / count
    middle = (share + excess / 2) / (1 + excess)
    half = math.sqrt(excess * (share * (1 - share) + excess / 4)) / (1 + excess)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def quarter_of_fewest(given: Iterable[Search]) -> int:
    """Return the default number of trials for comparing searches, 1 or more.

    It is a quarter of the fewest trials of any search that has `FEWEST_TRIALS` or more, and 1 where
    none has. The nearer k is to the number of trials, the more the best is luck. For
    example, take 30 trials each of two optimizers that are equally good: one is ahead with a
    probability above 0.9 in 1.5 % of simulated comparisons with k = 7, in 22 % with k = 15, and in
    all with k = 30.
    """
    enough = [each.trials for each in given if each.trials >= FEWEST_TRIALS]
    return max(min(enough, default=0) // 4, 1)


def enough_of_stopped(search: Search) -> int:
    """Return the fewest trials of a search one of which has most likely reached the goal.

    A search in lockstep ends with its first trials past the goal, and of the others only that they
    took longer is known: of fewer trials, most choices would tell nothing.

    Returns:
        The number at which all of so many trials miss the goal with a chance of at most
        `_UNKNOWN`; 1 where the search was not stopped.
    """
    if not search.stopped or not np.isfinite(search.steps).any():
        return 1
    return next(k for k in range(1, search.trials + 1) if _never(search, k) <= _UNKNOWN)


def tasks_of(trials: pl.DataFrame, workloads: pl.DataFrame) -> dict[Task, dict[str, list[Search]]]:
    """Return the searches of each task, by optimizer.

    Workloads that differ in release, collection, metric or goal are different tasks. Where two
    workloads of one task have the same optimizer, each goes by its own name instead.

    Args:
        trials: rows of the question `crossings`.
        workloads: rows of the view `workloads`, at least those of the trials.
    """
    names = workloads.select("release", "workload", "collection", "dataset", "model", "optimizer")
    rows = trials.join(names, on=["release", "workload"], how="left", maintain_order="left")
    found: dict[Task, dict[str, list[Search]]] = {}
    for task, of_task in rows.group_by(*TASK_COLUMNS, maintain_order=True):
        is_unique = of_task.n_unique(["workload"]) == of_task.n_unique(["optimizer"])
        by_optimizer = of_task.group_by(
            "optimizer" if is_unique else "workload", maintain_order=True
        )
        found[task] = {str(name): searches(own) for (name,), own in by_optimizer}
    return found


def comparison_rows(tasks: Tasks, k: int | None = None, *, level: float = 0.95) -> pl.DataFrame:
    """Return a row for each task, pair of optimizers and batch size that either was measured at.

    The columns are `TASK_COLUMNS`, batch_size (examples), optimizer, other, their numbers of
    trials, those of `compare`, and missing. missing lists the optimizers that have fewer than k
    trials there, or none, though they are on another task of the release and collection; all
    probabilities are null then. win_low and win_high enclose the
    intervals of both ends that evaluations leave open. Studies of one setting are no searches: of
    two of them a run of each is compared.

    Args:
        tasks: see `tasks_of`.
        k: trials of each search; None: `quarter_of_fewest` of the batch sizes that a pair has in
            common, and `enough_of_stopped` where that is more.
        level: of the intervals.
    """
    elsewhere: dict[Task, dict[str, None]] = {}
    for task, by_optimizer in tasks.items():
        # Workloads that go by their own names are on one task alone.
        names = (name for name in by_optimizer if "/" not in name)
        elsewhere.setdefault(task[:2], {}).update(dict.fromkeys(names))
    made = [
        {**dict(zip(TASK_COLUMNS, task, strict=True)), **row}
        for task, own in tasks.items()
        for name, other in combinations(dict.fromkeys([*own, *elsewhere[task[:2]]]), 2)
        for row in _pair_rows((name, own.get(name, ())), (other, own.get(other, ())), k, level)
    ]
    return typed_rows(made, _COLUMNS)


def _pair_rows(
    one: tuple[str, Sequence[Search]],
    other: tuple[str, Sequence[Search]],
    k: int | None,
    level: float,
) -> list[dict[str, object]]:
    (name, of_name), (other_name, of_other) = one, other
    first = {search.batch_size: search for search in of_name}
    second = {search.batch_size: search for search in of_other}
    common = first.keys() & second.keys()
    quarter = quarter_of_fewest(search[size] for size in common for search in (first, second))
    rows = []
    for size in sorted(first.keys() | second.keys()):
        row: dict[str, object] = {"batch_size": size, "optimizer": name, "other": other_name}
        of_first, of_second = first.get(size), second.get(size)
        fewest = k or quarter
        if of_first and of_second and of_first.replicates and of_second.replicates:
            # No searches: a run of the one is compared with a run of the other.
            of_first, of_second, fewest = of_first.replicates, of_second.replicates, 1
        row["optimizer_trials"] = of_first.trials if of_first else 0
        row["other_trials"] = of_second.trials if of_second else 0
        few = [
            label
            for label, search in ((name, of_first), (other_name, of_second))
            if search is None or search.trials < fewest
        ]
        row |= {"k": fewest, "missing": ", ".join(few) or None}
        if of_first and of_second and not few:
            both = (of_first, of_second)
            at = fewest if fewest == k else max(fewest, *map(enough_of_stopped, both))
            at = min(at, *(search.trials for search in both))
            row |= compare(of_first, of_second, at, level=level)
        rows.append(row)
    return rows


def _chance(name: str, first: Search, other: Search, k: int, level: float) -> dict[str, Any]:
    """Return the probability that the first takes fewer steps, as five columns of a name."""
    certain = chance_of_fewer(first.steps, other.earliest, k)
    possible = chance_of_fewer(first.earliest, other.steps, k)
    middle, others_middle = ((each.earliest + each.steps) / 2 for each in (first, other))
    is_open = possible - certain > _MOST_OPEN
    return {
        name: None if is_open else chance_of_fewer(middle, others_middle, k),
        f"{name}_certain": certain,
        f"{name}_possible": possible,
        f"{name}_low": chance_interval(first.steps, other.earliest, k, level=level)[0],
        f"{name}_high": chance_interval(first.earliest, other.steps, k, level=level)[1],
    }


def _open(first: Search, other: Search, k: int) -> float:
    """Return the difference of the largest and the least probability that the first is ahead."""
    possible = chance_of_fewer(first.earliest, other.steps, k)
    return possible - chance_of_fewer(first.steps, other.earliest, k)


def _never_after(search: Search) -> Search:
    """Return a search whose trials that missed the goal would never have reached it."""
    return replace(search, after=np.where(np.isinf(search.steps), np.inf, search.after))


def _chances_above(values: Floats, at: Floats, k: int, side: Literal["left", "right"]) -> Floats:
    """Return the chance that the best of k values is above each number (or, left of it, at it)."""
    above = len(values) - np.searchsorted(np.sort(values), at, side=side)
    chances: Floats = _chances(len(values), k)[above]
    return chances


@lru_cache(maxsize=256)
def _chances(trials: int, k: int) -> Floats:
    """Return the chance that all k drawn are among that many of the trials: [trials + 1]."""
    return np.array([chance_above(trials - count, trials, k) for count in range(trials + 1)])


def _never(search: Search, k: int) -> float:
    """Return the chance that none of k trials reaches the goal."""
    return chance_above(int(np.isfinite(search.steps).sum()), search.trials, k)
