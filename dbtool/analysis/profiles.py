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

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from dbtool.analysis.censored import Floats
from dbtool.analysis.comparison import Task, Tasks, quarter_of_fewest
from dbtool.analysis.kinds import typed_rows
from dbtool.analysis.searches import Search
from dbtool.core.errors import UsageError, counted, joined

PROFILE_FACTORS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
# A ratio that equals a factor on paper counts as within it.
_ROUNDING = 1 + 1e-12
_COLUMNS = (
    *("optimizer", "factor", "share", "share_low", "share_high", "reached_share", "cells", "k"),
)


def performance_profiles(tasks: Tasks, *, k: int | None = None) -> pl.DataFrame:
    """Return the profiles of all optimizers over the cells in which each of them was measured.

    Args:
        tasks: see `dbtool.analysis.comparison.tasks_of`.
        k: trials of each search; None: `quarter_of_fewest` of the cells that all share.

    Returns:
        A row for each optimizer and factor, none where no cell counts: share, of the cells in which
        its steps are at most that factor times the fewest; share_low and share_high, the bounds
        that the steps between evaluations leave for it; reached_share, of the cells in which it
        reaches the goal at all; cells, how many count; k.

    Raises:
        UsageError: there are fewer than two optimizers.
    """
    names = _names(tasks)
    if len(names) < 2:
        raise UsageError(
            f"{', '.join(names) or 'nothing'} has no other optimizer to be compared with; "
            "`dbtool workloads` lists those of each data set and model"
        )
    cells, k = _cells(tasks, k)
    common = [list(cell.values()) for cell in cells if not _lacking(cell, names, k)]
    rows = _rows(names, common, k) if common else []
    return typed_rows(rows, _COLUMNS)


def cells_left_out(tasks: Tasks, *, k: int | None = None) -> str | None:
    """Return how many cells do not count in profiles, and for want of whom; None for none.

    Tasks and k are those of `performance_profiles`.

    Example:
        `left out are 8 of 14 cells, for want of 7 trials of momentum (8) and adam (1)`
    """
    names = _names(tasks)
    cells, k = _cells(tasks, k)
    left_out = [few for cell in cells if (few := _lacking(cell, names, k))]
    if not left_out:
        return None
    counts = Counter(sorted(name for few in left_out for name in few)).most_common()
    return (
        f"left out are {len(left_out):,} of {counted(len(cells), 'cell')}, for want of "
        f"{counted(k, 'trial')} of {joined([f'{name} ({count:,})' for name, count in counts])}"
    )


def ratios(lower: Floats, upper: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the steps of each optimizer, divided by the fewest of any in the cell.

    Args:
        lower: [cells, optimizers] the fewest steps that each may have taken.
        upper: [cells, optimizers] steps of the first evaluation past the goal; inf where there is
            none.

    Returns:
        The ratios of the middles of both, and the least and the largest ratios that the steps
        between evaluations leave possible, each [cells, optimizers]. The least takes the
        optimizer's own fewest steps and the most of all others, the largest the other way round.
        inf where an optimizer does not reach the goal.
    """
    middle = (lower + upper) / 2
    return (
        _ratio(middle, middle.min(axis=1, keepdims=True)),
        np.maximum(_ratio(lower, _least_of_others(upper)), 1),
        np.maximum(_ratio(upper, _least_of_others(lower)), 1),
    )


def _names(tasks: Tasks) -> list[str]:
    return list(dict.fromkeys(name for found in tasks.values() for name in found))


def _cells(tasks: Tasks, k: int | None) -> tuple[list[dict[str, Search]], int]:
    """Return the searches of each task and batch size, by optimizer in one order, and k."""
    names, cells = _names(tasks), dict[tuple[Task, int], dict[str, Search]]()
    for task, by_optimizer in tasks.items():
        for name in names:
            for search in by_optimizer.get(name, ()):
                cells.setdefault((task, search.batch_size), {})[name] = search
    found = list(cells.values())
    whole = (cell.values() for cell in found if len(cell) == len(names))
    return found, k or quarter_of_fewest(search for cell in whole for search in cell)


def _lacking(cell: Mapping[str, Search], names: Iterable[str], k: int) -> list[str]:
    """Return the optimizers with fewer than k trials in a cell."""
    return [name for name in names if name not in cell or cell[name].trials < k]


def _rows(
    chosen: Sequence[str], common: Sequence[Sequence[Search]], k: int
) -> list[dict[str, object]]:
    steps = [[search.best_of(k) for search in cell] for cell in common]
    upper = np.array([[each.upper for each in cell] for cell in steps])
    lower = np.array([[min(each.lower + 1, each.upper) for each in cell] for cell in steps])
    plain, least, most = ratios(lower, upper)
    reached = np.isfinite(upper).mean(axis=0)
    rows = []
    for column, name in enumerate(chosen):
        for factor in PROFILE_FACTORS:
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
