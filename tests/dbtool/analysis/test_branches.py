"""Critical batch sizes of branches, against answers by hand."""

import math

import numpy as np
import polars as pl
import pytest

from dbtool.analysis.branches import branch_rows
from dbtool.analysis.noise_scale import noise_scale

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


def test_what_does_well_beyond_a_batch_size_that_does_not_counts_for_nothing():
    [row] = branch_rows(branches(*[(1.0, 1.2, 1.0, 1.0)] * 9), level=0.95).to_dicts()
    assert (row["low"], row["high"]) == (64, 128)
    assert row["critical_batch_size"] == pytest.approx(math.sqrt(64 * 128))


def test_a_trial_that_diverges_with_its_own_batch_size_says_nothing():
    lost = (math.inf, 1.0, 1.0, 1.0)
    found = branch_rows(branches(*[TO_128] * 6, *[lost] * 9), level=0.95)
    assert found["critical_batch_size"].item() == pytest.approx(math.sqrt(128 * 256))


def test_a_larger_tolerance_lets_more_batch_sizes_do():
    found = [
        branch_rows(branches(TO_64), level=0.95, tolerance=tolerance)["critical_batch_size"].item()
        for tolerance in (0.1, 0.3)
    ]
    assert found == [pytest.approx(math.sqrt(64 * 128)), pytest.approx(math.sqrt(256 * 512))]


def test_the_noise_scale_is_that_of_the_own_batch_size():
    trials = np.arange(12.0)
    blocks = trials.astype(np.int64)
    expected = noise_scale(1.0 + trials, 300.0 + trials, blocks, level=0.9)
    [row] = branch_rows(branches(*[TO_128] * 12), level=0.9).to_dicts()
    names = ("noise_scale", "noise_scale_low", "noise_scale_high")
    assert {name: row[name] for name in names} == expected.columns(*names)
    assert row["noise_scale"] == pytest.approx((3_600 + 66) / (12 + 66))
    assert row["own_noise_scale"] == pytest.approx(1_200 / (24 + 66))


def test_without_branches_there_is_no_row():
    assert branch_rows(branches(TO_64).clear(), level=0.95).is_empty()
