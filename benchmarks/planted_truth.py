"""How often the intervals of `dbtool scaling` hold a truth that is known: simulated searches.

Made-up trials of two kinds: over the hyperbola that is fitted, and over the noisy quadratic model
of Zhang et al. 2019 (arXiv 1907.04164, section 3), which is none. Each sweep draws its batch sizes,
its numbers of trials, how often they are evaluated and when they end.

    python -m benchmarks.planted_truth --sweeps 1000
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dbtool.analysis.scaling import Settings, scaling_of_searches
from dbtool.analysis.searches import Search

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dbtool.analysis.critical import Estimate

    Floats = NDArray[np.float64]

OVERHEAD = 0.2
NOISE = 0.05  # of the logarithm of a trial's steps, from its seed


class Truth(Protocol):
    """A workload whose steps are known."""

    def fewest_steps(self, batch_size: float) -> float:
        """At the best metaparameters."""

    def trials(self, batch_size: float, count: int, rng: np.random.Generator) -> Floats:
        """The steps of random trials; inf where one diverges or never reaches the goal."""

    def critical(self, start: float, k: int) -> tuple[float, float]:
        """The critical batch sizes of searches of k trials, by tradeoff and by overhead."""


class HyperbolaTruth:
    """Steps of a hyperbola, times what bad metaparameters cost: a bowl in two of them."""

    def __init__(self, critical: float, rng: np.random.Generator) -> None:
        """Draws where the bowl lies."""
        self._critical = critical
        self._centre = rng.uniform(0.3, 0.7, 2)
        self._diverging = rng.uniform(0.75, 1)

    def fewest_steps(self, batch_size: float) -> float:
        """See `Truth`."""
        return 1000 * (1 + self._critical / batch_size)

    def trials(self, batch_size: float, count: int, rng: np.random.Generator) -> Floats:
        """See `Truth`."""
        at = rng.uniform(0, 1, (count, 2))
        excess = ((at - self._centre) ** 2 * (8, 3)).sum(axis=1) + NOISE * rng.normal(size=count)
        steps = self.fewest_steps(batch_size) * np.exp(excess)
        return np.where(at[:, 0] > self._diverging, math.inf, steps)

    def critical(self, start: float, k: int) -> tuple[float, float]:  # noqa: ARG002 (any k has the same)
        """See `Truth`."""
        # Trials are as much worse than the best at every batch size, whatever k is.
        return self._critical, (1 + OVERHEAD) * start + OVERHEAD * self._critical


class NoisyQuadraticTruth:
    """SGD on a quadratic of curvatures 1/i with gradient noise of the same covariance.

    The expected loss after t steps is known in closed form, and so is the step that passes a goal.
    """

    # Of 300 directions those whose curvatures are nearly the same as one.
    _AT = np.unique(np.geomspace(1, 300, 40).round())
    _CURVATURE, _COUNT = 1 / _AT, np.diff(_AT, append=301)
    _MOST_STEPS = 10**12
    _RATES = np.geomspace(1e-9, 1.99, 400)

    def __init__(self, noise: float, rng: np.random.Generator) -> None:
        """Draws the goal, between a thirtieth and a hundredth of the loss at the start."""
        self._noise = noise
        self._goal = (self._COUNT * self._CURVATURE).sum() / 2 * rng.uniform(0.01, 0.03)

    def _steps(self, batch_size: float, rates: Floats) -> Floats:
        h = self._CURVATURE
        diverges = rates >= 2
        rate = np.where(diverges, 1.0, rates)[:, None]
        with np.errstate(divide="ignore"):
            floor = rate * self._noise / (batch_size * (2 - rate * h))
            log_decay = 2 * np.log(np.abs(1 - rate * h))

        def loss(steps: Floats) -> Any:
            fading = np.exp(log_decay * steps[:, None])
            return (self._COUNT * h * (fading * (1 - floor) + floor)).sum(axis=1) / 2

        low, high = np.zeros(len(rates)), np.full(len(rates), float(self._MOST_STEPS))
        fails = diverges | (loss(high) > self._goal)
        for _ in range(60):
            middle = (low + high) / 2
            passed = loss(middle) <= self._goal
            low, high = np.where(passed, low, middle), np.where(passed, middle, high)
        steps: Floats = np.where(fails, math.inf, np.ceil(high))
        return steps

    def fewest_steps(self, batch_size: float) -> float:
        """See `Truth`."""
        return float(self._steps(batch_size, self._RATES).min())

    def trials(self, batch_size: float, count: int, rng: np.random.Generator) -> Floats:
        """See `Truth`."""
        rates, steps = self._searched(batch_size)
        log_steps = np.interp(rng.uniform(0, 1, count), rates, steps)
        return np.ceil(np.exp(log_steps + NOISE * rng.normal(size=count)))

    def _searched(self, batch_size: float) -> tuple[Floats, Floats]:
        """The logarithm of steps over a range of learning rates two decades wide, as 0 to 1."""
        best = self._RATES[self._steps(batch_size, self._RATES).argmin()]
        at = np.linspace(0, 1, 200)
        with np.errstate(invalid="ignore"):
            return at, np.log(self._steps(batch_size, best * 100 ** (at - 0.5)))

    def critical(self, start: float, k: int) -> tuple[float, float]:
        """See `Truth`."""
        # The median of the best of k is the quantile 1 - 2^(-1/k) of one trial.
        rng = np.random.default_rng(0)
        rank, noise = 1 - 2 ** (-1 / k), NOISE * rng.normal(size=20_000)
        drawn = rng.uniform(0, 1, noise.size)

        def median(size: float) -> float:
            log_steps = np.interp(drawn, *self._searched(size)) + noise
            return float(
                np.exp(np.partition(log_steps, int(rank * noise.size))[int(rank * noise.size)])
            )

        # Far to both sides of any critical batch size that is drawn.
        tiny, huge = 2.0**-12, 2.0**30
        grid = start * 2.0 ** np.arange(0, 24, 0.5)
        examples = np.array([size * median(size) for size in grid])
        overhead = np.interp(math.log(examples[0] * (1 + OVERHEAD)), np.log(examples), np.log(grid))
        return median(tiny) * tiny / median(huge), math.exp(overhead)


@dataclass(frozen=True)
class Outcome:
    """What was claimed of one sweep.

    Attributes:
        verdict: of the estimate.
        covers: whether the interval holds the truth.
        octaves: how wide the interval is, in doublings; None where it is not closed.
    """

    verdict: str
    covers: bool
    octaves: float | None


def sweep(kind: str, seed: int) -> tuple[Outcome, Outcome]:
    """Simulates one sweep; returns what is claimed by tradeoff and by overhead."""
    rng = np.random.default_rng(seed)
    first, count = int(rng.integers(0, 5)), int(rng.integers(5, 13))
    sizes = 2.0 ** np.arange(first, first + count)
    # Also beyond the batch sizes that are measured.
    planted = 2 ** rng.uniform(first - 2, first + count + 1)
    truth: Truth = (
        HyperbolaTruth(planted, rng)
        if kind == "hyperbola"
        else NoisyQuadraticTruth(planted * 0.02, rng)
    )
    counts = rng.integers(10, 101, count) if rng.random() < 0.5 else [rng.integers(10, 101)] * count
    every, end = rng.choice([0.01, 0.05, 0.2]), rng.choice([1.05, 1.3, 3, 10])
    searches = [
        _search(truth, size, int(trials), every, end, rng)
        for size, trials in zip(sizes, counts, strict=True)
    ]
    found = scaling_of_searches(searches, Settings(overhead=OVERHEAD, start=float(sizes[0])))
    tradeoff, overhead = truth.critical(sizes[0], found.trials or 0)
    return _outcome(found.tradeoff, tradeoff), _outcome(found.overhead, overhead)


def _search(
    truth: Truth, size: float, count: int, every: float, end: float, rng: np.random.Generator
) -> Search:
    fewest = truth.fewest_steps(size)
    exact = truth.trials(size, count, rng)
    between = max(1.0, round(every * fewest))
    last = max(between, math.floor(end * rng.uniform(0.95, 1.1) * fewest / between) * between)
    seen = np.maximum(1, np.ceil(exact / between)) * between
    reached = seen <= last
    after = np.where(np.isinf(exact), math.inf, np.where(reached, seen - between, last))
    none = np.full(count, math.nan)
    return Search(int(size), after, np.where(reached, seen, math.inf), none, none, {})


def _outcome(estimate: Estimate | None, truth: float) -> Outcome:
    if estimate is None:
        return Outcome("not_identified", covers=True, octaves=None)
    closed = estimate.verdict == "identified"
    return Outcome(
        estimate.verdict,
        estimate.low <= truth <= estimate.high,
        math.log2(estimate.high / estimate.low) if closed else None,
    )


def main() -> None:
    """Prints a row a kind of truth and definition."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.sweeps)
    print("| truth | definition | intervals that hold it | identified | of all wrongly so "
          "| lower bound | upper bound | not | median width, octaves |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor() as pool:
        for kind in ("hyperbola", "noisy quadratic"):
            run: Callable[[int], tuple[Outcome, Outcome]] = partial(sweep, kind)
            outcomes = list(pool.map(run, seeds, chunksize=10))
            for definition, column in zip(
                ("tradeoff", "overhead"), zip(*outcomes, strict=True), strict=True
            ):
                print(_row(kind, definition, column))


def _row(kind: str, definition: str, outcomes: tuple[Outcome, ...]) -> str:
    share = Counter(each.verdict for each in outcomes)
    count = len(outcomes)
    wrong = sum(each.verdict == "identified" and not each.covers for each in outcomes)
    widths = [each.octaves for each in outcomes if each.octaves is not None]
    cells = [
        kind,
        definition,
        f"{sum(each.covers for each in outcomes) / count:.1%}",
        f"{share['identified'] / count:.1%}",
        f"{wrong / count:.1%}",
        *(
            f"{share[each] / count:.1%}"
            for each in ("lower_bound", "upper_bound", "not_identified")
        ),
        f"{np.median(widths):.2f}" if widths else "",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
