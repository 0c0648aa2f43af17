"""The kinds of rows that `dbtool scaling` reports."""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "critical", "regimes", "steps", "learning_rates", "noise_scale", "comparison", "profiles"
]
