"""The measurements of a block of trials, and their form as rows of a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dbtool.store.contract import shard_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS_A_GROUP = 200_000


class BlockRecord:
    """Measurements of a block of trials, in memory.

    A trial ends, INFEASIBLE, at the first step whose batch loss is not finite, or after which the
    cross entropy of an evaluated split is not.

    Args:
        trials: how many trials the block has.
        train_steps: the step at which a trial is COMPLETE.
    """

    def __init__(self, trials: int, train_steps: int) -> None:
        self._losses = np.full((trials, train_steps), np.nan, np.float32)
        self._last = np.zeros(trials, np.int64)
        self._diverged = np.zeros(trials, bool)
        self._evaluations: list[dict[int, dict[str, float]]] = [{} for _ in range(trials)]
        self.train_steps = train_steps

    def add_losses(
        self, trials: np.ndarray, alive: np.ndarray, first_step: int, losses: np.ndarray
    ) -> np.ndarray:
        """Adds the batch losses of consecutive steps.

        Args:
            trials: int [places], the trial each row belongs to.
            alive: bool [places]; other rows are passed over.
            first_step: updates made before the first of these steps.
            losses: float32 [places, steps].

        Returns:
            The trials that ended within these steps.
        """
        steps = losses.shape[1]
        finite = np.isfinite(losses)
        counted = np.where(finite.all(1), steps, finite.argmin(1) + 1)
        rows = trials[alive]
        self._losses[rows, first_step : first_step + steps] = losses[alive]
        self._last[rows] = first_step + counted[alive]
        ended: np.ndarray = rows[~finite.all(1)[alive]]
        self._diverged[ended] = True
        return ended

    def add_evaluation(
        self,
        trials: np.ndarray,
        alive: np.ndarray,
        step: int,
        split: str,
        cross_entropy: np.ndarray,
        classification_error: np.ndarray,
    ) -> np.ndarray:
        """Adds one split's metrics after a step; returns the trials that ended with it."""
        rows = trials[alive]
        for trial, loss, error in zip(
            rows, cross_entropy[alive], classification_error[alive], strict=True
        ):
            values = self._evaluations[trial].setdefault(step, {})
            values[f"{split}_cross_entropy_error"] = float(loss)
            values[f"{split}_classification_error"] = float(error)
        ended: np.ndarray = rows[~np.isfinite(cross_entropy[alive])]
        self._diverged[ended] = True
        return ended

    def status(self, trial: int) -> str:
        """COMPLETE or INFEASIBLE."""
        return "INFEASIBLE" if self._diverged[trial] else "COMPLETE"

    def steps(self, trial: int) -> int:
        """The last step that a trial took."""
        return int(self._last[trial])

    def tables(self, trial_ids: list[int]) -> Iterator[pa.Table]:
        """The rows of all trials in order, some trials at a time."""
        pending: list[pa.Table] = []
        for trial, trial_id in enumerate(trial_ids):
            pending.append(self._table(trial, trial_id))
            if sum(len(table) for table in pending) >= _ROWS_A_GROUP:
                yield pa.concat_tables(pending)
                pending = []
        if pending:
            yield pa.concat_tables(pending)

    def _table(self, trial: int, trial_id: int) -> pa.Table:
        last = self.steps(trial)
        evaluated = self._evaluations[trial]
        steps = np.array(sorted(evaluated), np.int64)
        columns: dict[str, pa.Array] = {
            "trial_id": pa.array(np.full(last + 1, trial_id, np.int32)),
            "step": pa.array(np.arange(last + 1, dtype=np.int64)),
            "batch_cross_entropy_error": pa.array(
                np.concatenate([[np.nan], self._losses[trial, :last]]).astype(np.float32),
                mask=np.arange(last + 1) == 0,
            ),
        }
        for name in shard_schema().names[len(columns) :]:
            values = np.zeros(last + 1)
            missing = np.ones(last + 1, bool)
            measured = np.array([step for step in steps if name in evaluated[step]], np.int64)
            values[measured] = [evaluated[step][name] for step in measured]
            missing[measured] = False
            columns[name] = pa.array(values, mask=missing)
        return pa.table(columns, schema=shard_schema())
