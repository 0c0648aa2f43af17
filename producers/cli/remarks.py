"""Remarks at the end of a sweep on studies whose trials tell nothing of steps to a goal."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np

from dbtool.cli.messages import tell
from dbtool.core.contract import OTHER_METRICS, metric_columns
from dbtool.core.errors import few_of
from producers.sweep.tasks import held_index
from producers.training.stopping import Goal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dbtool.core.shards import Shard
    from producers.plan import StudyPlan

_FEW = 3


class Remarks:
    """Collects what is odd about the trials of a sweep, shard by shard.

    Args:
        studies: of the sweep.
        out: the release folder that its shards are written to.
    """

    def __init__(self, studies: Sequence[StudyPlan], out: Path) -> None:
        self._studies = {study.key: study for study in studies}
        self._out = out
        self._trained: dict[str, StudyPlan] = {}
        self._passed: dict[str, None] = {}

    def on_shard(self, shard: Shard) -> None:
        """Note the study of a shard, and whether a trial began past the goal."""
        footer = shard.footer
        study = self._studies[footer.study.workload.workload, footer.study.batch_size]
        self._trained[study.name] = study
        if study.workload.goal is not None:
            goal = Goal.of(study.workload)
            if goal.reached(_before_training(self._out / shard.path, goal.metric)).any():
                self._passed[study.name] = None

    def tell(self) -> None:
        """Print a sentence for each oddity, with the studies that have it."""
        index = held_index(self._out)
        diverged = [
            name
            for name, study in self._trained.items()
            if {row["status"] for row in index.trials_of(*study.key).values()} == {"INFEASIBLE"}
        ]
        if diverged:
            tell(f"all trials diverged: {few_of(diverged, _FEW)}; search lower learning rates")
        if self._passed:
            tell(
                f"a trial was past the goal before its first step: {few_of([*self._passed], _FEW)};"
                " set a harder goal"
            )


def _before_training(path: Path, metric: str) -> np.ndarray:
    """Return the values of a metric at step 0 of the trials of a shard."""
    import pyarrow.parquet as pq

    column = metric if metric in metric_columns() else OTHER_METRICS
    rows = pq.read_table(path, columns=[column], filters=[("step", "=", 0)])
    held = rows[column].drop_null().to_pylist()
    if column == OTHER_METRICS:
        held = [json.loads(each).get(metric, math.nan) for each in held]
    return np.array(held, float)
