"""How often the intervals of `dbtool scaling` hold a truth that is known, in made-up worlds.

Steps follow curves of the family that is fitted, and others: knees that are mixed, a noise scale
that grows with the batch size, steps that rise again, and the noisy quadratic model of Zhang et al.
2019 (arXiv 1907.04164, section 3). Most worlds are searches, whose trials are a bowl over two
metaparameters with noise from the seed; tables are steps with noise, independent or correlated
along the batch sizes, or have one to eight replicates a batch size; chains are windows in lockstep,
each about the best trial of its neighbour. Each sweep draws its batch sizes, its numbers of trials,
how often they are evaluated and when they end. Laws are lines through the logarithms of critical
batch sizes of three to eight workloads, which have intervals of their own.

    python -m benchmarks.planted_truth --sweeps 300 --world 'bend 0.4'
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

from dbtool.analysis.critical import LEAST_SCALE, StepsAt
from dbtool.analysis.interval import Interval
from dbtool.analysis.law import power_law
from dbtool.analysis.scaling import Settings, scaling_of_searches, scaling_of_steps
from dbtool.analysis.searches import Search, median_errors, middle, spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dbtool.analysis.scaling import Scaling

    Floats = NDArray[np.float64]
    Shape = Callable[[Floats], Floats]

OVERHEAD = 0.2
# Of the logarithm of a trial's steps, from its seed: what ten fresh seeds at a fixed rate have.
NOISE = (0.08, 0.29)
_TABLE_NOISE = (0.03, 0.15)
_LUCK = 0.8  # its correlation from a batch size to the next
_KNEES = np.geomspace(0.5, 2, 81)


def _bend(p: float) -> Shape:
    return lambda ratio: (1 + ratio**-p) ** (1 / p)


def _knees(ratio: Floats) -> Floats:
    """Return the mean of sharp knees over two octaves, whose examples add up to those of 1."""
    knees = _KNEES * np.mean(1 / _KNEES)
    return np.asarray(np.maximum(1, 1 / (ratio[..., None] * knees)).mean(axis=-1))


SHAPES: dict[str, Shape] = {
    "hyperbola": _bend(1),
    "bend 0.4": _bend(0.4),
    "bend 0.6": _bend(0.6),
    "bend 1.8": _bend(1.8),
    "bend 4": _bend(4),
    "mixed knees": _knees,
    "growing noise scale": lambda ratio: 1 + (1 + ratio) ** 0.6 / ratio,
    "rises again": lambda ratio: (1 + 1 / ratio) * np.maximum(1, ratio / 4) ** 0.25,
}
"""Steps over the fewest by batch size over Bc, 1 and 1 / ratio at the two ends."""
WORLDS = (
    *SHAPES,
    "noisy quadratic",
    *("hyperbola, table", "growing noise scale, table", "hyperbola, correlated table"),
    *("hyperbola, precise table", "bend 1.8, precise table"),
    "hyperbola, chain",
    *(f"{bend}, replicates" for bend in ("bend 0.6", "hyperbola", "bend 1.8")),
)
LAWS = {"law": 0.0, "law with scatter": 0.6}
"""By name the most by which logarithms of critical batch sizes scatter about the line."""


class Truth(Protocol):
    """A workload whose steps are known."""

    def fewest_steps(self, batch_size: float) -> float:
        """At the best metaparameters."""

    def trials(self, batch_size: float, count: int, rng: np.random.Generator) -> Floats:
        """The steps of random trials; inf where one diverges or never reaches the goal."""

    def critical(self, start: float, k: int) -> tuple[float, float]:
        """The critical batch sizes of searches of k trials, by tradeoff and by overhead."""


class ShapeTruth:
    """Steps of a shape, times what bad metaparameters cost: a bowl in two of them."""

    def __init__(self, shape: Shape, critical: float, rng: np.random.Generator) -> None:
        """Draws where the bowl lies and how much trials vary."""
        self._shape, self._critical = shape, critical
        self.centre = rng.uniform(0.3, 0.7, 2)
        self._diverging = rng.uniform(0.75, 1)
        self._noise = rng.uniform(*NOISE)

    def fewest_steps(self, batch_size: float) -> float:
        """See `Truth`."""
        return 1000 * float(self._shape(np.array(batch_size / self._critical)))

    def trials(self, batch_size: float, count: int, rng: np.random.Generator) -> Floats:
        """See `Truth`."""
        return self.trials_at(batch_size, rng.uniform(0, 1, (count, 2)), rng)

    def trials_at(self, batch_size: float, at: Floats, rng: np.random.Generator) -> Floats:
        """The steps of trials with these metaparameters, [trials, 2] from 0 to 1."""
        noise = self._noise * rng.normal(size=len(at))
        excess = ((at - self.centre) ** 2 * (8, 3)).sum(axis=1) + noise
        steps = self.fewest_steps(batch_size) * np.exp(excess)
        return np.where(at[:, 0] > self._diverging, math.inf, steps)

    def critical(self, start: float, k: int) -> tuple[float, float]:
        """See `Truth`."""
        del k  # trials are as much worse than the best at every batch size, whatever k is
        grid = start * 2.0 ** np.arange(0, 40, 0.02)
        return self._critical, _overhead(grid, grid * self._shape(grid / self._critical))


def _overhead(grid: Floats, examples: Floats) -> float:
    """Return the first batch size at which examples exceed those at the first by a share."""
    beyond = int(np.argmax(examples >= (1 + OVERHEAD) * examples[0]))
    near = slice(beyond - 1, beyond + 1)
    log_size = np.interp(
        math.log((1 + OVERHEAD) * examples[0]), np.log(examples[near]), np.log(grid[near])
    )
    return math.exp(log_size)


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
        self._of_trials = rng.uniform(*NOISE)
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
        return np.ceil(np.exp(log_steps + self._of_trials * rng.normal(size=count)))

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
        rank, noise = 1 - 2 ** (-1 / k), self._of_trials * rng.normal(size=20_000)
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
        return median(tiny) * tiny / median(huge), _overhead(grid, examples)


@dataclass(frozen=True)
class Outcome:
    """What was claimed of one sweep.

    Attributes:
        verdict: of the estimate.
        covers: whether the interval holds the truth.
        octaves: how wide the interval is, in doublings; None where it is not closed.
        bias: the value over the truth, in doublings; None where no value is told.
    """

    verdict: str
    covers: bool
    octaves: float | None
    bias: float | None = None


def sweep(world: str, seed: int) -> tuple[Outcome, Outcome]:
    """Simulates one sweep; returns what is claimed by tradeoff and by overhead."""
    rng = np.random.default_rng(seed)
    first, count = int(rng.integers(0, 5)), int(rng.integers(5, 13))
    name, _, kind = world.partition(", ")
    if is_precise := kind.startswith("precise"):
        first, count = 0, 17
    sizes: Floats = 2.0 ** np.arange(float(first), first + count)
    # Also beyond the batch sizes that are measured.
    planted = 2 ** rng.uniform(first - 2, first + count + 1)
    settings = Settings(overhead=OVERHEAD, start=float(sizes[0]))
    if name == "noisy quadratic":
        truth: Truth = NoisyQuadraticTruth(planted * 0.02, rng)
        found = scaling_of_searches(_searches(truth, sizes, rng), settings)
    else:
        truth = ShapeTruth(SHAPES[name], planted, rng)
        if kind == "replicates":
            found = scaling_of_steps(_replicates(truth, sizes, rng), settings)
        elif kind.endswith("table"):
            luck = _LUCK if kind.startswith("correlated") else 0.0
            noise = LEAST_SCALE if is_precise else rng.uniform(*_TABLE_NOISE)
            found = scaling_of_steps(_table(truth, sizes, noise, luck, rng), settings)
        elif kind:
            found = scaling_of_searches(_chain(truth, sizes, rng), settings)
        else:
            found = scaling_of_searches(_searches(truth, sizes, rng), settings)
    return _outcomes(found, truth.critical(sizes[0], found.trials or 0))


def _table(
    truth: Truth, sizes: Floats, noise: float, correlation: float, rng: np.random.Generator
) -> list[StepsAt]:
    """Return steps whose noise is correlated from a batch size to the next."""
    luck, table = float(rng.normal()), []
    for size in sizes:
        steps = truth.fewest_steps(size) * math.exp(noise * luck)
        table.append(StepsAt(size, steps, steps))
        luck = correlation * luck + math.sqrt(1 - correlation**2) * float(rng.normal())
    return table


def _replicates(truth: Truth, sizes: Floats, rng: np.random.Generator) -> list[StepsAt]:
    """Return the medians of one to eight runs of each batch size, with what their spread tells."""
    noise = rng.uniform(*NOISE)
    runs = [
        truth.fewest_steps(size) * np.exp(noise * rng.normal(size=rng.integers(1, 9)))
        for size in sizes
    ]
    medians = [middle(each) for each in runs]
    errors = median_errors(*zip(*map(spread, runs), strict=True))
    return list(map(StepsAt, sizes, medians, medians, errors.tolist()))


def law(scatter: float, seed: int) -> Outcome:
    """Simulates a law of workloads; returns what is claimed of its exponent."""
    rng = np.random.default_rng(seed)
    count, exponent = int(rng.integers(3, 9)), rng.uniform(-1, 1)
    x = rng.uniform(0, 4, count)
    deviations = rng.uniform(0.05, 0.3, count)
    y = 5 + exponent * x + rng.uniform(0, scatter) * rng.normal(size=count)
    y += deviations * rng.normal(size=count)
    known = [
        Interval(math.exp(at), math.exp(at - 1.96 * own), math.exp(at + 1.96 * own))
        for at, own in zip(y, deviations, strict=True)
    ]
    found = power_law(list(zip(np.exp(x).tolist(), known, strict=True)), level=0.95)
    if found is None:
        return Outcome("not_identified", covers=True, octaves=None)
    of_law = found.exponent
    return Outcome("identified", of_law.low <= exponent <= of_law.high, of_law.high - of_law.low)


def _searches(truth: Truth, sizes: Floats, rng: np.random.Generator) -> list[Search]:
    """Return a search of the whole space at each batch size."""
    count = len(sizes)
    counts = rng.integers(10, 101, count) if rng.random() < 0.5 else [rng.integers(10, 101)] * count
    every, end = rng.choice([0.01, 0.05, 0.2]), rng.choice([1.05, 1.3, 3, 10])
    searches = []
    for size, trials in zip(sizes, counts, strict=True):
        fewest = truth.fewest_steps(size)
        between = max(1.0, round(every * fewest))
        last = max(between, math.floor(end * rng.uniform(0.95, 1.1) * fewest / between) * between)
        exact = truth.trials(size, int(trials), rng)
        searches.append(_search(size, exact, between, last, windowed=False))
    return searches


def _chain(truth: ShapeTruth, sizes: Floats, rng: np.random.Generator) -> list[Search]:
    """Return searches in lockstep: one wide, others in windows about the best of the next one."""
    every, middle = rng.choice([0.09, 0.19]), len(sizes) // 2
    found: dict[int, Search] = {}

    def lockstep(index: int, at: Floats, *, windowed: bool) -> Floats:
        size = float(sizes[index])
        exact = truth.trials_at(size, at, rng)
        between = max(1.0, round(every * truth.fewest_steps(size)))
        third = math.ceil(np.partition(exact, 2)[2] / between) * between
        found[index] = _search(size, exact, between, third, windowed=windowed)
        return np.asarray(at[np.argmin(found[index].steps)])

    wide = lockstep(middle, rng.uniform(0, 1, (50, 2)), windowed=False)
    for way in (range(middle + 1, len(sizes)), range(middle - 1, -1, -1)):
        centre = wide
        for index in way:
            window = centre + rng.uniform(-0.15, 0.15, (24, 2))
            centre = lockstep(index, window, windowed=True)
    return [found[index] for index in range(len(sizes))]


def _search(size: float, exact: Floats, between: float, last: float, *, windowed: bool) -> Search:
    """Return trials as they are seen: evaluated every so many steps, and ended at the last."""
    seen = np.maximum(1, np.ceil(exact / between)) * between
    reached = seen <= last
    after = np.where(np.isinf(exact), math.inf, np.where(reached, seen - between, last))
    none = np.full(len(exact), math.nan)
    steps = np.where(reached, seen, math.inf)
    return Search(int(size), after, steps, none, none, {}, windowed)


def _outcomes(found: Scaling, truth: tuple[float, float]) -> tuple[Outcome, Outcome]:
    tradeoff, overhead = truth
    return _outcome(found.tradeoff, tradeoff), _outcome(found.overhead, overhead)


def _outcome(estimate: Interval | None, truth: float) -> Outcome:
    if estimate is None:
        return Outcome("not_identified", covers=True, octaves=None)
    closed = estimate.verdict == "identified"
    return Outcome(
        estimate.verdict,
        estimate.low <= truth <= estimate.high,
        math.log2(estimate.high / estimate.low) if closed else None,
        math.log2(estimate.value / truth) if estimate.value else None,
    )


def main() -> None:
    """Prints a row a world and definition."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--world", choices=[*WORLDS, *LAWS], action="append", help="by default all")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.sweeps)
    print("| world | definition | intervals that hold it | identified | of all wrongly so "
          "| lower bound | upper bound | not | median width, octaves | median bias |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor() as pool:
        for world in options.world or [*WORLDS, *LAWS]:
            if world in LAWS:
                laws = tuple(pool.map(partial(law, LAWS[world]), seeds, chunksize=100))
                print(_row(world, "exponent", laws), flush=True)
                continue
            outcomes = list(pool.map(partial(sweep, world), seeds, chunksize=10))
            for definition, column in zip(
                ("tradeoff", "overhead"), zip(*outcomes, strict=True), strict=True
            ):
                print(_row(world, definition, column), flush=True)


def _row(world: str, definition: str, outcomes: tuple[Outcome, ...]) -> str:
    share = Counter(each.verdict for each in outcomes)
    count = len(outcomes)
    wrong = sum(each.verdict == "identified" and not each.covers for each in outcomes)
    widths = [each.octaves for each in outcomes if each.octaves is not None]
    biases = [each.bias for each in outcomes if each.bias is not None]
    cells = [
        world,
        definition,
        f"{sum(each.covers for each in outcomes) / count:.1%}",
        f"{share['identified'] / count:.1%}",
        f"{wrong / count:.1%}",
        *(
            f"{share[each] / count:.1%}"
            for each in ("lower_bound", "upper_bound", "not_identified")
        ),
        f"{np.median(widths):.2f}" if widths else "",
        f"{np.median(biases):+.2f}" if biases else "",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
