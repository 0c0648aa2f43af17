"""The kinds of rows in which `dbtool scaling` tells what it found."""

from __future__ import annotations

from typing import Literal

Kind = Literal[
    "critical", "regimes", "steps", "learning_rates", "noise_scale", "comparison", "profiles"
]
