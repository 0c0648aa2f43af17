"""Scalings of the workloads of a database, of a table of steps, or of a query's rows."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import polars as pl

from dbtool.analysis.critical import StepsAt
from dbtool.analysis.interval import NOTHING_KNOWN
from dbtool.analysis.scaling import (
    Scaling,
    Settings,
    scaling_of_searches,
    scaling_of_steps,
    scaling_without_rates,
)
from dbtool.analysis.searches import Search, median_errors, middle, searches, spread
from dbtool.core.errors import UsageError
from dbtool.store.questions import name_in
from dbtool.store.tables import TABLE_FILE, positive, text_table
from dbtool.store.texts import LINE

_NAMES = "batch_size, steps and, if there are several, workload"
_INFINITE = r"(?i)^\s*\+?inf(inity)?\s*$"
_TRIAL = {
    **dict.fromkeys(("batch_size", "trial_id", "after", "steps", "setting"), ("BIGINT", pl.Int64)),
    **dict.fromkeys(("learning_rate", "momentum"), ("DOUBLE", pl.Float64)),
    **dict.fromkeys(("status", "search_space", "search"), ("VARCHAR", pl.String)),
    "stopped": ("BOOLEAN", pl.Boolean),
}
_SCALING = (
    "STRUCT(critical DOUBLE, low DOUBLE, high DOUBLE, verdict VARCHAR, bend DOUBLE, "
    "fewest_steps DOUBLE, fewest_examples DOUBLE, fewest_examples_low DOUBLE, "
    "fewest_examples_high DOUBLE, trials BIGINT, studies STRUCT(batch_size DOUBLE, steps DOUBLE)[])"
)


@dataclass(frozen=True)
class Answer:
    """The scaling of one workload.

    Attributes:
        release: the release of the trials; None for a table of steps.
        workload: its name; None for a table without names.
        metric: the column that has to pass the goal; None for a table.
        goal: the value to get past; None for a table.
        scaling: how far larger batches help.
        searches: one for each batch size, in ascending order; empty for a table.
    """

    release: str | None
    workload: str | None
    metric: str | None
    goal: float | None
    scaling: Scaling
    searches: Sequence[Search] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What no two answers of one report have in common."""
        return self.release, self.workload, self.metric, self.goal

    def name_beside(self, other: "Answer") -> str | None:
        """Return the workload, with its release where another answer's is not the same."""
        same = self.release == other.release
        return self.workload if same else name_in(self.release, self.workload)


def answers_of_trials(trials: pl.DataFrame, settings: Settings) -> list[Answer]:
    """Return how far larger batches help on the workloads of some trials, a goal each, in order.

    Args:
        trials: rows of `Database.crossings`.
        settings: levels and definitions of the analysis.
    """
    found: dict[object, list[Answer]] = {}
    for key, rows in trials.group_by("release", "workload", "metric", "goal", maintain_order=True):
        release, workload, metric, goal = key
        given = searches(rows)
        scaling = scaling_of_searches(given, settings)
        answer = Answer(str(release), str(workload), str(metric), float(goal), scaling, given)
        found.setdefault((release, workload), []).append(answer)
    return [answer for of_workload in found.values() for answer in of_workload]


def answers_of_table(
    table: str | os.PathLike[str] | pl.DataFrame, settings: Settings
) -> list[Answer]:
    """Return how far larger batches help by a table of steps, one answer for each workload.

    Args:
        table: a CSV file or a frame, with the columns batch_size, steps and, if there are several,
            workload. Empty or infinite steps mean that the goal was missed; nothing more is known.
            Rows of the same batch size are replicates, of which the median counts; or a row has it
            with n and sd, the number and the standard deviation of replicates; or lower and upper,
            between which the steps lie.
        settings: levels and definitions of the analysis.

    Raises:
        UsageError: the table cannot be read, a column is missing or a value is not a number above
            0.
    """
    rows = text_table(table, ("batch_size",), _NAMES)
    bounded, summed = (each.issubset(rows.columns) for each in ({"lower", "upper"}, {"n", "sd"}))
    if not bounded:
        text_table(table, ("steps",), _NAMES)
    rows = rows.with_columns(pl.col("^(steps|upper)$").str.replace(_INFINITE, ""))
    if "workload" not in rows.columns:
        rows = rows.with_columns(workload=pl.lit(None, pl.String))
    chosen = ["lower", "upper"] if bounded else ["steps", *(("n", "sd") if summed else ())]
    numbers = rows.select(
        "workload",
        positive(rows, "batch_size"),
        *(
            positive(rows, name, may_be_empty=name not in {"n", "sd"}, may_be_0=name == "sd")
            for name in chosen
        ),
    )
    twice = numbers.select("workload", "batch_size").is_duplicated().arg_true()
    if (bounded or summed) and len(twice):
        raise UsageError(
            f"{rows[TABLE_FILE][0]}, line {rows[LINE][twice[1]]}: batch_size "
            f"{numbers['batch_size'][twice[1]]:g} is there twice; rows with n and sd, or lower and "
            "upper, are one a batch size"
        )
    if bounded and len(wrong := (numbers["lower"] > numbers["upper"]).arg_true()):
        raise UsageError(
            f"{rows[TABLE_FILE][0]}, line {rows[LINE][wrong[0]]}: lower is above upper; lower are "
            "steps that were not enough, and upper steps that were"
        )
    return [
        Answer(None, rows["workload"][0], None, None, _scaling(rows, settings))
        for _, rows in numbers.group_by("workload", maintain_order=True)
    ]


def _scaling(rows: pl.DataFrame, settings: Settings) -> Scaling:
    """Return the scaling of a workload's rows: between two numbers, or of medians of replicates."""
    if "lower" in rows.columns:
        low, high = pl.col("lower").fill_null(0), pl.col("upper").fill_null(math.inf)
        bounds = rows.select("batch_size", low, high).rows()
        return scaling_of_steps([StepsAt(*each) for each in bounds], settings)
    if "n" in rows.columns:
        share = pl.col("sd") / pl.col("steps")
        medians = rows.drop_nulls("steps").select("batch_size", "steps", "n", share).rows()
    else:
        of_sizes = rows.group_by("batch_size", maintain_order=True).agg(
            pl.col("steps").fill_null(math.inf)
        )
        steps = [(size, np.array(each)) for size, each in of_sizes.iter_rows()]
        medians = [(size, middle(each), *spread(each)) for size, each in steps]
    unreached = sorted({*rows["batch_size"]} - {each[0] for each in medians if each[1] < math.inf})
    medians = [each for each in medians if each[1] < math.inf]
    counts, deviations = [each[2] for each in medians], [each[3] for each in medians]
    errors = median_errors(counts, deviations).tolist()
    known = [
        StepsAt(size, each, each, error)
        for (size, each, *_), error in zip(medians, errors, strict=True)
    ]
    found = scaling_of_steps(known, settings)
    replicates = (int(min(counts)), int(max(counts))) if max(counts, default=1) > 1 else None
    return replace(found, replicates=replicates, unreached=unreached)


def register_analysis(
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    analysis: Callable[[Sequence[Search], Settings], object],
    returned: str,
) -> None:
    """Register NAME(trials, count) of `listed_trials` and k (0: see `equal_trials`)."""
    fields = ", ".join(f"{name} {kind}" for name, (kind, _) in _TRIAL.items())

    def analysed(trials: Sequence[dict[str, Any]], count: int) -> object:
        rows = pl.DataFrame(trials, {name: kind for name, (_, kind) in _TRIAL.items()})
        return analysis(searches(rows), Settings(trials=count or None))

    # DuckDB evaluates annotations.
    call = lambda trials, count: analysed(trials, count)  # noqa: E731, PLW0108
    cursor.create_function(name, call, [f"STRUCT({fields})[]", "BIGINT"], returned)


def register_scaling(cursor: duckdb.DuckDBPyConnection) -> None:
    """Register `scaling_of_trials`; see `register_analysis`.

    The result has the critical batch size (tradeoff) with its 95 % interval and verdict, the bend,
    the fewest steps and, with their interval, the fewest examples of the fitted curve (NULL where
    too few batch sizes reached the goal), and the steps to result of each batch size that did.
    """
    register_analysis(cursor, "scaling_of_trials", _scaling_of_trials, _SCALING)


def _scaling_of_trials(given: Sequence[Search], settings: Settings) -> dict[str, Any]:
    scaling = scaling_without_rates(given, settings)
    tradeoff, curve = scaling.tradeoff or NOTHING_KNOWN, scaling.curve
    examples = curve.fewest_examples if curve else NOTHING_KNOWN
    ends = ("fewest_examples_low", "fewest_examples_high")
    return {
        **tradeoff.columns("critical", "low", "high"),
        **examples.columns("fewest_examples", *ends),
        "verdict": tradeoff.verdict,
        "bend": curve.bend.value if curve else None,
        "fewest_steps": curve.fewest_steps if curve else None,
        "trials": scaling.trials,
        "studies": [
            {"batch_size": each.batch_size, "steps": each.upper}
            for each in scaling.steps
            if math.isfinite(each.upper)
        ],
    }
