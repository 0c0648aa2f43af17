"""Releases of trials that get past the goal at known steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.made_up import curve, write_shard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def rate(learning_rate: float, momentum: float = 0.9) -> dict[str, float]:
    return {"learning_rate": learning_rate, "momentum": momentum}


def write_sgd(folder: Path, steps: Mapping[str, Mapping[int, int]], **options: str) -> Path:
    """Adds workloads whose only trial gets past the goal at a tenfold of these steps."""
    for workload, studies in steps.items():
        for batch_size, evaluations in studies.items():
            rows = curve([0.9] * evaluations + [0.02], batch_losses=False)
            trials = [(0, "COMPLETE", rate(0.5), rows)]
            study: dict[str, Any] = {"workload": workload, "batch_size": batch_size, "goal": 0.03}
            write_shard(folder, trials=trials, **study, **options)
    return folder
