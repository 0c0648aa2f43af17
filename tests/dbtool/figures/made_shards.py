"""Shards of trials that get past the goal at known steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.made_up import curve, write_shard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def rate(learning_rate: float, momentum: float = 0.9) -> dict[str, float]:
    return {"learning_rate": learning_rate, "momentum": momentum}


def sgd_shards(folder: Path, steps: Mapping[str, Mapping[int, int]]) -> list[Path]:
    """Shards of workloads whose only trial gets past the goal at a tenfold of these steps."""
    shards = []
    for workload, studies in steps.items():
        for batch_size, evaluations in studies.items():
            rows = curve([0.9] * evaluations + [0.02], batch_losses=False)
            shards.append(
                write_shard(
                    folder, workload=workload, batch_size=batch_size, goal=0.03,
                    trials=[(0, "COMPLETE", rate(0.5), rows)],
                )
            )  # fmt: skip
    return shards
