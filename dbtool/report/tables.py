"""The rows of a report on scaling, one function a kind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias, get_args

import polars as pl

from dbtool.analysis.interval import NOTHING_KNOWN, finite, ratio
from dbtool.analysis.kinds import Kind, typed_rows
from dbtool.analysis.law import power_law
from dbtool.core.errors import counted, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import duckdb

    from dbtool.analysis.answers import Answer
    from dbtool.analysis.interval import Interval
    from dbtool.analysis.scaling import Settings
    from dbtool.analysis.searches import Search

Row: TypeAlias = "Mapping[str, object]"

KINDS: tuple[Kind, ...] = get_args(Kind)
OF_ANY_STEPS = ("critical", "regimes", "steps", "costs", "recommended", "law")
"""The kinds that follow from steps alone, without trials."""
DEFINITIONS = ("tradeoff", "overhead", "speedup")
_WORKLOAD = ("release", "workload", "metric", "goal")
# By kind, what follows the columns of the workload.
_COLUMNS: Mapping[str, str] = {
    "critical": "definition critical_batch_size low high verdict learning_rate fewest_steps trials "
    "batch_sizes reached level",
    "regimes": "bend bend_low bend_high perfect_to perfect_to_low perfect_to_high useful_to "
    "useful_to_low useful_to_high share level",
    "steps": "batch_size trials after steps low high fitted level",
    "ratios": "against definition ratio low high level",
    "learning_rates": "batch_size best low high trials law fitted",
    "costs": "devices batch_size low high verdict steps hours hours_low hours_high device_hours "
    "level",
    "recommended": "batch_size steps steps_low steps_high learning_rate learning_rate_low "
    "learning_rate_high momentum momentum_low momentum_high level",
    "law": "definition law exponent low high factor workloads level",
}


NEEDS: Mapping[str, str] = {
    "steps": "no study has so many trials, or most diverged; ask for fewer with --trials",
    "ratios": "a workload is not compared with itself; name another with --against",
    "learning_rates": "no study with enough trials, of several learning rates, reached the goal",
    "noise_scale": "no trial that reached the goal was trained with `dbtool produce --measure "
    "gradient_noise_scale`",
    "branches": "no trial was trained with `dbtool produce --branch-at`",
    "comparison": "no two workloads of a release differ in the optimizer alone; a pair has the "
    "same collection, dataset, model, metric and goal, and runs of two releases come into one by "
    "`dbtool publish PATH --out DIR --release NAME` of each and `dbtool ingest` of both",
    "profiles": "at no batch size has every optimizer enough trials on one dataset and model of a "
    "release; name workloads of fewer optimizers, or ask for fewer trials with --trials",
    "costs": "they follow from a curve, which takes four batch sizes that reached the goal",
    "law": "it takes three workloads with values of it, not all equal, and a critical batch size "
    "that is identified",
}
"""By kind that may have no rows, what these would need."""


_OPEN = {
    "misses": "too many trials ended before the goal",
    "evaluations": "evaluations are too far apart",
}


def rows_of_answers(kind: str, answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    """Return the rows of one of the kinds OF_ANSWERS, those of each answer in turn."""
    made = [
        {**_named(answer), **row, "level": settings.level}
        for answer in answers
        for row in OF_ANSWERS[kind](answer, settings)
    ]
    return _frame(kind, made)


def _critical(answer: Answer, _settings: Settings) -> Iterator[Row]:
    scaling, law = answer.scaling, answer.scaling.rate_law
    for definition in DEFINITIONS:
        estimate = getattr(scaling, definition) or NOTHING_KNOWN
        value = estimate.value
        yield {
            "definition": definition,
            **estimate.columns("critical_batch_size", "low", "high"),
            "verdict": estimate.verdict,
            "learning_rate": law.at(value) if law and value else None,
            "fewest_steps": scaling.curve.fewest_steps if scaling.curve else None,
            "trials": scaling.trials,
            "batch_sizes": len(scaling.steps),
            "reached": len(scaling.reached),
        }


def _regimes(answer: Answer, settings: Settings) -> Iterator[Row]:
    scaling = answer.scaling
    yield {
        **_with_ends("bend", scaling.bend),
        **_with_ends("perfect_to", scaling.perfect_to),
        **_with_ends("useful_to", scaling.useful_to),
        "share": settings.overhead,
    }


def _steps(answer: Answer, settings: Settings) -> Iterator[Row]:
    scaling = answer.scaling
    of_size = {search.batch_size: search for search in answer.searches}
    for at in scaling.steps:
        low, high = 0.0, math.inf
        if scaling.trials is not None:
            search = of_size[int(at.batch_size)]
            low, high = search.median_between(scaling.trials, settings.level)
        yield {
            "batch_size": at.batch_size,
            "trials": scaling.trials,
            "after": at.lower,
            "steps": finite(at.upper),
            "low": low or None,
            "high": finite(high),
            "fitted": scaling.curve.at(at.batch_size) if scaling.curve else None,
        }


def _learning_rates(answer: Answer, _settings: Settings) -> Iterator[Row]:
    law = answer.scaling.rate_law
    for rate in answer.scaling.rates:
        yield {
            "batch_size": rate.batch_size,
            "best": rate.best,
            "low": rate.low or None,
            "high": finite(rate.high),
            "trials": rate.trials,
            "law": law.law if law else None,
            "fitted": law.near(rate) if law else None,
        }


def _costs(answer: Answer, _settings: Settings) -> Iterator[Row]:
    for run in answer.scaling.runs:
        yield {
            "devices": run.devices,
            **run.batch_size.columns("batch_size", "low", "high"),
            "verdict": run.batch_size.verdict,
            "steps": run.steps,
            **_with_ends("hours", run.hours),
            "device_hours": run.devices * (run.hours.value or math.nan),
        }


def _recommended(answer: Answer, settings: Settings) -> Iterator[Row]:
    scaling = answer.scaling
    yield {
        "batch_size": settings.at,
        **_with_ends("steps", scaling.steps_at),
        **_with_ends("learning_rate", scaling.learning_rate),
        **_with_ends("momentum", scaling.momentum),
    }


OF_ANSWERS: Mapping[str, Callable[[Answer, Settings], Iterator[Row]]] = {
    "critical": _critical,
    "regimes": _regimes,
    "steps": _steps,
    "learning_rates": _learning_rates,
    "costs": _costs,
    "recommended": _recommended,
}
"""By kind, what makes rows of an answer and the settings alone."""


def register_rows(cursor: duckdb.DuckDBPyConnection, kind: str) -> None:
    """Register `scaling_KIND`, which lists the rows of a kind without those of fits."""
    from dbtool.analysis.answers import Answer, register_analysis
    from dbtool.analysis.scaling import scaling_of_searches

    names = [name for name in _COLUMNS[kind].split() if name not in {"law", "fitted", "level"}]
    types = {"batch_size": "BIGINT", "trials": "BIGINT"}
    fields = (f"{name} {types.get(name, 'DOUBLE')}" for name in names)

    def rows(given: Sequence[Search], settings: Settings) -> list[Row]:
        answer = Answer(None, None, None, None, scaling_of_searches(given, settings), given)
        return [{name: row[name] for name in names} for row in OF_ANSWERS[kind](answer, settings)]

    register_analysis(cursor, f"scaling_{kind}", rows, f"STRUCT({', '.join(fields)})[]")


def ratio_rows(pairs: Iterable[tuple[Answer, Answer | None]], settings: Settings) -> pl.DataFrame:
    """Return a row for each pair and definition: a critical batch size over the other's."""
    made = [
        {
            **_named(answer),
            "against": other.name_beside(answer),
            "definition": definition,
            **found.columns("ratio", "low", "high"),
            "level": settings.level,
        }
        for answer, other in pairs
        if other is not None
        for definition in DEFINITIONS
        for found in (
            ratio(getattr(answer.scaling, definition), getattr(other.scaling, definition)),
        )
    ]
    return _frame("ratios", made)


def law_rows(
    answers: Sequence[Answer], column: str, values: Mapping[str, float], settings: Settings
) -> pl.DataFrame:
    """Return a row for each definition with its power law in a column, where there is one."""
    made = []
    for definition in DEFINITIONS:
        found = [(answer.workload or "", getattr(answer.scaling, definition)) for answer in answers]
        points = [
            (values[workload], estimate)
            for workload, estimate in found
            if estimate and estimate.verdict == "identified" and workload in values
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
    return _frame("law", made).drop(_WORKLOAD)


def lack_of_rows(kind: Kind, rows: pl.DataFrame) -> str | None:
    """Return a sentence on what rows of a kind lack; None where that is nothing."""
    if rows.is_empty():
        return f"{kind} has no rows: {NEEDS[kind]}"
    empty = rows["win"].null_count() if kind == "comparison" else 0
    if not empty:
        return None
    empty_rows = rows.filter(pl.col("win").is_null())
    reasons = []
    if empty_rows["missing"].is_not_null().any():
        reasons.append("`missing` names optimizers with fewer than k trials (--trials sets k)")
    is_open = [reason for why, reason in _OPEN.items() if why in empty_rows["open"]]
    see = ", see win_certain and win_possible" if is_open else ""
    return (
        f"{empty:,} of {counted(rows.height, 'row')} have no probability: "
        f"{joined([*reasons, *is_open], 'or')}{see}"
    )


def _frame(kind: str, made: Sequence[Row]) -> pl.DataFrame:
    """Return rows of a kind after the columns of a workload; batch sizes need not be whole."""
    return typed_rows(made, (*_WORKLOAD, *_COLUMNS[kind].split()), batch_size=pl.Float64)


def _named(answer: Answer) -> Row:
    return {name: getattr(answer, name) for name in _WORKLOAD}


def _with_ends(name: str, found: Interval | None) -> Row:
    return (found or NOTHING_KNOWN).columns(name, f"{name}_low", f"{name}_high")
