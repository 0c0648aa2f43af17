"""The kinds of rows that `dbtool scaling` reports, and of curves that it fits."""

from __future__ import annotations

from typing import Literal

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
