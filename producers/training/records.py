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
            rows = self.steps(trial) + 1
            for start in range(0, rows, _ROWS_A_GROUP):
                stop = min(start + _ROWS_A_GROUP, rows)
                pending.append(self._table(trial, trial_id, start, stop))
                if sum(len(table) for table in pending) >= _ROWS_A_GROUP:
                    yield pa.concat_tables(pending)
                    pending = []
        if pending:
            yield pa.concat_tables(pending)

    def _table(self, trial: int, trial_id: int, start: int, stop: int) -> pa.Table:
        """The rows of a trial's steps from start up to, and without, stop."""
        steps = np.arange(start, stop, dtype=np.int64)
        losses = self._losses[trial, max(start - 1, 0) : stop - 1]
        columns: dict[str, pa.Array] = {
            "trial_id": pa.array(np.full(len(steps), trial_id, np.int32)),
            "step": pa.array(steps),
            # No update leads to step 0.
            "batch_cross_entropy_error": pa.array(
                np.concatenate([np.zeros(len(steps) - len(losses), np.float32), losses]),
                mask=steps == 0,
            ),
        }
        evaluated = {
            step: values
            for step, values in self._evaluations[trial].items()
            if start <= step < stop
        }
        for name in shard_schema().names[len(columns) :]:
            values = np.zeros(len(steps))
            missing = np.ones(len(steps), bool)
            for step, measured in evaluated.items():
                if name in measured:
                    values[step - start] = measured[name]
                    missing[step - start] = False
            columns[name] = pa.array(values, mask=missing)
        return pa.table(columns, schema=shard_schema())
