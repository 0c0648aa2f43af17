"""How far larger batches help on a workload: all answers from the trials of its studies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dbtool.analysis.costs import BestRun, StepTime, runs
from dbtool.analysis.critical import FORMS, FittedCurve, StepsAt, fit_curve
from dbtool.analysis.interval import NOTHING_KNOWN, Interval
from dbtool.analysis.kinds import Form
from dbtool.analysis.learning_rates import BestRate, Rate, RateLaw, best_rate, fit_laws
from dbtool.analysis.searches import Search, equal_trials
from dbtool.core.checks import require_number, require_whole
from dbtool.core.errors import unknown


@dataclass(frozen=True)
class Settings:
    """Levels and definitions of a scaling.

    Attributes:
        level: of all intervals, from 0.5 to 0.999.
        overhead: the share by which steps exceed linear scaling at the critical batch size called
            overhead, and examples or steps the fewest at the ends of the regimes, from 0.001 to
            100.
        start: the batch size that linear scaling starts from, above 0; None: the smallest that
            reached the goal.
        trials: the number at which searches are compared, 1 or more; None: see `equal_trials`.
        curve: `bent` for curves of any bend, `hyperbola` for those of bend 1 alone.
        sustained: the number of evaluations in a row that have to be past the goal, 1 or more.
        seconds: of a step on one device, which tell runs by time and cost; None for no runs.
        devices: the most for a run, 1 or more.
        at: a batch size to tell steps and metaparameters of; None for none.

    Raises:
        UsageError: a number is out of range, or there is no such curve.
    """

    level: float = 0.95
    overhead: float = 0.2
    start: float | None = None
    trials: int | None = None
    curve: Form = "bent"
    sustained: int = 1
    seconds: StepTime | None = None
    devices: int = 1
    at: float | None = None

    @property
    def percent(self) -> str:
        """Return the level in words, such as 95%."""
        return f"{100 * self.level:g}%"

    @property
    def within(self) -> str:
        """Return the share in words, such as 20%."""
        return f"{100 * self.overhead:g}%"

    def __post_init__(self) -> None:
        """Raise for numbers that are out of range."""
        require_number("level", self.level, 0.5, 0.999)
        require_number("overhead", self.overhead, 0.001, 100)
        if self.start is not None:
            require_number("start (--from)", self.start, 1e-9, 1e15)
        if self.trials is not None:
            require_whole("trials", self.trials)
        require_whole("sustained", self.sustained)
        require_whole("devices", self.devices)
        if self.at is not None:
            require_number("at", self.at, 1e-9, 1e15)
        if self.curve not in FORMS:
            raise unknown("curve", self.curve, FORMS, "dbtool scaling --help")


@dataclass(frozen=True)
class Scaling:
    """How far larger batches help on a workload.

    Attributes:
        steps: what is known of the steps to result, by ascending batch size.
        start: the batch size that linear scaling starts from.
        trials: the number of trials at which searches were compared; None where the steps came
            without trials.
        replicates: the least and the largest number of replicates of a setting; None where there
            are none.
        left_out: batch sizes that had fewer trials.
        diverged: batch sizes at which half of all searches with that many trials diverge
            throughout.
        unreached: batch sizes that missed the goal, after a number of steps that is not known.
        ended: batch sizes at which the search ended before it could reach the goal.
        windowed: batch sizes that were searched only near the best of another one.
        wide: batch sizes that were searched in the whole space, where some were windowed: with as
            many trials they come less far, so their steps are only an upper bound.
        curve: fitted to the steps; None where too few batch sizes reached the goal.
        tradeoff: the critical batch size by that definition; None likewise.
        overhead: the critical batch size by that definition; None likewise, and where linear
            scaling starts beyond the largest batch size, or where nothing is gained any more.
        speedup: the critical batch size by that definition; None where there is no curve.
        perfect_to: the end of perfect scaling; None likewise.
        useful_to: the batch size from which nothing is gained; None likewise.
        bend: of the curve; where that is a hyperbola, of the curve that may have any.
        rates: the best learning rates of studies that searched them, by ascending batch size.
        rate_law: how they move; None where too few batch sizes bound them.
        effective_law: how learning rate / (1 - momentum) moves; None also where there is no
            momentum.
        steps_at: the steps at the batch size of `Settings.at`; None where there is none.
        learning_rate: for the batch size of `Settings.at`; None where there is none, or no
            law.
        momentum: likewise.
        runs: the best run on each number of devices, from the cheapest to the quickest.
    """

    steps: Sequence[StepsAt]
    start: float | None
    trials: int | None = None
    replicates: tuple[int, int] | None = None
    left_out: Sequence[int] = ()
    diverged: Sequence[int] = ()
    unreached: Sequence[float] = ()
    ended: Sequence[int] = ()
    windowed: Sequence[int] = ()
    wide: Sequence[int] = ()
    curve: FittedCurve | None = None
    tradeoff: Interval | None = None
    overhead: Interval | None = None
    speedup: Interval | None = None
    perfect_to: Interval | None = None
    useful_to: Interval | None = None
    bend: Interval | None = None
    rates: Sequence[BestRate] = ()
    rate_law: RateLaw | None = None
    effective_law: RateLaw | None = None
    steps_at: Interval | None = None
    learning_rate: Interval | None = None
    momentum: Interval | None = None
    runs: Sequence[BestRun] = ()

    @property
    def reached(self) -> list[float]:
        """List the batch sizes that reached the goal by training, in ascending order."""
        return [each.batch_size for each in self.steps if 0 < each.upper < math.inf]

    @property
    def wanted(self) -> list[int]:
        """List the batch sizes, ascending, that would help to identify the critical batch size.

        They are doublings, not measured yet, beyond the open end of the batch sizes that reached
        the goal, or beyond both ends.
        """
        verdict = (self.tradeoff or NOTHING_KNOWN).verdict
        if not self.reached or verdict == "identified":
            return []
        least, most = round(self.reached[0]), round(self.reached[-1])
        smaller = [least // factor for factor in (8, 4, 2) if least >= factor]
        larger = [most * factor for factor in (2, 4, 8)]
        sizes = smaller * (verdict != "lower_bound") + larger * (verdict != "upper_bound")
        measured = {each.batch_size for each in self.steps}
        known = measured.union(self.left_out, self.diverged, self.unreached)
        return [size for size in sizes if size not in known]


def scaling_of_searches(given: Sequence[Search], settings: Settings) -> Scaling:
    """Return the scaling of a workload from the trials of its studies.

    Args:
        given: a search for each batch size, ascending, at least one.
        settings: levels and definitions.
    """
    enough, _ = equal_trials(given, settings.trials)
    rates = _best_rates(enough, "learning_rate")
    has_momentum = any(np.isfinite(search.momentum).any() for search in enough)
    effective = _best_rates(enough, "effective_learning_rate") if has_momentum else []
    rate_law, damping_law = (
        fit_laws(each, level=settings.level)
        for each in (rates, _best_rates(enough, "damping") if has_momentum else [])
    )
    size = settings.at
    damping = damping_law.between(size) if size and damping_law else None
    return replace(
        scaling_without_rates(given, settings),
        rates=rates,
        rate_law=rate_law,
        effective_law=fit_laws(effective, level=settings.level),
        learning_rate=rate_law.between(size) if size and rate_law else None,
        momentum=damping and damping.taken_from_1(),
    )


def scaling_without_rates(given: Sequence[Search], settings: Settings) -> Scaling:
    """Return the scaling of a workload from the steps of its studies, without learning rates.

    Args:
        given: a search for each batch size, ascending, at least one.
        settings: levels and definitions.
    """
    enough, k = equal_trials(given, settings.trials)
    windowed = [search.batch_size for search in enough if search.windowed]
    wide = [search.batch_size for search in enough if windowed and not search.windowed]
    at = [search.best_of(k) for search in enough]
    # Where this many trials diverge, nothing is known of how many steps the others would take.
    known = [
        replace(each, lower=0.0) if each.batch_size in wide else each
        for each in at
        if math.isfinite(each.lower)
    ]
    counts = [setting.trials for search in enough for setting in search.settings]
    if counts and not all(search.settings for search in enough):
        counts.append(1)
    return replace(
        scaling_of_steps(known, settings),
        trials=k,
        replicates=(min(counts), max(counts)) if counts else None,
        left_out=[search.batch_size for search in given if search.trials < k],
        diverged=[int(each.batch_size) for each in at if math.isinf(each.lower)],
        ended=[
            search.batch_size
            for each, search in zip(at, enough, strict=True)
            if search.ended and math.isfinite(each.lower) and math.isinf(each.upper)
        ],
        windowed=windowed,
        wide=wide,
    )


def scaling_of_steps(steps: Sequence[StepsAt], settings: Settings) -> Scaling:
    """Return the scaling of a workload from its steps to result alone.

    Args:
        steps: of batch sizes in any order.
        settings: levels and definitions.
    """
    steps = sorted(steps, key=lambda each: each.batch_size)
    share, level = settings.overhead, settings.level
    curve = fit_curve(steps, level=level, form=settings.curve) if steps else None
    if curve is None:
        return Scaling(steps, settings.start)
    bent = curve if settings.curve == "bent" else fit_curve(steps, level=level)
    start = settings.start or curve.reached[0]
    # Beyond the largest batch size the curve is a guess.
    is_beyond = start > steps[-1].batch_size
    return Scaling(
        steps,
        start,
        curve=curve,
        tradeoff=curve.tradeoff,
        overhead=None if is_beyond else curve.overhead(share, start),
        speedup=curve.speedup(share),
        perfect_to=curve.perfect_to(share),
        useful_to=curve.useful_to(share),
        bend=bent.bend if bent else None,
        steps_at=curve.between(settings.at) if settings.at else None,
        runs=runs(curve, settings.seconds, settings.devices) if settings.seconds else (),
    )


def _best_rates(given: Sequence[Search], rate: Rate) -> list[BestRate]:
    found = (best_rate(search, rate) for search in given)
    return [each for each in found if each is not None]
