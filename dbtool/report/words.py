"""A scaling in words."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from dbtool.analysis.critical import fewest_reached
from dbtool.analysis.interval import ratio
from dbtool.analysis.learning_rates import FEWEST_RATES, NEARLY
from dbtool.core.errors import counted, joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from dbtool.analysis.interval import Interval
    from dbtool.analysis.learning_rates import RateLaw
    from dbtool.analysis.scaling import Scaling, Settings

PARAGRAPHS = textwrap.TextWrapper(80, initial_indent="  ", subsequent_indent="    ")
"""Wraps a statement below a heading."""
_DIGITS = 3
_THIRDS = ("first", "second", "last")
_NEGLIGIBLE = 0.005
_SURE = 0.9  # of the weights, before one curve or law is called certain


def sentences(
    scaling: Scaling,
    settings: Settings,
    noise_scale: pl.DataFrame | None = None,
    against: tuple[str | None, Scaling] | None = None,
) -> list[str]:
    """Return what a scaling says, one statement each, the most important first.

    Args:
        scaling: of a workload.
        settings: the settings of the scaling.
        noise_scale: its rows of `dbtool.analysis.noise_scale.noise_scale_rows`.
        against: the workload to compare its critical batch size with, and its scaling.
    """
    if scaling.left_out and not scaling.steps:
        return [
            f"No batch size has {counted(scaling.trials or 0, 'trial')}: ask for fewer (--trials)."
        ]
    noise = () if noise_scale is None else _noise_scale(noise_scale, scaling, settings)
    return [
        *_regimes(scaling, settings),
        *_critical(scaling, settings),
        *(_ratio(scaling, *against, settings) if against else ()),
        *_learning_rate(scaling, settings),
        *_recommended(scaling, settings),
        *_runs(scaling, settings),
        *noise,
        *_sources(scaling),
    ]


def in_short(estimate: Interval | None) -> str | None:
    """Return a batch size as a table shows it: 212 (167-269), > 608, < 30, or None for unknown."""
    if estimate is None or estimate.verdict == "not_identified":
        return None
    low, high = (_number(end).replace(",", "") for end in (estimate.low, estimate.high))
    if estimate.value is not None:
        return f"{_number(estimate.value).replace(',', '')} ({low}-{high})"
    return f"> {low}" if estimate.verdict == "lower_bound" else f"< {high}"


def left_out(scaling: Scaling) -> str:
    """Return which batch sizes have too few trials, as a clause; "" where none has."""
    few = f", with fewer than {scaling.trials} trials (--trials)"
    return f"left out are {_sizes(scaling.left_out)}{few}" if scaling.left_out else ""


def _regimes(scaling: Scaling, settings: Settings) -> Iterator[str]:
    perfect, useful, bend = scaling.perfect_to, scaling.useful_to, scaling.bend
    if perfect is None or useful is None or scaling.curve is None:
        return
    level, share = settings.percent, settings.within
    first, last = (_estimate(each, level, "an unknown batch size") for each in (perfect, useful))
    yield (
        f"Perfect scaling, within {share}, up to {first}; steps within {share} of the fewest from "
        f"{last}."
    )
    if bend is None or scaling.tradeoff is None or scaling.tradeoff.verdict != "identified":
        return
    told = f"{_number(bend.value or 1)} ({_interval(bend.low, bend.high, level)})"
    if scaling.curve.form == "hyperbola":
        if not bend.low <= 1 <= bend.high:
            yield f"This is by a hyperbola, which the steps exclude: their bend is {told}, not 1."
        return
    yield f"In between steps bend by {told}; a hyperbola's bend is 1, a sharper one is larger."


def _critical(scaling: Scaling, settings: Settings) -> Iterator[str]:
    if scaling.tradeoff is None or scaling.curve is None or scaling.start is None:
        compared = " that are compared" * bool(scaling.left_out)
        yield (
            f"The critical batch size cannot be told: of the batch sizes{compared} "
            f"{len(scaling.reached)} reached the goal, and it takes "
            f"{fewest_reached(settings.curve)}."
        )
        return
    level, takes = settings.percent, "as many times the fewest steps as the fewest examples"
    if scaling.tradeoff.value is not None:
        times = _number(scaling.curve.at_tradeoff)
        takes = f"{times} times the fewest steps and {times} times the fewest examples"
    yield (
        f"Critical batch size {_estimate(scaling.tradeoff, level)}, where a run takes {takes} "
        "(tradeoff)."
    )
    if scaling.overhead is None:
        beyond = "from where on nothing is gained"
        if scaling.start > scaling.steps[-1].batch_size:
            beyond = f"beyond the largest batch size, {_number(scaling.steps[-1].batch_size)}"
        yield f"Linear scaling cannot start from {_number(scaling.start)}, {beyond} (overhead)."
        return
    yield (
        f"Critical batch size {_estimate(scaling.overhead, level)}, where steps exceed linear "
        f"scaling from {_number(scaling.start)} by {settings.within} (overhead)."
    )


def _ratio(scaling: Scaling, name: str | None, other: Scaling, settings: Settings) -> Iterator[str]:
    found = ratio(scaling.tradeoff, other.tradeoff)
    interval = _interval(found.low, found.high, settings.percent)
    times = f"{_number(found.value)} times" if found.value else "an unknown number of times"
    yield f"Its critical batch size (tradeoff) is {times} that of {name} ({interval})."


def _learning_rate(scaling: Scaling, settings: Settings) -> Iterator[str]:
    for law, name in (
        (scaling.rate_law, "learning rate"),
        (scaling.effective_law, "learning rate / (1 - momentum)"),
    ):
        if law is None:
            continue
        at = ""
        if scaling.tradeoff is not None and scaling.tradeoff.value is not None:
            size = scaling.tradeoff.value
            at = f"; at batch size {_number(size)} that is {_number(law.at(size))}"
        yield f"The best {name} {_law(law, settings)}{at}."
        if law.weights[law.law] < _SURE:
            others = (
                f"{other} {weight:.2f}"
                for other, weight in law.weights.items()
                if other != law.law and weight >= _NEGLIGIBLE
            )
            yield f"Other laws cannot be ruled out: {', '.join(others)}."
    if scaling.rates and scaling.rate_law is None:
        inside = sum(each.low > 0 and math.isfinite(each.high) for each in scaling.rates)
        yield (
            "How the best learning rate moves cannot be told: it takes "
            f"{counted(FEWEST_RATES, 'batch size')} where all that are nearly as good as the best "
            f"lie inside the searched range, and there {'is' if inside == 1 else 'are'} "
            f"{inside or 'none'}."
        )
    open_ended = [each for each in scaling.rates if each.low == 0 or math.isinf(each.high)]
    if outer := [each.batch_size for each in open_ended if each.is_outer]:
        yield (
            f"At {_sizes(outer)} the best learning rates lie in the outer tenth of the searched "
            "range: better ones may lie beyond it."
        )
    if near := [each.batch_size for each in open_ended if not each.is_outer]:
        yield (
            f"At {_sizes(near)} learning rates nearly as good as the best (up to {NEARLY:g} times "
            "the steps) lie in the outer tenth of the searched range: how far the good ones reach "
            "is unknown."
        )


def _recommended(scaling: Scaling, settings: Settings) -> Iterator[str]:
    if settings.at is None:
        return
    steps = scaling.steps_at
    examples = steps and steps.times(settings.at)
    found = [("steps", steps), ("examples", examples)]
    found += [("learning rate", scaling.learning_rate), ("momentum", scaling.momentum)]
    told = [
        f"{name} {_number(each.value)} ({_interval(each.low, each.high, settings.percent)})"
        for name, each in found
        if each is not None and each.value is not None
    ]
    at = f"At batch size {_number(settings.at)}"
    if not told:
        yield f"{at} nothing is known: too few batch sizes reached the goal."
        return
    sizes = scaling.reached
    beyond = "" if sizes[0] <= settings.at <= sizes[-1] else ", beyond what was measured"
    yield f"{at}{beyond}: {joined(told, 'and')}."


def _runs(scaling: Scaling, settings: Settings) -> Iterator[str]:
    ends = [scaling.runs[at] for at in (0, -1)] if scaling.runs else []
    for name, run in zip(("Cheapest", "Quickest"), ends, strict=False):
        hours, level = run.hours, settings.percent
        yield (
            f"{name} run on {counted(run.devices, 'device')}: {_number(hours.value or 0)} hours "
            f"({_interval(hours.low, hours.high, level)}), "
            f"{_number(run.devices * (hours.value or 0))} device-hours, at batch size "
            f"{_estimate(run.batch_size, level)}."
        )


def law_sentence(row: Mapping[str, Any], settings: Settings) -> str:
    """Return what a row of `dbtool.report.tables.law_rows` says."""
    return (
        f"Over {counted(row['workloads'], 'workload')} the critical batch size ({row['definition']}"
        f") is {_number(row['factor'])} times {row['law']} to the power {row['exponent']:.3f} "
        f"({settings.percent}: {row['low'] or 0:.3f} to {row['high'] or 0:.3f})."
    )


def _law(law: RateLaw, settings: Settings) -> str:
    level, weight = settings.percent, f"weight {law.weights[law.law]:.2f}"
    if law.law == "power":
        interval = f"{level}: {law.low:.2f} to {law.high:.2f}"
        return f"grows as batch size to the power {law.parameter:.2f} ({interval}; {weight})"
    interval = _interval(law.low, law.high, level)
    shape = "rises in proportion and levels off, at half of its limit by"
    if law.law == "surge":
        shape = "rises as the square root and falls beyond"
    return f"{shape} about {_number(law.parameter)} ({interval}; {weight})"


def _sources(scaling: Scaling) -> Iterator[str]:
    if scaling.steps:
        first = _number(scaling.steps[0].batch_size)
        sizes = f"batch size {first}"
        if len(scaling.steps) > 1:
            last = _number(scaling.steps[-1].batch_size)
            sizes = f"{counted(len(scaling.steps), 'batch size')}, {first} to {last}"
        yield f"From {_compared(scaling)}{sizes}."
    beyond = [each.batch_size for each in scaling.steps if math.isinf(each.upper)]
    missed = [size for size in beyond if size not in scaling.ended]
    ended = "At {} steps are unknown, since the search ended first; that counts as a bound."
    unreached = (
        "At {} the goal was not reached, which tells nothing without the steps that were run: give "
        "these as lower, and an empty upper."
    )
    windowed = (
        f"At {counted(len(scaling.windowed), 'batch size')} the search was in a window around the "
        "best of the next one, in which as many trials come further than in the whole space."
    )
    told: tuple[tuple[Sequence[float], str], ...] = (
        (missed, "At {} the goal was not reached; that counts as a bound."),
        (scaling.ended, ended),
        (scaling.unreached, unreached),
        (scaling.diverged, "At {} most trials diverged, which tells nothing of steps."),
        (scaling.windowed, windowed),
        (scaling.wide, "At {} it was in the whole space: steps there count as a bound."),
        (scaling.left_out, f"{left_out(scaling).capitalize()}."),
        (scaling.wanted, "Studies at batch sizes {} would tell more."),
    )
    yield from (words.format(_sizes(sizes)) for sizes, words in told if sizes)


def _compared(scaling: Scaling) -> str:
    """Return what steps are of, such as `the best of 24 trials, diverged ones counted, at `."""
    if scaling.replicates is None:
        best = f"the best of {counted(scaling.trials or 0, 'trial')}, diverged ones counted, at "
        return best if scaling.trials else ""
    least, most = scaling.replicates
    if most == 1:
        return "one run each at "
    median = f"the median of {least if least == most else f'{least} to {most}'} replicates"
    if (scaling.trials or 1) == 1:
        return f"{median} at "
    return f"the best of {scaling.trials} settings, each by {median}, at "


def _noise_scale(rows: pl.DataFrame, scaling: Scaling, settings: Settings) -> Iterator[str]:
    """Yield the noise scale at the batch size nearest to the critical one."""
    level = settings.percent
    critical = scaling.tradeoff.value if scaling.tradeoff else None
    sizes = rows["batch_size"].unique().to_list()
    nearest = min(sizes, key=lambda size: abs(math.log(size / (critical or 1))), default=0)
    for row in rows.filter(batch_size=nearest).iter_rows(named=True):
        value = "not identified"
        if row["noise_scale"] is not None:
            value = f"{_number(row['noise_scale'])} ({_between(row, '', level)})"
        ratio = ""
        if row["ratio"] is not None:
            between = _between(row, "ratio_", level)
            ratio = f", {_number(row['ratio'])} times the critical batch size ({between})"
        yield (
            f"Gradient noise scale in the {_THIRDS[row['phase'] - 1]} third of the way to the "
            f"goal, at batch size {_number(nearest)}: {value}{ratio}."
        )


def _between(row: Mapping[str, Any], name: str, level: str) -> str:
    return _interval(row[f"{name}low"] or 0.0, row[f"{name}high"] or math.inf, level)


def _estimate(estimate: Interval, level: str, unknown: str = "not identified") -> str:
    if estimate.value is not None:
        return f"{_number(estimate.value)} ({_interval(estimate.low, estimate.high, level)})"
    if estimate.verdict == "lower_bound":
        return f"at least {_number(estimate.low)} ({level})"
    if estimate.verdict == "upper_bound":
        return f"at most {_number(estimate.high)} ({level})"
    return unknown


def _interval(low: float, high: float, level: str) -> str:
    if low > 0 and math.isfinite(high):
        return f"{level}: {_number(low)} to {_number(high)}"
    if low > 0:
        return f"{level}: at least {_number(low)}"
    return f"{level}: at most {_number(high)}" if math.isfinite(high) else "no bounds"


def _sizes(sizes: Sequence[float]) -> str:
    return ", ".join(map(_number, sizes))


def _number(value: float) -> str:
    """Return a number with three digits, without decimals from a hundred on."""
    if 10 ** (_DIGITS - 1) <= value < math.inf:
        return f"{float(f'{value:.{_DIGITS}g}') if value != round(value) else value:,.0f}"
    return f"{value:.{_DIGITS}g}"
