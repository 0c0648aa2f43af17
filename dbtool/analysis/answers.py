"""Scalings of the workloads of a database, or of a table of steps."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from dbtool.analysis.critical import StepsAt
from dbtool.analysis.scaling import Scaling, Settings, scaling_of_searches, scaling_of_steps
from dbtool.analysis.searches import searches
from dbtool.core.errors import UsageError
from dbtool.core.files import expanded
from dbtool.store.table_files import RunsError
from dbtool.store.texts import LINE, read_parts, text_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.analysis.searches import Search


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
            workload. Empty steps mean that the goal was not reached; nothing more is known of them.
        settings: levels and definitions of the analysis.

    Raises:
        UsageError: the table cannot be read, a column is missing or a value is not a number above
            0.
    """
    file = "the table" if isinstance(table, pl.DataFrame) else os.fspath(table)
    if isinstance(table, pl.DataFrame):
        table = text_frame(table)
    else:
        try:
            table = pl.concat(read_parts(expanded(table), "csv"))
        except RunsError as error:
            raise UsageError(*error.args) from error
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
    if table.is_empty():
        raise UsageError(f"{file} has no rows below its first line")
    twice = numbers.select("workload", "batch_size").is_duplicated().arg_true()
    if len(twice):
        raise UsageError(
            f"{file}, line {table[LINE][twice[1]]}: batch_size "
            f"{numbers['batch_size'][twice[1]]:g} is there twice; leave the fewest steps "
            "of each, and name the workloads if there are several"
        )
    return [
        Answer(None, rows["workload"][0], None, None, scaling_of_steps(_steps(rows), settings))
        for _, rows in numbers.group_by("workload", maintain_order=True)
    ]


def _positive(table: pl.DataFrame, name: str, file: str) -> pl.Series:
    """Return a column as numbers; empty steps become null."""
    texts = table[name].str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    is_empty = (texts.is_null() | (texts == "")) & (name == "steps")
    wrong = ~is_empty & ~(numbers.is_finite() & (numbers > 0)).fill_null(value=False)
    for row, text in enumerate(texts):
        if wrong[row]:
            raise UsageError(
                f"{file}, line {table[LINE][row]}: {name} {text!r} is not a number above 0"
            )
    return numbers.alias(name)


def _steps(rows: pl.DataFrame) -> list[StepsAt]:
    pairs = rows.select("batch_size", "steps").drop_nulls().iter_rows()
    return [StepsAt(size, steps, steps) for size, steps in pairs]
