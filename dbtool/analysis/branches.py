"""Critical batch sizes of branches: how much larger a batch may be at a step of training.

From a step of a trial on, branches of it train with batches k times as large on the same examples,
at learning rates that are scaled to them (`producers.branches`). The critical batch size at that
step lies between the largest of them whose loss stays near that of the trial's own batch size, and
the next (Merrill et al., 2025, arXiv 2505.23971, section 3). The loss is that of the training
subset after the last step, where theirs is the batch's, smoothed.
"""

from __future__ import annotations

import math
import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import polars as pl

from dbtool.analysis.best_of_k import ranks_around_median
from dbtool.analysis.interval import Interval, finite
from dbtool.analysis.noise_scale import noise_scale
from dbtool.core.resources import query
from dbtool.store.questions import Question

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dbtool.store.releases import Releases

TOLERANCE = 0.1
"""The share by which a branch's loss may exceed that of its trial's own batch size (chosen): two
branches that differ in the order of their examples alone differ by some 5 %."""
_COLLECTION = re.compile(r"^branched_from_\d+/")
_STUDY = ("release", "workload", "batch_size", "step")
_NOISE = ("noise_scale", "noise_scale_low", "noise_scale_high")
_ENDS = ("critical_batch_size", "low", "high", *_NOISE, *(f"own_{name}" for name in _NOISE))
_SCHEMA = (
    dict.fromkeys(("release", "workload"), pl.String)
    | dict.fromkeys(("batch_size", "step"), pl.Int64)
    | dict.fromkeys(_ENDS, pl.Float64)
    | dict.fromkeys(("trials", "largest", "examples"), pl.Int64)
    | dict.fromkeys(("tolerance", "level"), pl.Float64)
)


def branches_of(db: Releases, workloads: Collection[str]) -> pl.DataFrame:
    """Return the branches of the workloads' trials, a row each, with the loss after its last step.

    The columns are release, workload and batch_size of the trial, step and parent_trial; and of the
    branch larger, its batch size, examples, loss, which is infinite where it diverged, and the mean
    moments of its gradient, plain and in the optimizer's own metric, null where not measured.
    """
    names = [
        name
        for name in db.workloads()["workload"].unique()
        if _COLLECTION.search(name) and _COLLECTION.sub("", name) in workloads
    ]
    asked = Question(query("branches"), {"workloads": names}, measurements=bool(names))
    workload = pl.col("workload").str.replace(_COLLECTION.pattern, "")
    return db.result(asked).polars().with_columns(workload=workload)


def branch_rows(
    branches: pl.DataFrame, *, level: float, tolerance: float = TOLERANCE
) -> pl.DataFrame:
    """Return a row for each study and step with branches, with the critical batch size there.

    critical_batch_size is the geometric middle of the two batch sizes between which it lies, at the
    median over trials; low and high contain the median for any distribution, and are null where
    trials are too few or none of their branches were too large. noise_scale is the gradient noise
    scale along branches of the trials' own batch size, own_noise_scale that in the optimizer's own
    metric, with their intervals, where they were measured.

    Args:
        branches: see `branches_of`.
        level: of the intervals, for instance 0.95.
        tolerance: share by which a loss may exceed that of the trial's own batch size.

    Example:
        >>> rows = {"release": "r", "workload": "w", "batch_size": 64, "step": 9, "parent_trial": 0}
        >>> losses = {64: 0.1, 128: 0.105, 256: 0.3}
        >>> moments = ("squared_norm", "covariance_trace")
        >>> rows |= {"examples": 512} | dict.fromkeys([*moments, *(f"own_{x}" for x in moments)])
        >>> branches = [rows | {"larger": b, "loss": x} for b, x in losses.items()]
        >>> branch_rows(pl.DataFrame(branches), level=0.95)["critical_batch_size"].item()
        181.0...
    """
    made: list[dict[str, Any]] = []
    for key, rows in branches.group_by(_STUDY, maintain_order=True):
        between = [
            _between(of_trial.sort("larger").select("larger", "loss").rows(), tolerance)
            for _, of_trial in rows.group_by("parent_trial")
        ]
        lower, upper = (sorted(ends) for ends in zip(*between, strict=True))
        trials = len(lower)
        first, last = ranks_around_median(trials, 1, level)
        middle = (trials - 1) // 2
        same = rows.filter(pl.col("larger") == pl.col("batch_size"))
        noise = {f"{name}noise_scale": _noise_scale(same, name, level) for name in ("", "own_")}
        made.append(
            {
                **dict(zip(_STUDY, key, strict=True)),
                "critical_batch_size": finite(math.sqrt(lower[middle] * upper[middle])),
                "low": lower[first - 1] if first else None,
                "high": finite(upper[last - 1]) if last else None,
                **{
                    column: value
                    for name, found in noise.items()
                    for column, value in found.columns(name, f"{name}_low", f"{name}_high").items()
                },
                "trials": trials,
                "largest": rows["larger"].max(),
                "examples": rows["examples"].max(),
                "tolerance": tolerance,
                "level": level,
            }
        )
    return pl.DataFrame(made, _SCHEMA)


def _noise_scale(branches: pl.DataFrame, prefix: str, level: float) -> Interval:
    """Return the noise scale of a row a trial, of its moments whose names have a prefix."""
    names = [f"{prefix}squared_norm", f"{prefix}covariance_trace"]
    known = branches.drop_nulls(names)
    squared, trace = (known[name].cast(pl.Float64).to_numpy() for name in names)
    return noise_scale(squared, trace, known["parent_trial"].to_numpy(), level=level)


def _between(losses: Sequence[tuple[int, float]], tolerance: float) -> tuple[float, float]:
    """Return the largest batch size that does as well as the first, and the next, or infinity."""
    most = (1 + tolerance) * losses[0][1]
    near = list(takewhile(lambda at: at[1] <= most, losses))
    beyond = losses[len(near) :]
    return (near or losses)[-1 if near else 0][0], beyond[0][0] if beyond else math.inf
