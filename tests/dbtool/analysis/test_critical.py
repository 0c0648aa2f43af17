"""Critical batch sizes against published fits, curves without noise, and planted truth."""

import math

import numpy as np
import pytest
from scipy.stats import f as f_distribution

from benchmarks.planted_truth import sweep
from dbtool.analysis.critical import (
    FittedCurve,
    StepsAt,
    closed_interval,
    fit_curve,
    peak,
    profile_bound,
)

SIZES = [2.0**power for power in range(14)]


def curve(steps: dict[float, float], level: float = 0.95) -> FittedCurve:
    found = fit_curve([StepsAt(size, each, each) for size, each in steps.items()], level=level)
    assert found is not None
    return found


def exact(critical: float, sizes: list[float], bend: float = 1) -> dict[float, float]:
    """The steps of a curve with 700 fewest steps."""
    return {size: 700 * (1 + (critical / size) ** bend) ** (1 / bend) for size in sizes}


# Zhang et al. 2024 (arXiv 2410.21676): steps at batch sizes 64 to 16,384 of their models with 85
# and 302 million parameters, and where they exceed linear scaling from 256 by a fifth.
@pytest.mark.parametrize(
    ("steps", "overhead"),
    [
        ([46000, 23000, 13282, 7000, 3840, 2528, 1917, 1600, 1600], 745.3),
        ([196000, 90000, 46000, 23400, 13300, 7224, 4980, 3400, 2879], 1393.7),
    ],
)
def test_published_overheads(steps: list[float], overhead: float) -> None:
    found = curve({64.0 * 2**index: each for index, each in enumerate(steps)})
    estimate = found.overhead(0.2, 256)
    assert estimate.value == pytest.approx(overhead, rel=0.01)
    assert estimate.verdict == "identified"
    assert estimate.low < overhead < estimate.high


def test_published_hyperbola() -> None:
    steps = [46000, 23000, 13282, 7000, 3840, 2528, 1917, 1600, 1600]
    found = curve({64.0 * 2**index: each for index, each in enumerate(steps)})
    assert found.steps == pytest.approx(1293.8, rel=0.01)
    assert found.steps * found.critical == pytest.approx(2834258, rel=0.01)
    assert found.bend == 1


@pytest.mark.parametrize("critical", [20.0, 1500.0])
def test_a_hyperbola_is_found_again(critical: float) -> None:
    found = curve(exact(critical, SIZES))
    assert found.steps == pytest.approx(700, rel=0.01)
    assert found.tradeoff.value == pytest.approx(critical, rel=0.01)
    # (1 + o) B0 + o Bc
    assert found.overhead(0.2, 4).value == pytest.approx(4.8 + 0.2 * critical, rel=0.01)
    # Within a share of the fewest examples, and of the fewest steps.
    assert found.perfect_to(0.2).value == pytest.approx(0.2 * critical, rel=0.01)
    assert found.useful_to(0.2).value == pytest.approx(critical / 0.2, rel=0.01)


def test_a_sharper_curve_is_told_from_a_hyperbola() -> None:
    found = curve(exact(200, SIZES, bend=2))
    assert found.bend == pytest.approx(2)
    assert found.tradeoff.value == pytest.approx(200, rel=0.02)
    steps = exact(200, [1.0, 1e9], bend=2)
    at = found.overhead(0.2, 1).value
    assert at is not None
    assert exact(200, [at], bend=2)[at] * at == pytest.approx(1.2 * steps[1.0], rel=0.02)


# A plain quotient of the fewest examples to the fewest steps reads 75 and 458 of these.
@pytest.mark.parametrize(("first", "last"), [(1, 128), (256, 8192)])
def test_ranges_on_one_side_give_a_bound_and_no_number(first: int, last: int) -> None:
    sizes = [size for size in SIZES if first <= size <= last]
    rng = np.random.default_rng(0)
    steps = {size: each * math.exp(0.03 * rng.normal()) for size, each in exact(200, sizes).items()}
    estimate = curve(steps).tradeoff
    assert estimate.value is None
    assert estimate.verdict == ("lower_bound" if first == 1 else "upper_bound")
    assert estimate.low <= 200 <= estimate.high


def test_steps_that_only_fall_give_a_lower_bound() -> None:
    estimate = curve({size: 1e6 / size for size in SIZES}).tradeoff
    assert (estimate.value, estimate.verdict, estimate.high) == (None, "lower_bound", math.inf)
    assert estimate.low > SIZES[-1]


def test_goals_that_were_missed_count_as_bounds() -> None:
    steps = [StepsAt(size, each, each) for size, each in exact(100, SIZES[4:]).items()]

    def fitted(more: list[StepsAt]) -> FittedCurve:
        found = fit_curve(more + steps, level=0.95)
        assert found is not None
        return found

    # Too few steps were given to the small batch sizes for them to have got there in any case.
    vague = [StepsAt(size, 100, math.inf) for size in SIZES[:4]]
    telling = [StepsAt(size, each * 0.97, math.inf) for size, each in exact(100, SIZES[:4]).items()]
    alone, with_vague, with_telling = fitted([]), fitted(vague), fitted(telling)
    assert with_vague.tradeoff.low == pytest.approx(alone.tradeoff.low, rel=0.02)
    assert with_telling.reached == (16.0, SIZES[-1])
    assert with_telling.tradeoff.low >= 0.95 * with_vague.tradeoff.low


def test_steps_of_which_nothing_is_known_change_nothing() -> None:
    steps = [StepsAt(size, each, each) for size, each in exact(64, SIZES).items()]
    for upper in (math.inf, 0.0):
        unknown = StepsAt(2.0**14, 0.0, upper)
        assert fit_curve([*steps, unknown], level=0.95) == fit_curve(steps, level=0.95)


def test_two_batch_sizes_are_too_few() -> None:
    assert (
        fit_curve([StepsAt(1, 10, 10), StepsAt(2, 5, 5), StepsAt(4, 3, math.inf)], level=0.9)
        is None
    )


def test_intervals_of_a_line_are_students() -> None:
    # For values that are known, a line's interval by the F quantile is the textbook's.
    rng = np.random.default_rng(2)
    values = rng.normal(size=8)
    grid = np.linspace(-3, 3, 20_001)
    squares = ((values - grid[:, None]) ** 2).sum(axis=1)
    likelihood = -4 * np.log(squares)
    floor = likelihood.max() - profile_bound(8, 1, 0.95)
    low, high = closed_interval(grid, likelihood, floor)
    half = math.sqrt(f_distribution.ppf(0.95, 1, 7)) * values.std(ddof=1) / math.sqrt(8)
    assert low == pytest.approx(values.mean() - half, abs=1e-3)
    assert high == pytest.approx(values.mean() + half, abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "sweeps", "fewest"),
    [
        # Of so many intervals at 95 % fewer would hold the truth once in a hundred thousand times.
        ("hyperbola", 20, 30),
        pytest.param("noisy quadratic", 100, 176, marks=pytest.mark.slow),
    ],
)
def test_planted_truth_lies_in_the_intervals(kind: str, sweeps: int, fewest: int) -> None:
    outcomes = [each for seed in range(sweeps) for each in sweep(kind, seed)]
    assert sum(each.covers for each in outcomes) >= fewest
    assert sum(each.verdict == "identified" for each in outcomes) > len(outcomes) / 3


def test_the_peak_of_a_flat_top_is_its_middle() -> None:
    grid = np.linspace(0, 8, 9)
    summit = -((grid - 3.2) ** 2)
    assert peak(grid, summit) == pytest.approx(3.2)
    # What is within rounding of the highest is as high.
    flat = np.minimum(summit, -2) + 1e-9 * np.cos(grid)
    assert peak(grid, flat) == 3
    assert peak(grid, np.zeros(9)) == 4
