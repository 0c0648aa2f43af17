"""Checks the rows of a shard against its footer, trial by trial and step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dbtool.core.footer import FooterError

if TYPE_CHECKING:
    import pyarrow as pa

    from dbtool.core.footer import Footer


class Rows:
    """A check of the keys of rows, as they arrive, against the trials in a footer.

    Attributes:
        counts: the rows of each trial so far, [trials].
    """

    def __init__(self, footer: Footer) -> None:
        """Begin before the first row of a shard with that footer."""
        self._footer = footer
        self._listed = np.array([trial.trial_id for trial in footer.trials])
        self._steps = np.array([trial.steps for trial in footer.trials])
        self.counts = np.zeros(len(self._listed), np.int64)
        self._last = (-1, -1)

    def add(self, table: pa.Table) -> np.ndarray:
        """Check the next rows; return the position of each row's trial in the footer.

        Raises:
            FooterError: the rows are unsorted, or belong to no trial in the footer.
        """
        for name in ("trial_id", "step"):
            if table[name].null_count:
                raise FooterError(f"its column {name} holds a null")
        trial: np.ndarray = table["trial_id"].to_numpy()
        step: np.ndarray = table["step"].to_numpy()
        if not len(trial):
            return trial
        self._check_order(np.append(self._last[0], trial), np.append(self._last[1], step))
        position: np.ndarray = np.searchsorted(self._listed, trial)
        unlisted = self._listed[np.minimum(position, len(self._listed) - 1)] != trial
        if unlisted.any():
            raise FooterError(f"it has rows of trial {trial[unlisted][0]}, which it does not list")
        late = step > self._steps[position]
        if late.any():
            at = position[late][0]
            raise FooterError(
                f"trial {self._listed[at]} has a row of step {step[late][0]}, after its last, "
                f"{self._steps[at]}"
            )
        self.counts += np.bincount(position, minlength=len(self.counts))
        self._last = int(trial[-1]), int(step[-1])
        return position

    def end(self) -> None:
        """Check the number of rows of each trial against the footer.

        Raises:
            FooterError: the numbers differ.
        """
        for trial, count in zip(self._footer.trials, self.counts.tolist(), strict=True):
            if trial.measurements != count:
                raise FooterError(
                    f"trial {trial.trial_id} has {count:,} rows and its footer says "
                    f"{trial.measurements:,}"
                )

    def _check_order(self, trial: np.ndarray, step: np.ndarray) -> None:
        """Check that rows are sorted by trial and step.

        Args:
            trial: [rows] trial of each row, after that of the row before.
            step: [rows] likewise.

        Raises:
            FooterError: the rows are unsorted, or repeat a step where that is not allowed.
        """
        if step[1:].min() < 0:
            raise FooterError("it has a negative step")
        trial_change, step_change = np.diff(trial), np.diff(step)
        least = 0 if self._footer.repeated_steps else 1
        wrong = (trial_change < 0) | ((trial_change == 0) & (step_change < least))
        if wrong.any():
            at = int(wrong.argmax())
            raise FooterError(
                "its rows are not sorted by trial_id and step: "
                f"trial {trial[at + 1]}, step {step[at + 1]} comes after "
                f"trial {trial[at]}, step {step[at]}"
            )
