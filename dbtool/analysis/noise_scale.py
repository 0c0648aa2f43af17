"""The measured gradient noise scale, beside the critical batch size.

The simple noise scale is tr(Sigma) / |G|^2, the variance of one example's gradient divided by the
square of the true gradient. Larger batches are predicted to pay up to about that many examples
(McCandlish et al. 2018, arXiv 1812.06162, equation 2.9 and section 2.2). Both moments are estimated
without bias (appendix A.1; `dbtool produce --measure gradient_noise_scale`), but their quotient is
not. So the noise scale is the ratio of their averages, and never an average of ratios.

It grows by orders of magnitude during training (section 3), so it is reported for each third of the
way to the goal. It also depends on the learning rate (appendix C), so only trials count that came
nearly as far as the best.

The intervals do not cover three things. Trials that were trained together share the examples of
each measurement. Data that are read during training contribute only their first 5,000 examples; if
these are too few, all measurements share the error. A spike in the gradient of a single trial can
fill a whole phase.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from dbtool.analysis.censored import Floats
from dbtool.analysis.interval import NOTHING_KNOWN, Interval
from dbtool.analysis.kinds import typed_rows
from dbtool.analysis.learning_rates import NEARLY
from dbtool.core.resources import query
from dbtool.store.questions import Question

if TYPE_CHECKING:
    from dbtool.store.releases import Releases

PHASES = 3
FEWEST_BLOCKS = 5
"""With fewer blocks nothing is reported."""
_BLOCKS = 10  # the least number of blocks: with fewer trials, each is cut into several
_COLUMNS = (
    *("release", "workload", "metric", "goal", "batch_size", "phase", "noise_scale", "low", "high"),
    *("critical_batch_size", "ratio", "ratio_low", "ratio_high"),
    *("trials", "measurements", "blocks", "level"),
)


def noise_scale(
    squared_norm: Floats, covariance_trace: Floats, blocks: NDArray[np.int64], *, level: float
) -> Interval:
    """Return the ratio of the averages of two moments, with an interval by the block jackknife.

    Measurements along a trial depend on each other, so blocks of them are dropped, one at a time
    (Kuensch 1989, Annals of Statistics 17, p. 1217). The interval holds the ratios r for which
    sum(covariance_trace - r squared_norm) lies within its jackknife error of 0, by Student's t with
    one degree of freedom less than blocks (Fieller 1954, Journal of the Royal Statistical Society B
    16). Where the averaged squared norm is not certainly above 0, the interval is open, as it
    should be, and there is no value; an error of the quotient itself would not show that.

    Args:
        squared_norm: [measurements] estimates of |G|^2; single ones may be below 0.
        covariance_trace: [measurements] estimates of tr(Sigma), in the same unit.
        blocks: [measurements] the number of the block of each.
        level: of the interval, for instance 0.95.
    """
    _, number = np.unique(blocks, return_inverse=True)
    norms = np.bincount(number, weights=squared_norm)
    traces = np.bincount(number, weights=covariance_trace)
    count = len(norms)
    if count < FEWEST_BLOCKS:
        return NOTHING_KNOWN
    # The jackknife's covariance of a sum is that of its blocks' sums, times their number.
    covariance = np.cov(norms, traces) * count
    bound = stdtrit(count - 1, (1 + level) / 2) ** 2
    low, high = _between_roots(
        norms.sum() ** 2 - bound * covariance[0, 0],
        norms.sum() * traces.sum() - bound * covariance[0, 1],
        traces.sum() ** 2 - bound * covariance[1, 1],
    )
    is_closed = low > 0 and math.isfinite(high)
    return Interval(float(traces.sum() / norms.sum()) if is_closed else None, low, high)


def moments_of_trials(db: "Releases", trials: pl.DataFrame) -> pl.DataFrame:
    """Return the moments measured along trials, one row each; empty where there are none.

    Args:
        db: the database.
        trials: its rows of `Database.crossings`.
    """
    study = ["release", "workload", "batch_size", "trial_id"]
    workloads = trials["workload"].unique(maintain_order=True).to_list()
    moments = db.result(
        Question(query("gradient_moments"), {"workloads": workloads}, measurements=True)
    ).polars()
    return trials.select(*study, "metric", "goal", "steps").join(
        moments, on=study, maintain_order="left_right"
    )


def noise_scale_rows(
    moments: pl.DataFrame,
    critical: Mapping[tuple[str | None, str | None, float | None], Interval | None],
    *,
    level: float,
    within: float = NEARLY,
) -> pl.DataFrame:
    """Return a row for each study and phase with measured moments.

    phase is 1, 2 or 3, the third of a trial's own steps to the goal. Later measurements are
    dropped, as are trials that never reached the goal. noise_scale is in examples, with its
    interval; ratio is noise_scale divided by the critical batch size. What is not known is null.

    trials, measurements and blocks count what a row comes from. A block is a trial, or a part of
    one where there are fewer than ten trials. With fewer than `FEWEST_BLOCKS` blocks nothing is
    reported.

    Args:
        moments: see `moments_of_trials`.
        critical: by release, workload and goal, the estimated critical batch size.
        level: of the intervals, for instance 0.95.
        within: only trials count that took at most this many times the fewest steps of their study.
    """
    study = ("release", "workload", "metric", "goal", "batch_size")
    phase = (pl.col("step") * PHASES // pl.col("steps") + 1).clip(upper_bound=PHASES)
    counted = moments.filter(
        pl.col("steps") <= within * pl.col("steps").min().over(study),
        pl.col("step") <= pl.col("steps"),
    ).with_columns(phase=phase)
    made = []
    for key, rows in counted.group_by(*study, "phase", maintain_order=True):
        blocks = _blocks(rows["trial_id"])
        found = noise_scale(
            rows["squared_norm"].to_numpy(),
            rows["covariance_trace"].to_numpy(),
            blocks,
            level=level,
        )
        estimate = critical.get((rows["release"][0], rows["workload"][0], rows["goal"][0]))
        made.append(
            {
                **dict(zip((*study, "phase"), key, strict=True)),
                **found.columns("noise_scale", "low", "high"),
                "critical_batch_size": estimate.value if estimate else None,
                **found.over(estimate or NOTHING_KNOWN).columns("ratio", "ratio_low", "ratio_high"),
                "trials": rows["trial_id"].n_unique(),
                "measurements": rows.height,
                "blocks": len(np.unique(blocks)),
                "level": level,
            }
        )
    return typed_rows(made, _COLUMNS).sort(
        "release", "workload", "batch_size", "phase", maintain_order=True
    )


def _blocks(trials: pl.Series) -> NDArray[np.int64]:
    """Return the block of each measurement: its trial, cut into stretches where trials are few."""
    each = trials.to_numpy()
    ids, counts = np.unique(each, return_counts=True)
    parts = math.ceil(_BLOCKS / len(ids))
    blocks = np.empty(len(each), np.int64)
    for position, (trial, count) in enumerate(zip(ids, counts, strict=True)):
        cut = np.arange(count) * min(parts, count) // count
        blocks[each == trial] = position * parts + cut
    return blocks


def _between_roots(square: float, half: float, constant: float) -> tuple[float, float]:
    """Return the numbers above 0 between which square r^2 - 2 half r + constant is at most 0."""
    inside = half**2 - square * constant
    if square > 0:
        # It is at most 0 at the ratio itself, so there are roots, except for rounding.
        root = math.sqrt(max(inside, 0.0))
        return max((half - root) / square, 0.0), max((half + root) / square, 0.0)
    if square < 0 and inside > 0 and constant > 0:
        # Above 0 between the two roots, one of which is below 0.
        return (half - math.sqrt(inside)) / square, math.inf
    return 0.0, math.inf
