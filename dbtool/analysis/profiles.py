"""Performance profiles of optimizers: how often each comes how close to the best of them.

A cell is a data set, a model and a batch size. In each cell the steps to result of an optimizer are
divided by those of the best one there. Its profile is the share of cells in which that ratio is at
most a factor tau (Dolan and More 2002, arXiv cs/0102001, section 2). All cells weigh the same, and
a goal that is not reached is a ratio of infinity, so neither has to be averaged.

Only cells count in which every optimizer was measured: others would favour optimizers that were run
on easy ones. With three optimizers or more, a profile tells which is best how often, but not which
comes second: without the best, the order of the others may change (Gould and Scott 2016, ACM
Transactions on Mathematical Software 43, article 15).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dbtool.analysis.comparison import TASK_COLUMNS, Task, quarter_of_fewest
from dbtool.analysis.searches import FEWEST_TRIALS
from dbtool.core.errors import UsageError, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dbtool.analysis.censored import Floats
    from dbtool.analysis.comparison import Tasks
    from dbtool.analysis.searches import Search

FACTORS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
# A ratio that equals a factor on paper counts as within it.
_ROUNDING = 1 + 1e-12
_ROWS: dict[str, type[pl.DataType]] = {
    "optimizer": pl.String,
    "factor": pl.Float64,
    "share": pl.Float64,
    "share_low": pl.Float64,
    "share_high": pl.Float64,
    "reached_share": pl.Float64,
    "cells": pl.Int64,
    "k": pl.Int64,
}
_MISSING: dict[str, type[pl.DataType]] = {
    **TASK_COLUMNS,
    "batch_size": pl.Int64,
    "optimizer": pl.String,
    "trials": pl.Int64,
}


@dataclass(frozen=True)
class Profiles:
    """The profiles, and the optimizers that are missing from cells.

    Attributes:
        rows: a row for each optimizer and factor: share, of the cells in which its steps are at
            most that factor times the fewest; share_low and share_high, the bounds that the steps
            between evaluations leave for it; reached_share, of the cells in which it reaches the
            goal at all; cells, how many count; k. Empty where no cell counts.
        missing: a row for each cell that does not count and each optimizer with fewer than k trials
            there: the columns of a task, batch_size, optimizer and trials, 0 where there is no
            study.
        k: steps are the median of the best of k trials; None where no search has enough.
        cells: how many count.
    """

    rows: pl.DataFrame
    missing: pl.DataFrame
    k: int | None
    cells: int


def performance_profiles(
    tasks: Tasks,
    optimizers: Sequence[str] | None = None,
    *,
    k: int | None = None,
    factors: Sequence[float] = FACTORS,
) -> Profiles:
    """Return the profiles of optimizers over the cells in which all of them were measured.

    Args:
        tasks: see `dbtool.analysis.comparison.tasks_of`.
        optimizers: two or more; None: all that the tasks have, which few cells may share.
        k: trials of each search; None: `quarter_of_fewest` of the cells that all share.
        factors: each 1 or more.

    Raises:
        UsageError: an optimizer does not exist, or there are fewer than two.
    """
    chosen = _chosen(tasks, optimizers)
    cells = _cells(tasks, chosen)
    if k is None:
        whole = (found for found in cells.values() if len(found) == len(chosen))
        k = quarter_of_fewest(search for found in whole for search in found.values())
    missing = []
    common = []
    for (task, size), found in cells.items():
        trials = {name: found[name].trials if name in found else 0 for name in chosen}
        few = {name: count for name, count in trials.items() if count < (k or FEWEST_TRIALS)}
        missing += [
            {**asdict(task), "batch_size": size, "optimizer": name, "trials": count}
            for name, count in few.items()
        ]
        if not few:
            common.append([found[name] for name in chosen])
    rows = _rows(chosen, common, k, factors) if common and k else []
    return Profiles(
        pl.DataFrame(rows, schema=_ROWS), pl.DataFrame(missing, schema=_MISSING), k, len(common)
    )


def ratios(lower: Floats, upper: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the steps of each optimizer, divided by the fewest of any in the cell.

    Args:
        lower: [cells, optimizers] the fewest steps that each may have taken.
        upper: [cells, optimizers] steps of the first evaluation past the goal; inf where there is
            none.

    Returns:
        The ratios of `upper`, and the least and the largest ratios that the steps between
        evaluations leave possible, each [cells, optimizers]. The least takes the optimizer's own
        fewest steps and the most of all others, the largest the other way round. inf where an
        optimizer does not reach the goal.
    """
    return (
        _ratio(upper, upper.min(axis=1, keepdims=True)),
        np.maximum(_ratio(lower, _least_of_others(upper)), 1),
        np.maximum(_ratio(upper, _least_of_others(lower)), 1),
    )


def _chosen(tasks: Tasks, optimizers: Sequence[str] | None) -> list[str]:
    held = list(dict.fromkeys(name for found in tasks.values() for name in found))
    if optimizers is None:
        optimizers = held
    for name in optimizers:
        if name not in held:
            raise unknown("optimizer", name, held, "dbtool workloads")
    if len(set(optimizers)) < 2:
        raise UsageError(
            f"{', '.join(optimizers) or 'nothing'} has no other optimizer to be compared with; "
            "`dbtool workloads` lists those of each data set and model"
        )
    return list(dict.fromkeys(optimizers))


def _cells(tasks: Tasks, chosen: Iterable[str]) -> Mapping[tuple[Task, int], dict[str, Search]]:
    """Return the searches by task and batch size, then by optimizer, where any was measured."""
    cells: dict[tuple[Task, int], dict[str, Search]] = {}
    for task, by_optimizer in tasks.items():
        found = [
            (search.batch_size, name, search)
            for name in chosen
            for search in by_optimizer.get(name, ())
        ]
        for size, name, search in sorted(found, key=lambda each: each[0]):
            cells.setdefault((task, size), {})[name] = search
    return cells


def _rows(
    chosen: Sequence[str], common: Sequence[Sequence[Search]], k: int, factors: Sequence[float]
) -> list[dict[str, object]]:
    steps = [[search.best_of(k) for search in cell] for cell in common]
    upper = np.array([[each.upper for each in cell] for cell in steps])
    lower = np.array([[min(each.lower + 1, each.upper) for each in cell] for cell in steps])
    plain, least, most = ratios(lower, upper)
    reached = np.isfinite(upper).mean(axis=0)
    rows = []
    for column, name in enumerate(chosen):
        for factor in factors:
            share, low, high = (
                float((of_cells[:, column] <= factor * _ROUNDING).mean())
                for of_cells in (plain, most, least)
            )
            rows.append(
                {
                    "optimizer": name,
                    "factor": factor,
                    "share": share,
                    "share_low": low,
                    "share_high": high,
                    "reached_share": float(reached[column]),
                    "cells": len(common),
                    "k": k,
                }
            )
    return rows


def _ratio(steps: Floats, fewest: Floats) -> Floats:
    """Return the ratio; infinite where `steps` are, whatever the divisor."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(steps), np.inf, steps / fewest)


def _least_of_others(steps: Floats) -> Floats:
    """Return the fewest steps of all optimizers except the one itself: [cells, optimizers]."""
    others = np.repeat(steps[:, None, :], steps.shape[1], axis=1)
    others[:, np.arange(steps.shape[1]), np.arange(steps.shape[1])] = np.inf
    least: Floats = others.min(axis=2)
    return least
