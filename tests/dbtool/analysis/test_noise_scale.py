"""Noise scales of made-up moments and critical batch sizes of branches, by hand and by counting."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.analysis.branches import branch_rows
from dbtool.analysis.interval import Interval
from dbtool.analysis.noise_scale import (
    FEWEST_BLOCKS,
    moments_of_trials,
    noise_scale,
    noise_scale_rows,
)
from dbtool.database import open_database
from tests.support.made_up import write_shard

WORKLOAD = "digits/fc/sgd"
KEY = ("made-up", WORKLOAD)
IDENTIFIED = Interval(100.0, 50.0, 200.0)


def of(norms: Any, traces: Any, blocks: Any, level: float = 0.95) -> Interval:
    return noise_scale(
        np.asarray(norms, float), np.asarray(traces, float), np.asarray(blocks), level=level
    )


def test_ratio_of_averages_and_not_average_of_ratios():
    # Ratios are 1 and 100, and the averages 5.5 and 10.9.
    found = of([1, 10] * 6, [1, 10] * 6, range(12))
    assert found.value == pytest.approx(1)
    found = of([0.1, 10.0] * 60, [10.0, 10.0] * 60, range(120))
    assert found.value == pytest.approx(10 / 5.05)


def test_intervals_may_have_no_width_or_be_open():
    # Exact moments.
    found = of([2.0] * 6, [30.0] * 6, range(6))
    assert (found.value, found.low, found.high) == pytest.approx((15, 15, 15))
    # A gradient that is lost in noise bounds the noise scale from below alone.
    rng = np.random.default_rng(1)
    found = of(rng.normal(0.1, 1, 30), rng.normal(50, 1, 30), range(30))
    assert (found.value, found.high) == (None, math.inf)
    assert found.low > 0
    # Nothing but noise tells nothing, and too few blocks do not.
    blocks = list(range(FEWEST_BLOCKS - 1)) * 2
    for nothing in (
        of(rng.normal(0, 1, 30), rng.normal(0, 1, 30), range(30)),
        of([1.0] * len(blocks), [2.0] * len(blocks), blocks),
    ):
        assert nothing == Interval(None, 0, math.inf)


@given(st.integers(0, 10_000))
def test_ends_against_leaving_out_each_block(seed):
    rng = np.random.default_rng(seed)
    count, size, bound = 12, 4, 2.2009851600829  # Student's t of 11 degrees of freedom at 0.975
    norms = rng.normal(2, 1, count * size)
    traces = norms * 5 + rng.normal(40, 5, count * size)
    blocks = np.repeat(np.arange(count), size)
    found = of(norms, traces, blocks)

    def distance(ratio: float) -> float:
        """Of the jackknife, by its definition: how many errors the mean lies from 0."""
        left_out = [(traces - ratio * norms)[blocks != block].mean() for block in range(count)]
        variance = (count - 1) / count * ((left_out - np.mean(left_out)) ** 2).sum()
        return float(abs((traces - ratio * norms).mean()) / math.sqrt(variance))

    assert found.value == pytest.approx(traces.mean() / norms.mean())
    assert distance(found.low) == pytest.approx(bound)
    assert distance(found.high) == pytest.approx(bound)


@pytest.mark.parametrize("blocks", [6, 20])
@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_intervals_hold_the_truth_as_often_as_they_say(blocks, spread):
    """Also where the squared norm of a block is as often below 0 as above, and all is shared."""
    rng = np.random.default_rng(5)
    held = 0
    runs = 1_000
    for _ in range(runs):
        shared = rng.normal(0, 1, (2, blocks))
        norms, traces = 2 + spread * shared[0], 60 + 10 * (0.6 * shared[0] + 0.8 * shared[1])
        norms = np.repeat(norms, 3) + rng.normal(0, 0.1, 3 * blocks)
        found = of(norms, np.repeat(traces, 3), np.repeat(range(blocks), 3))
        held += found.low <= 30 <= found.high
    # Three standard deviations of a count of 1,000 with probability 0.95.
    assert abs(held - 0.95 * runs) < 3 * math.sqrt(runs * 0.95 * 0.05)


def test_ratios_to_critical_batch_sizes_that_are_partly_known():
    scale = Interval(300.0, 200.0, 400.0)
    assert scale.over(IDENTIFIED) == Interval(3.0, 1.0, 8.0)
    at_least = Interval(None, 50.0, math.inf)
    assert scale.over(at_least) == Interval(None, 0.0, 8.0)
    at_most = Interval(None, 0.0, 200.0)
    assert scale.over(at_most) == Interval(None, 1.0, math.inf)
    nothing = Interval(None, 0.0, math.inf)
    assert nothing.over(IDENTIFIED) == nothing


def rows_of(moments: Sequence[tuple[int, int | None, int, float, float]]) -> pl.DataFrame:
    columns = ["trial_id", "steps", "step", "squared_norm", "covariance_trace"]
    frame = pl.DataFrame(moments, schema=columns, orient="row")
    study = {"release": "made-up", "workload": WORKLOAD, "metric": "val_classification_error"}
    return frame.with_columns(
        goal=pl.lit(0.1), batch_size=pl.lit(8), **{name: pl.lit(study[name]) for name in study}
    )


def test_phases_are_thirds_of_each_trial_that_came_nearly_as_far():
    slower, steps = 110, 90
    moments = [
        # Noise scales of 10, 20 and 30, and of 1,000 past the goal.
        *[(0, steps, step, 1.0, 10.0 * (1 + step // 30)) for step in range(0, 90, 3)],
        (0, steps, 90, 1.0, 30.0),
        (0, steps, 93, 1.0, 1000.0),
        # Its thirds end at step 37, 73 and 110.
        *[(1, slower, step, 1.0, 10.0 * (1 + step * 3 // 110)) for step in range(0, 110, 5)],
        # One far too slow, and one that never got there.
        *[(2, 200, step, 1.0, 500.0) for step in range(0, 200, 5)],
        *[(3, None, step, 1.0, 500.0) for step in range(0, 200, 5)],
    ]
    found = noise_scale_rows(rows_of(moments), {(*KEY, 0.1): IDENTIFIED}, level=0.9)
    columns = ("phase", "noise_scale", "ratio", "trials", "measurements", "blocks", "level")
    assert found.select(columns).rows() == [
        (1, pytest.approx(10), pytest.approx(0.1), 2, 10 + 8, 10, 0.9),
        (2, pytest.approx(20), pytest.approx(0.2), 2, 10 + 7, 10, 0.9),
        (3, pytest.approx(30), pytest.approx(0.3), 2, 11 + 7, 10, 0.9),
    ]
    assert found["critical_batch_size"].to_list() == [100.0] * 3
    everyone = noise_scale_rows(rows_of(moments), {}, level=0.9, within=math.inf)
    assert everyone["trials"].to_list() == [3, 3, 3]
    assert everyone["ratio_low"].to_list() == [None] * 3


def test_blocks_are_trials_where_there_are_enough_of_them():
    moments = [(trial, 90, step, 1.0, 10.0) for trial in range(12) for step in (0, 10, 20)]
    assert noise_scale_rows(rows_of(moments), {}, level=0.9)["blocks"].to_list() == [12]
    # One measurement cannot be cut.
    few = [(trial, 90, 0, 1.0, 10.0) for trial in range(3)]
    found = noise_scale_rows(rows_of(few), {}, level=0.9)
    assert found.select("blocks", "noise_scale", "low", "high").rows() == [(3, None, None, None)]
    assert noise_scale_rows(rows_of(few).clear(), {}, level=0.9).height == 0


def test_moments_of_a_database(tmp_path):
    def at(step: int, error: float, norm: float | None) -> dict[str, Any]:
        row: dict[str, Any] = {"step": step, "val_classification_error": error}
        if norm is not None:
            moments = {"gradient_squared_norm": norm, "gradient_covariance_trace": 10.0}
            row["other_metrics"] = {**moments, "largest_hessian_eigenvalue": 3.0}
        return row

    lost = [{"step": 0, "other_metrics": {"gradient_squared_norm": math.nan}}]
    trials = [
        (0, "COMPLETE", {"learning_rate": 0.1}, [at(0, 0.9, 2.0), at(5, 0.2, None), at(9, 0.0, 1)]),
        (1, "COMPLETE", {"learning_rate": 0.2}, [at(0, 0.9, -2.0)]),
        (2, "INFEASIBLE", {"learning_rate": 9.0}, lost),
    ]
    write_shard(tmp_path, workload=WORKLOAD, batch_size=8, trials=trials)
    write_shard(tmp_path, workload="digits/fc/adam", batch_size=8, trials=trials[1:2])
    columns = ("workload", "batch_size", "goal", "trial_id", "steps", "step", "squared_norm")
    with open_database(tmp_path) as db:
        found = moments_of_trials(db, db.crossings(WORKLOAD)).select(columns).rows()
        assert found == [
            (WORKLOAD, 8, 0.1, 0, 9, 0, 2.0),
            (WORKLOAD, 8, 0.1, 0, 9, 9, 1.0),
            (WORKLOAD, 8, 0.1, 1, None, 0, -2.0),
        ]
        eased = moments_of_trials(db, db.crossings(["digits/*"], goal=0.5))
        assert eased["workload"].unique().sort().to_list() == ["digits/fc/adam", WORKLOAD]
        assert eased.filter(trial_id=0)["steps"].to_list() == [5, 5]
        assert eased["covariance_trace"].to_list() == [10.0] * 4


SIZES = (64, 128, 256, 512)


def branches(*losses: tuple[float, ...]) -> pl.DataFrame:
    """The branches of a trial for each tuple, with losses by batch size."""
    study = {"release": "made up", "workload": "w", "batch_size": 64, "step": 10}
    rows = [
        study
        | {"parent_trial": trial, "larger": size, "examples": 1_024, "loss": loss, "rates": 1}
        | {"squared_norm": 1.0 + trial, "covariance_trace": 300.0 + trial}
        | {"own_squared_norm": 2.0 + trial, "own_covariance_trace": 100.0}
        for trial, of_trial in enumerate(losses)
        for size, loss in zip(SIZES, of_trial, strict=True)
    ]
    # In no order.
    return pl.DataFrame(rows).sample(fraction=1, shuffle=True, seed=1)


TO_64 = (1.0, 1.2, 1.3, math.inf)
TO_128 = (1.0, 1.09, 2.0, 3.0)
TO_256 = (1.0, 0.8, 1.1, math.inf)
TO_THE_LAST = (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("losses", "found"),
    [
        # The second and eighth of nine bound the median: 1 - 2 P(Binomial(9, 1/2) <= 1) = 0.961.
        # At 128 they are 0.8 and 1.2 times the own loss, at 256 1.1 and 2, at 512 3 and infinite.
        ([TO_64] * 2 + [TO_128] * 3 + [TO_256] * 4, (math.sqrt(128 * 256), 64, 512)),
        ([TO_64] * 1 + [TO_128] * 7 + [TO_256] * 1, (math.sqrt(128 * 256), 128, 256)),
        ([TO_128] * 5 + [TO_THE_LAST] * 4, (math.sqrt(128 * 256), 128, None)),
        ([TO_128] * 4 + [TO_THE_LAST] * 5, (None, 128, None)),
        # What does well beyond a batch size that does not counts for nothing.
        ([(1.0, 1.2, 1.0, 1.0)] * 9, (math.sqrt(64 * 128), 64, 128)),
        # Of ten the median at 128 is the mean of 1.09 and 1.2, more than 1.1; the second and ninth
        # bound it.
        ([TO_128] * 5 + [TO_64] * 5, (math.sqrt(64 * 128), 64, 256)),
        # Of five none does: 1 - 2 / 32 is less than 0.95.
        ([TO_256] * 5, (math.sqrt(256 * 512), None, None)),
    ],
)
def test_the_median_of_trials_lies_between_batch_sizes(losses, found):
    [row] = branch_rows(branches(*losses), level=0.95).to_dicts()
    value, low, high = (row[name] for name in ("critical_batch_size", "low", "high"))
    assert (low, high) == found[1:]
    assert value == (None if found[0] is None else pytest.approx(found[0]))
    assert (row["trials"], row["largest"], row["examples"]) == (len(losses), 512, 1_024)


def test_a_trial_that_diverges_with_its_own_batch_size_says_nothing():
    lost = (math.inf, 1.0, 1.0, 1.0)
    found = branch_rows(branches(*[TO_128] * 6, *[lost] * 9), level=0.95)
    assert found["critical_batch_size"].item() == pytest.approx(math.sqrt(128 * 256))
    assert branch_rows(branches(TO_64).clear(), level=0.95).is_empty()


def test_the_noise_scale_is_that_of_the_own_batch_size():
    trials = np.arange(12.0)
    blocks = trials.astype(np.int64)
    expected = noise_scale(1.0 + trials, 300.0 + trials, blocks, level=0.9)
    [row] = branch_rows(branches(*[TO_128] * 12), level=0.9).to_dicts()
    names = ("noise_scale", "noise_scale_low", "noise_scale_high")
    assert {name: row[name] for name in names} == expected.columns(*names)
    assert row["noise_scale"] == pytest.approx((3_600 + 66) / (12 + 66))
    assert row["own_noise_scale"] == pytest.approx(1_200 / (24 + 66))
