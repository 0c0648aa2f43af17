"""Scalings of the workloads of a database, or of a table of steps, as rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from dbtool.analysis.critical import StepsAt
from dbtool.analysis.scaling import Scaling, Settings, scaling_of_searches, scaling_of_steps
from dbtool.analysis.searches import searches
from dbtool.core.errors import UsageError, first_sentence
from dbtool.store import questions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dbtool.analysis.critical import Estimate
    from dbtool.store.database import Database

_COLUMNS = {
    "release": pl.String,
    "workload": pl.String,
    "metric": pl.String,
    "goal": pl.Float64,
    "definition": pl.String,
    "critical_batch_size": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "verdict": pl.String,
    "learning_rate": pl.Float64,
    "fewest_steps": pl.Float64,
    "trials": pl.Int64,
    "batch_sizes": pl.Int64,
    "reached": pl.Int64,
    "level": pl.Float64,
}


@dataclass(frozen=True)
class Answer:
    """The scaling of one workload.

    Attributes:
        release: which the trials are of; None for a table of steps.
        workload: its name; None for a table without names.
        metric: the column that is to pass the goal; None for a table.
        goal: the value to get past; None likewise.
        scaling: how far larger batches help.
    """

    release: str | None
    workload: str | None
    metric: str | None
    goal: float | None
    scaling: Scaling


def answers_of_database(
    db: Database,
    workload: str | Iterable[str],
    settings: Settings,
    *,
    goal: float | None = None,
    metric: str | None = None,
    release: str | None = None,
) -> list[Answer]:
    """How far larger batches help on workloads of a database, in their order.

    Args:
        db: the database.
        workload: names or patterns.
        settings: how it is told.
        goal: the value to get past; None: each workload's own goal.
        metric: the column that is to pass it; None: each workload's own metric.
        release: of this release alone.

    Raises:
        UsageError: a name is not there, or a workload has no goal of its own for the metric.
    """
    question = questions.crossings(
        db, workload, goal=goal, metric=metric, batch_size=None, release=release
    )
    trials = db.result(question).polars().filter(pl.col("trial_id").is_not_null())
    return [
        Answer(
            release=rows["release"][0],
            workload=rows["workload"][0],
            metric=rows["metric"][0],
            goal=rows["goal"][0],
            scaling=scaling_of_searches(searches(rows), settings),
        )
        for _, rows in trials.group_by("release", "workload", maintain_order=True)
    ]


def answers_of_csv(file: Path, settings: Settings) -> list[Answer]:
    """How far larger batches help by a table of steps, a workload after the other.

    Args:
        file: CSV with the columns batch_size, steps and, if there are several, workload. Empty
            steps are a goal that was not reached, of which nothing more is known.
        settings: how it is told.

    Raises:
        UsageError: it cannot be read, a column is missing or a value is no number above 0.
    """
    try:
        table = pl.read_csv(file, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{file} cannot be read as CSV: {first_sentence(error)}") from error
    for name in ("batch_size", "steps"):
        if name not in table.columns:
            raise UsageError(
                f"{file} has no column {name}: its first line names batch_size, steps and, if "
                "there are several, workload"
            )
    if "workload" not in table.columns:
        table = table.with_columns(workload=pl.lit(None, pl.String))
    numbers = table.select(
        "workload", *(_positive(table, name, file) for name in ("batch_size", "steps"))
    )
    return [
        Answer(None, rows["workload"][0], None, None, scaling_of_steps(_steps(rows), settings))
        for _, rows in numbers.group_by("workload", maintain_order=True)
    ]


def rows(answers: Iterable[Answer], settings: Settings) -> pl.DataFrame:
    """A row a workload and definition of the critical batch size.

    An end of an interval that is not known is null, as is a value that is not identified.
    learning_rate is what the fitted law gives there; trials are those of each batch size at which
    searches were compared; of batch_sizes so many reached the goal.
    """
    made = []
    for answer in answers:
        scaling = answer.scaling
        for definition, estimate in (
            ("tradeoff", scaling.tradeoff),
            ("overhead", scaling.overhead),
        ):
            law, fit = scaling.rate_law, scaling.curve
            value = estimate.value if estimate else None
            made.append(
                {
                    "release": answer.release,
                    "workload": answer.workload,
                    "metric": answer.metric,
                    "goal": answer.goal,
                    "definition": definition,
                    **_numbers(estimate),
                    "learning_rate": law.at(value) if law and value else None,
                    "fewest_steps": fit.steps if fit else None,
                    "trials": scaling.trials,
                    "batch_sizes": len(scaling.steps),
                    "reached": len(scaling.reached),
                    "level": settings.level,
                }
            )
    return pl.DataFrame(made, schema=_COLUMNS)


def _numbers(estimate: Estimate | None) -> dict[str, object]:
    if estimate is None:
        return {
            "critical_batch_size": None,
            "low": None,
            "high": None,
            "verdict": "not_identified",
        }
    return {
        "critical_batch_size": estimate.value,
        "low": estimate.low or None,
        "high": estimate.high if math.isfinite(estimate.high) else None,
        "verdict": estimate.verdict,
    }


def _positive(table: pl.DataFrame, name: str, file: Path) -> pl.Series:
    """A column as numbers; the empty ones of steps are null."""
    texts = table[name].str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    is_empty = (texts.is_null() | (texts == "")) & (name == "steps")
    wrong = ~is_empty & ~(numbers.is_finite() & (numbers > 0)).fill_null(value=False)
    for row, text in enumerate(texts):
        if wrong[row]:
            raise UsageError(f"{file}, line {row + 2}: {name} {text!r} is not a number above 0")
    return numbers.alias(name)


def _steps(rows: pl.DataFrame) -> list[StepsAt]:
    pairs = rows.select("batch_size", "steps").drop_nulls().iter_rows()
    return [StepsAt(size, steps, steps) for size, steps in pairs]
