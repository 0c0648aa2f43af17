"""Laws of the learning rate from searches whose best one is known."""

import math

import numpy as np
import pytest
from scipy.stats import t as student

from dbtool.analysis.learning_rates import BestRate, Rate, RateLaw, best_rate, fit_laws
from dbtool.analysis.scaling import Settings, scaling_of_searches
from dbtool.analysis.searches import Search

SIZES = [2**power for power in range(13)]
SPACE = {"learning_rate": {"min_value": 1e-4, "max_value": 1e2, "scale": "LOG"}}


def search(size: int, best: float) -> Search:
    """Trials over the searched range that take longer the further they are from the best rate."""
    rates = np.geomspace(1e-4, 1e2, 121)
    steps = np.ceil(1000 * np.exp(np.minimum(4 * np.log(rates / best) ** 2, 40)))
    return Search(size, steps - 1, steps, rates, np.full(rates.size, 0.9), SPACE)


def best(size: int, rate: float, name: Rate = "learning_rate") -> BestRate:
    found = best_rate(search(size, rate), name)
    assert found is not None
    return found


def law(bests: dict[int, float]) -> RateLaw:
    found = fit_laws([best(size, rate) for size, rate in bests.items()], level=0.95)
    assert found is not None
    return found


def test_the_range_holds_all_that_came_nearly_as_far():
    found = best(64, 0.1)
    # exp(4 x^2) <= 1.25 where |x| <= 0.236, of rates a factor of 10^0.05 apart.
    assert (found.low, found.best, found.high) == pytest.approx((10**-1.1, 0.1, 10**-0.9))
    assert found.trials == 5


def test_a_best_rate_at_the_border_is_known_on_one_side():
    high, low = best(64, 60), best(64, 2e-4)
    assert (high.high, low.low) == (math.inf, 0)
    assert high.low > 10
    assert low.high < 1e-3


@pytest.mark.parametrize("best", [0.01, 0.1, 1.0])
def test_the_ends_of_a_grid_are_its_borders(best):
    """Of runs without a search space, where a better rate may lie beyond those tried."""
    rates = np.array([0.01, 0.1, 1.0])
    steps = np.where(rates == best, 100.0, 900.0)
    found = best_rate(Search(64, steps - 1, steps, rates, np.full(3, 0.9), {}), "learning_rate")
    assert found is not None
    assert (found.low == 0, found.best, math.isinf(found.high)) == (best == 0.01, best, best == 1)


def test_the_rate_of_a_batch_size_is_as_sure_as_a_regression_is_in_its_middle():
    """There the interval is that of a mean, Student's quantile times s / sqrt(n)."""
    rng = np.random.default_rng(3)
    sizes = 2.0 ** np.arange(9)
    logs = -5 + 0.5 * np.log(sizes) + 0.2 * rng.normal(size=9)
    points = [BestRate(b, r, r, r, 1) for b, r in zip(sizes, np.exp(logs), strict=True)]
    found = fit_laws(points, level=0.95)
    assert found is not None
    assert found.law == "power"
    slope, start = np.polyfit(np.log(sizes), logs, 1)
    rest = logs - start - slope * np.log(sizes)
    half = student.ppf(0.975, 7) * math.sqrt((rest**2).sum() / 7 / 9)
    told = found.between(16.0)
    assert told.value == pytest.approx(math.exp(logs.mean()), rel=0.005)
    assert told.low == pytest.approx(math.exp(logs.mean() - half), rel=0.03 * half)
    assert told.high == pytest.approx(math.exp(logs.mean() + half), rel=0.03 * half)


def test_momentum_multiplies_the_effective_rate():
    effective = best(64, 0.1, "effective_learning_rate")
    assert effective.best == pytest.approx(10 * best(64, 0.1).best)


def test_a_search_that_missed_the_goal_has_no_best_rate():
    missed = search(64, 0.1)
    missed.steps[:] = math.inf
    assert best_rate(missed, "learning_rate") is None


@pytest.mark.parametrize("exponent", [0, 0.5])
@pytest.mark.parametrize("trials", [1, 3])
def test_a_rate_that_was_chosen_is_not_the_best(trials, exponent):
    """All trials of a study have the learning rate of the user's own rule, and one momentum."""
    given = []
    for size in SIZES:
        steps = np.full(trials, math.ceil(1e5 * (1 / size + 1 / 256)))
        rates = np.full(trials, 1e-3 * size**exponent)
        given.append(Search(size, steps - 1, steps, rates, np.full(trials, 0.9), {}))
    found = scaling_of_searches(given, Settings(at=700))
    assert found.curve is not None
    assert (found.rates, found.rate_law, found.effective_law) == ([], None, None)
    assert (found.learning_rate, found.momentum) == (None, None)


def test_a_momentum_that_was_chosen_is_not_the_best():
    found = scaling_of_searches([search(size, 0.1) for size in SIZES], Settings(at=64))
    assert found.learning_rate is not None
    assert found.momentum is None


# By law, the best rate of a batch size, the law's parameter, and how near the rate at one is told.
LAWS = [
    ("power", lambda size: 1e-3 * size**0.5, 0.5, 64, 0.1),
    ("power", lambda size: 1e-3 * size, 1.0, 64, 0.1),
    ("saturating", lambda size: 0.5 / (1 + 50 / size), 50, 4096, 0.15),
    ("surge", lambda size: 1 / (math.sqrt(64 / size) + math.sqrt(size / 64)), 64, 64, 0.15),
]


@pytest.mark.parametrize(("name", "rate", "parameter", "size", "near"), LAWS)
def test_a_law_is_found_again(name, rate, parameter, size, near):
    found = law({size: rate(size) for size in SIZES})
    assert found.law == name
    assert found.weights[name] > 0.9 or name != "power"
    assert found.low < parameter < found.high
    assert found.at(size) == pytest.approx(rate(size), rel=near)


def test_three_batch_sizes_are_too_few():
    assert fit_laws([best(size, 0.1 * size) for size in (1, 2, 4)], level=0.95) is None
