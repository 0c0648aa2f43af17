"""Laws of the learning rate from searches whose best one is known."""

import math

import numpy as np
import pytest

from dbtool.analysis.learning_rates import BestRate, best_rate, fit_laws
from dbtool.analysis.searches import Search

SIZES = [2**power for power in range(13)]
SPACE = {"learning_rate": {"min_value": 1e-4, "max_value": 1e2, "scale": "LOG"}}


def search(
    size: int, best: float, momentum: float = math.nan, space: dict[str, dict[str, object]] = SPACE
) -> Search:
    """Trials over the searched range that take longer the further they are from the best rate."""
    rates = np.geomspace(1e-4, 1e2, 121)
    steps = np.ceil(1000 * np.exp(np.minimum(4 * np.log(rates / best) ** 2, 40)))
    after, none = steps - 1, np.full(rates.size, momentum)
    return Search(size, after, steps, rates, none, space)


def law(bests: dict[int, float]) -> list[BestRate]:
    found = [best_rate(search(size, best), "learning_rate") for size, best in bests.items()]
    return [each for each in found if each is not None]


def test_the_range_holds_all_that_came_nearly_as_far() -> None:
    found = best_rate(search(64, 0.1), "learning_rate")
    assert found is not None
    # exp(4 x^2) <= 1.25 where |x| <= 0.236, of rates a factor of 10^0.05 apart.
    assert (found.low, found.best, found.high) == pytest.approx((10**-1.1, 0.1, 10**-0.9))
    assert found.trials == 5


def test_a_best_rate_at_the_border_is_known_on_one_side() -> None:
    high, low = (best_rate(search(64, best), "learning_rate") for best in (60, 2e-4))
    assert high is not None
    assert low is not None
    assert (high.high, low.low) == (math.inf, 0)
    assert high.low > 10
    assert low.high < 1e-3


def test_momentum_multiplies_the_effective_rate() -> None:
    plain = best_rate(search(64, 0.1, momentum=0.9), "learning_rate")
    effective = best_rate(search(64, 0.1, momentum=0.9), "effective_learning_rate")
    assert plain is not None
    assert effective is not None
    assert effective.best == pytest.approx(10 * plain.best)


def test_a_search_that_missed_the_goal_has_no_best_rate() -> None:
    missed = search(64, 0.1)
    missed.steps[:] = math.inf
    assert best_rate(missed, "learning_rate") is None


@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_a_power_law_is_found_again(exponent: float) -> None:
    found = fit_laws(law({size: 1e-3 * size**exponent for size in SIZES}), level=0.95)
    assert found is not None
    assert found.law == "power"
    assert found.weights["power"] > 0.9
    assert found.low < exponent < found.high
    assert found.at(64) == pytest.approx(1e-3 * 64**exponent, rel=0.1)


def test_a_rate_that_saturates_is_found_again() -> None:
    found = fit_laws(law({size: 0.5 / (1 + 50 / size) for size in SIZES}), level=0.95)
    assert found is not None
    assert found.law == "saturating"
    assert found.low < 50 < found.high
    assert found.at(4096) == pytest.approx(0.5 / (1 + 50 / 4096), rel=0.15)


def test_a_rate_that_rises_and_falls_is_found_again() -> None:
    best = {size: 1 / (math.sqrt(64 / size) + math.sqrt(size / 64)) for size in SIZES}
    found = fit_laws(law(best), level=0.95)
    assert found is not None
    assert found.law == "surge"
    assert found.low < 64 < found.high
    assert found.at(64) == pytest.approx(0.5, rel=0.15)


def test_three_batch_sizes_are_too_few() -> None:
    assert fit_laws(law({1: 0.1, 2: 0.2, 4: 0.4}), level=0.95) is None
