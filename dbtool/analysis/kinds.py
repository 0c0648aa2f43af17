"""The kinds of rows of `dbtool scaling` with the types of their columns, and of fitted curves."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

Kind = Literal[
    "critical",
    "regimes",
    "steps",
    "ratios",
    "learning_rates",
    "noise_scale",
    "branches",
    "comparison",
    "profiles",
    "costs",
    "law",
    "recommended",
]
Form = Literal["bent", "hyperbola"]
"""Curves of any bend, or the hyperbola alone."""
_TEXTS = (
    *("release", "workload", "collection", "dataset", "model", "metric", "optimizer", "other"),
    *("against", "definition", "verdict", "law", "missing", "open"),
)
_COUNTS = (
    *("batch_size", "step", "phase", "trials", "batch_sizes", "reached", "devices", "workloads"),
    *("optimizer_trials", "other_trials", "k", "cells", "measurements", "blocks"),
    *("rates", "largest", "examples"),
)


def typed_rows(
    made: Sequence[Mapping[str, object]], columns: Iterable[str], **types: "type[pl.DataType]"
) -> "pl.DataFrame":
    """Return rows with these columns; all but texts, counts and those of `types` are floats."""
    import polars as pl

    known = dict.fromkeys(_TEXTS, pl.String) | dict.fromkeys(_COUNTS, pl.Int64) | types
    return pl.DataFrame(made, {name: known.get(name, pl.Float64) for name in columns})
