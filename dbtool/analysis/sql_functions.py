"""Statistics that queries name: Python functions, registered on the cursor of such a query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from dbtool.analysis.interval import NOTHING_KNOWN
from dbtool.analysis.scaling import Settings, scaling_without_rates
from dbtool.analysis.searches import searches

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

SCALING = "scaling_of_trials"
_TRIAL = {
    "batch_size": ("BIGINT", pl.Int64),
    "trial_id": ("BIGINT", pl.Int64),
    "status": ("VARCHAR", pl.String),
    "after": ("BIGINT", pl.Int64),
    "steps": ("BIGINT", pl.Int64),
    "learning_rate": ("DOUBLE", pl.Float64),
    "momentum": ("DOUBLE", pl.Float64),
    "setting": ("BIGINT", pl.Int64),
    "search_space": ("VARCHAR", pl.String),
    "search": ("VARCHAR", pl.String),
    "stopped": ("BOOLEAN", pl.Boolean),
}
_SCALING = (
    "STRUCT(critical DOUBLE, low DOUBLE, high DOUBLE, verdict VARCHAR, bend DOUBLE, "
    "fewest_steps DOUBLE, trials BIGINT, studies STRUCT(batch_size DOUBLE, steps DOUBLE)[])"
)


def register_scaling(cursor: duckdb.DuckDBPyConnection) -> None:
    """Register `scaling_of_trials(trials, count)` for the queries of a cursor.

    Its arguments are the rows of `trial_crossings` of one workload as a list of structs, by
    ascending batch size, and at how many trials searches are compared (0: as many as all have).
    The result has the critical batch size (tradeoff) with its 95 % interval and verdict, the bend
    and the fewest steps of the fitted curve (NULL where too few batch sizes reached the goal), and
    the steps to result of each batch size that did.
    """
    fields = ", ".join(f"{name} {kind}" for name, (kind, _) in _TRIAL.items())
    cursor.create_function(
        SCALING,
        # DuckDB evaluates annotations.
        lambda trials, count: _scaling_of_trials(trials, count),  # noqa: PLW0108
        [f"STRUCT({fields})[]", "BIGINT"],
        _SCALING,
    )


def _scaling_of_trials(trials: Sequence[dict[str, Any]], count: int) -> dict[str, Any]:
    rows = pl.DataFrame(trials, {name: kind for name, (_, kind) in _TRIAL.items()})
    scaling = scaling_without_rates(searches(rows), Settings(trials=count or None))
    tradeoff, curve = scaling.tradeoff, scaling.curve
    return (tradeoff or NOTHING_KNOWN).columns("critical", "low", "high") | {
        "verdict": tradeoff.verdict if tradeoff else "not_identified",
        "bend": curve.bend.value if curve else None,
        "fewest_steps": curve.steps if curve else None,
        "trials": scaling.trials,
        "studies": [
            {"batch_size": each.batch_size, "steps": each.upper}
            for each in scaling.steps
            if math.isfinite(each.upper)
        ],
    }
