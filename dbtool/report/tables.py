"""The rows of a report on scaling, one function a kind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, get_args

import polars as pl

from dbtool.analysis.interval import NOTHING_KNOWN, finite, ratio
from dbtool.analysis.kinds import Kind
from dbtool.analysis.law import power_law

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dbtool.analysis.answers import Answer
    from dbtool.analysis.critical import Estimate
    from dbtool.analysis.scaling import Settings

KINDS: tuple[Kind, ...] = get_args(Kind)
OF_ANY_STEPS = ("critical", "regimes", "steps", "costs", "recommended")
"""The kinds that follow from steps alone, without trials."""
DEFINITIONS = ("tradeoff", "overhead", "speedup")
_BEND = ("bend", "bend_low", "bend_high")
_WORKLOAD = ("release", "workload", "metric", "goal")
_TEXTS = ("release", "workload", "metric", "against", "definition", "verdict", "law")
_COUNTS = ("trials", "batch_sizes", "reached", "devices", "workloads")


def _critical(answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    made = []
    for answer in answers:
        scaling = answer.scaling
        for definition in DEFINITIONS:
            law, estimate = scaling.rate_law, getattr(scaling, definition)
            value = estimate.value if estimate else None
            made.append(
                {
                    **_named(answer),
                    "definition": definition,
                    **(estimate or NOTHING_KNOWN).columns("critical_batch_size", "low", "high"),
                    "verdict": estimate.verdict if estimate else "not_identified",
                    "learning_rate": law.at(value) if law and value else None,
                    "fewest_steps": scaling.curve.steps if scaling.curve else None,
                    "trials": scaling.trials,
                    "batch_sizes": len(scaling.steps),
                    "reached": len(scaling.reached),
                    "level": settings.level,
                }
            )
    estimate_of = ("definition", "critical_batch_size", "low", "high", "verdict")
    rest = ("learning_rate", "fewest_steps", "trials", "batch_sizes", "reached", "level")
    return _frame(made, *estimate_of, *rest)


def _regimes(answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    made = [
        {
            **_named(answer),
            **(answer.scaling.bend or NOTHING_KNOWN).columns(*_BEND),
            **_ends("perfect_to", answer.scaling.perfect_to),
            **_ends("useful_to", answer.scaling.useful_to),
            "share": settings.overhead,
            "level": settings.level,
        }
        for answer in answers
    ]
    ends = (*_ends("perfect_to", None), *_ends("useful_to", None))
    return _frame(made, *_BEND, *ends, "share", "level")


def _steps(answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    made = []
    for answer in answers:
        scaling = answer.scaling
        of_size = {search.batch_size: search for search in answer.searches}
        for at in scaling.steps:
            low, high = 0.0, math.inf
            if scaling.trials is not None:
                search = of_size[int(at.batch_size)]
                low, high = search.median_between(scaling.trials, settings.level)
            made.append(
                {
                    **_named(answer),
                    "batch_size": at.batch_size,
                    "trials": scaling.trials,
                    "after": at.lower,
                    "steps": finite(at.upper),
                    "low": low or None,
                    "high": finite(high),
                    "fitted": scaling.curve.at(at.batch_size) if scaling.curve else None,
                    "level": settings.level,
                }
            )
    return _frame(made, "batch_size", "trials", "after", "steps", "low", "high", "fitted", "level")


def ratio_rows(pairs: Iterable[tuple[Answer, Answer | None]], settings: Settings) -> pl.DataFrame:
    """Return a row for each pair and definition: a critical batch size over the other's."""
    made = [
        {
            **_named(answer),
            "against": other.workload,
            "definition": definition,
            **ratio(
                getattr(answer.scaling, definition), getattr(other.scaling, definition)
            ).columns("ratio", "low", "high"),
            "level": settings.level,
        }
        for answer, other in pairs
        if other is not None
        for definition in DEFINITIONS
    ]
    return _frame(made, "against", "definition", "ratio", "low", "high", "level")


def learning_rate_rows(answers: Iterable[Answer]) -> pl.DataFrame:
    """Return a row for each study, with its best learning rate and the law fitted to them."""
    made = [
        {
            **_named(answer),
            "batch_size": rate.batch_size,
            "best": rate.best,
            "low": rate.low or None,
            "high": finite(rate.high),
            "trials": rate.trials,
            "law": law.law if law else None,
            "fitted": law.near(rate) if law else None,
        }
        for answer in answers
        for law in (answer.scaling.rate_law,)
        for rate in answer.scaling.rates
    ]
    return _frame(made, "batch_size", "best", "low", "high", "trials", "law", "fitted")


def _costs(answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    made = [
        {
            **_named(answer),
            "devices": run.devices,
            **run.batch_size.columns("batch_size", "low", "high"),
            "verdict": run.batch_size.verdict,
            "steps": run.steps,
            **run.hours.columns("hours", "hours_low", "hours_high"),
            "device_hours": run.devices * (run.hours.value or math.nan),
            "level": settings.level,
        }
        for answer in answers
        for run in answer.scaling.runs
    ]
    size = ("devices", "batch_size", "low", "high", "verdict", "steps")
    return _frame(made, *size, "hours", "hours_low", "hours_high", "device_hours", "level")


def _recommended(answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    names = ("steps", "learning_rate", "momentum")
    made = []
    for answer in answers:
        of = answer.scaling
        row = {**_named(answer), "batch_size": settings.at, "level": settings.level}
        for name, found in zip(names, (of.steps_at, of.learning_rate, of.momentum), strict=True):
            row |= (found or NOTHING_KNOWN).columns(name, f"{name}_low", f"{name}_high")
        made.append(row)
    ends = (column for name in names for column in (name, f"{name}_low", f"{name}_high"))
    return _frame(made, "batch_size", *ends, "level")


def law_rows(
    answers: Sequence[Answer], column: str, values: Mapping[str, float], settings: Settings
) -> pl.DataFrame:
    """Return a row for each definition with its power law in a column, where there is one."""
    made = []
    for definition in DEFINITIONS:
        found = [(answer, getattr(answer.scaling, definition)) for answer in answers]
        points = [
            (values[answer.workload or ""], estimate)
            for answer, estimate in found
            if estimate and estimate.verdict == "identified" and (answer.workload or "") in values
        ]
        law = power_law(points, level=settings.level)
        if law:
            made.append(
                {
                    "definition": definition,
                    "law": column,
                    **law.exponent.columns("exponent", "low", "high"),
                    "factor": law.factor,
                    "workloads": law.points,
                    "level": settings.level,
                }
            )
    columns = ("definition", "law", "exponent", "low", "high", "factor", "workloads", "level")
    return _frame(made, *columns).drop(_WORKLOAD)


OF_ANSWERS: Mapping[str, Callable[[Iterable[Answer], Settings], pl.DataFrame]] = {
    "critical": _critical,
    "regimes": _regimes,
    "steps": _steps,
    "costs": _costs,
    "recommended": _recommended,
}
"""By kind, what makes rows of answers and the settings alone."""


def _frame(made: Sequence[Mapping[str, object]], *columns: str) -> pl.DataFrame:
    """Return rows with the columns of a workload and these; all but texts and counts are floats."""
    types = dict.fromkeys(_TEXTS, pl.String) | dict.fromkeys(_COUNTS, pl.Int64)
    names = (*_WORKLOAD, *columns)
    return pl.DataFrame(made, schema={name: types.get(name, pl.Float64) for name in names})


def with_whole_sizes(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with batch sizes as studies have them, so that the two can be joined."""
    return rows.with_columns(pl.col("^batch_size$").cast(pl.Int64))


def _named(answer: Answer) -> dict[str, object]:
    return {name: getattr(answer, name) for name in _WORKLOAD}


def _ends(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    return (estimate or NOTHING_KNOWN).columns(name, f"{name}_low", f"{name}_high")
