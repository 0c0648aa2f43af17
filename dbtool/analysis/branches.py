"""Critical batch sizes of branches: how much larger a batch may be at a step of training.

From a step of a trial on, branches of it train with batches k times as large on the same examples,
at learning rates that are scaled to them (`producers.branches`). The critical batch size at that
step lies between the largest of them whose loss stays near that of the trial's own batch size, and
the next (Merrill et al., 2025, arXiv 2505.23971, section 3). The loss is that of the training
subset after the last step, where theirs is the batch's, smoothed; and as one trial's is a matter of
luck, by a tenth or so, it is the median of several trials that counts.
"""

import math
from collections.abc import Collection, Iterable
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import polars as pl

from dbtool.analysis.interval import Interval
from dbtool.analysis.kinds import typed_rows
from dbtool.analysis.noise_scale import noise_scale
from dbtool.analysis.searches import middle, ranks_around_median
from dbtool.core.resources import query
from dbtool.store.questions import Question, branched_from

if TYPE_CHECKING:
    from dbtool.store.releases import Releases

TOLERANCE = 0.1
"""The share by which a branch's loss may exceed that of its trial's own batch size (chosen)."""
_STUDY = ("release", "workload", "batch_size", "step")
_NOISE = ("noise_scale", "noise_scale_low", "noise_scale_high")
_OWN_NOISE = ("own_noise_scale", "own_noise_scale_low", "own_noise_scale_high")
_CRITICAL = ("critical_batch_size", "low", "high")
_COUNTED = ("trials", "rates", "largest", "examples", "tolerance", "level")
_COLUMNS = (*_STUDY, *_CRITICAL, *_NOISE, *_OWN_NOISE, *_COUNTED)


def branches_of(db: "Releases", every: Iterable[str], workloads: Collection[str]) -> pl.DataFrame:
    """Return the branches of trials, a row each, with the loss after its last step.

    The columns are release, workload and batch_size of the trial, step and parent_trial; and of the
    branch larger, its batch size, examples, loss, which is infinite where it diverged, rates, the
    number of learning rates of which that is the best one's, and the mean moments of its gradient,
    plain and in the optimizer's own metric, null where not measured.

    Args:
        db: their database.
        every: the names of all its workloads.
        workloads: those whose trials branched.
    """
    parents = {name: branched_from(name) for name in every}
    names = [name for name, parent in parents.items() if parent in workloads]
    asked = Question(query("branches"), {"workloads": names}, measurements=bool(names))
    rows = db.result(asked).polars()
    return rows.with_columns(pl.col("workload").replace_strict(parents, return_dtype=pl.String))


def branch_rows(
    branches: pl.DataFrame, *, level: float, tolerance: float = TOLERANCE
) -> pl.DataFrame:
    """Return a row for each study and step with branches, with the critical batch size there.

    critical_batch_size is the geometric middle of two batch sizes: the largest of which, as of all
    smaller ones, the median of the trials' losses is within the tolerance of that of their own, and
    the next. low is the largest that the whole interval of the median allows, high the smallest
    that it rules out, for any distribution; null where there is none. noise_scale is the gradient
    noise scale along branches of the trials' own batch size, own_noise_scale that in the
    optimizer's own metric, with their intervals, where they were measured. rates is the number of
    learning rates that every branch has at least been trained with, of which the best counts.

    Args:
        branches: see `branches_of`.
        level: of the intervals, for instance 0.95.
        tolerance: share by which a loss may exceed that of the trial's own batch size.

    Example:
        >>> rows = {"release": "r", "workload": "w", "batch_size": 64, "step": 9, "parent_trial": 0}
        >>> losses = {64: 0.1, 128: 0.105, 256: 0.3}
        >>> moments = ("squared_norm", "covariance_trace")
        >>> rows |= dict.fromkeys([*moments, *(f"own_{each}" for each in moments)])
        >>> rows |= {"examples": 512, "rates": 1}
        >>> branches = [rows | {"larger": b, "loss": x} for b, x in losses.items()]
        >>> branch_rows(pl.DataFrame(branches), level=0.95)["critical_batch_size"].item()
        181.0...
    """
    made: list[dict[str, Any]] = []
    for key, rows in branches.group_by(_STUDY, maintain_order=True):
        same = rows.filter(pl.col("larger") == pl.col("batch_size"))
        made.append(
            {
                **dict(zip(_STUDY, key, strict=True)),
                **_critical(rows, tolerance, level).columns(*_CRITICAL),
                **_noise_scale(same, "", level).columns(*_NOISE),
                **_noise_scale(same, "own_", level).columns(*_OWN_NOISE),
                "trials": rows["parent_trial"].n_unique(),
                "rates": rows["rates"].min(),
                "largest": rows["larger"].max(),
                "examples": rows["examples"].max(),
                "tolerance": tolerance,
                "level": level,
            }
        )
    return typed_rows(made, _COLUMNS)


def _noise_scale(branches: pl.DataFrame, prefix: str, level: float) -> Interval:
    """Return the noise scale of a row a trial, of its moments whose names have a prefix."""
    names = [f"{prefix}squared_norm", f"{prefix}covariance_trace"]
    known = branches.drop_nulls(names)
    squared, trace = (known[name].cast(pl.Float64).to_numpy() for name in names)
    return noise_scale(squared, trace, known["parent_trial"].to_numpy(), level=level)


def _critical(branches: pl.DataFrame, tolerance: float, level: float) -> Interval:
    """Return where the median trial's loss begins to exceed that of its own batch size by too much.

    A batch size is surely small enough where all of the interval of the median is, and surely too
    large where none of it is.
    """
    own = pl.col("loss").filter(pl.col("larger") == pl.col("batch_size")).first()
    ratios = branches.with_columns(own=own.over("parent_trial")).filter(pl.col("own").is_finite())
    fits: dict[int, bool] = {}
    low, high = 0.0, math.inf
    for (larger,), rows in ratios.sort("larger").group_by("larger", maintain_order=True):
        ratio = (rows["loss"] / rows["own"]).sort().to_numpy()
        first, last = ranks_around_median(len(ratio), 1, level)
        fits[larger] = middle(ratio) <= 1 + tolerance
        if last and ratio[last - 1] <= 1 + tolerance and all(fits.values()):
            low = float(larger)
        if first and ratio[first - 1] > 1 + tolerance:
            high = min(high, float(larger))
    small = list(takewhile(fits.__getitem__, fits))
    large = [larger for larger in fits if larger not in small]
    value = math.sqrt(small[-1] * large[0]) if small and large else None
    return Interval(value, low, high)
