"""The measurements of a block of trials, and their form as rows of a shard."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dbtool.store.contract import OTHER_METRICS, metric_columns, optional_columns, shard_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ROWS_A_GROUP = 200_000
_FIRST_STEPS = 1_024
_BATCH_LOSS = "batch_cross_entropy_error"
_ENDING = "_cross_entropy_error"


@dataclass(frozen=True)
class _Values:
    """Values of one metric, each of a trial after a step.

    The arrays grow in place and hold 20 bytes a value, where objects would take ten times that.
    """

    trial: array[int] = field(default_factory=lambda: array("i"))
    step: array[int] = field(default_factory=lambda: array("q"))
    value: array[float] = field(default_factory=lambda: array("d"))

    def add(self, trials: np.ndarray, steps: np.ndarray, values: np.ndarray) -> None:
        """Adds values; all three are [values]."""
        self.trial.frombytes(np.ascontiguousarray(trials, np.intc).tobytes())
        self.step.frombytes(np.ascontiguousarray(steps, np.int64).tobytes())
        self.value.frombytes(np.ascontiguousarray(values, np.float64).tobytes())

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies: int32 trials, int64 steps, float64 values, each [values]."""
        return (
            np.array(self.trial, np.int32),
            np.array(self.step, np.int64),
            np.array(self.value, np.float64),
        )


class BlockRecord:
    """Measurements of a block of trials, in memory.

    A trial ends, INFEASIBLE, at the first step whose batch loss is not finite, or after which the
    cross entropy of an evaluated split is not; INCOMPLETE where it is dropped.

    Args:
        trials: how many trials the block has.
    """

    def __init__(self, trials: int) -> None:
        self._losses = np.full((trials, _FIRST_STEPS), np.nan, np.float32)
        self._last = np.zeros(trials, np.int64)
        self._diverged = np.zeros(trials, bool)
        self._dropped = np.zeros(trials, bool)
        self._evaluations: dict[str, _Values] = {}

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
        self._make_room(first_step + steps)
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
        metrics: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        """Adds metrics that were measured after a step; a later value of the same takes its place.

        A cross entropy that is not finite ends its trial and is kept as it is. Any other metric
        that is NaN was not measured, such as an average precision without a positive label: it
        ends nothing and is left out.

        Args:
            trials: int [places], the trial each place holds.
            alive: bool [places]; other places are passed over.
            step: updates made before the measurement.
            metrics: name to float64 [places]; columns of a shard, such as val_cross_entropy_error,
                by their names, and any other metric, which other_metrics will hold, by its own.

        Returns:
            The trials that ended with it.
        """
        rows = trials[alive]
        diverged = np.zeros(len(rows), bool)
        for name, of_places in metrics.items():
            values = of_places[alive]
            if name.endswith(_ENDING):
                diverged |= ~np.isfinite(values)
                kept = np.ones(len(rows), bool)
            else:
                kept = ~np.isnan(values)
            held = self._evaluations.setdefault(name, _Values())
            held.add(rows[kept], np.full(kept.sum(), step), values[kept])
        ended: np.ndarray = rows[diverged]
        self._diverged[ended] = True
        return ended

    def drop(self, trials: np.ndarray) -> None:
        """Marks trials that are trained no longer since others are so far ahead of them."""
        self._dropped[trials] = True

    def status(self, trial: int) -> str:
        """COMPLETE, INFEASIBLE or INCOMPLETE."""
        if self._diverged[trial]:
            return "INFEASIBLE"
        return "INCOMPLETE" if self._dropped[trial] else "COMPLETE"

    def values(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A metric in the order of its evaluations: int32 trials, int64 steps, float64 values."""
        return self._evaluations.get(name, _Values()).arrays()

    def steps(self, trial: int) -> int:
        """The last step that a trial took."""
        return int(self._last[trial])

    def arrays(self) -> dict[str, np.ndarray]:
        """The whole record as arrays of numbers, such as a checkpoint holds.

        Save and restore them as NumPy arrays: JAX would cut the 64-bit ones. Arrays without
        elements are left out, since Orbax refuses them. Losses go as far as the last step taken.
        """
        names = sorted(self._evaluations)
        held = [self._evaluations[name].arrays() for name in names]
        arrays: dict[str, np.ndarray] = {
            "losses": self._losses[:, : self._last.max(initial=0)],
            "last": self._last,
            "diverged": self._diverged.astype(np.uint8),
            "dropped": self._dropped.astype(np.uint8),
            # Names hold no line feed, and no array holds text.
            "names": np.frombuffer("\n".join(names).encode(), np.uint8),
            "values": np.array([len(values) for *_, values in held], np.int64),
        }
        if held:
            columns = [np.concatenate(column) for column in zip(*held, strict=True)]
            arrays |= dict(zip(("trial", "step", "value"), columns, strict=True))
        return {name: np.array(column) for name, column in arrays.items() if column.size}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> BlockRecord:
        """The record whose `arrays` these are; it can be added to as that one could."""
        last = np.asarray(arrays["last"])
        record = cls(len(last))
        record._last[:] = last
        record._diverged[:] = np.asarray(arrays["diverged"]).astype(bool)
        record._dropped[:] = np.asarray(arrays["dropped"]).astype(bool)
        if "losses" in arrays:
            losses = np.asarray(arrays["losses"])
            record._make_room(losses.shape[1])
            record._losses[:, : losses.shape[1]] = losses
        if "names" in arrays:
            names = bytes(np.asarray(arrays["names"])).decode().split("\n")
            empty = np.empty(0)
            columns = [np.asarray(arrays.get(name, empty)) for name in ("trial", "step", "value")]
            ends = np.cumsum(arrays["values"])[:-1]
            parts = zip(*(np.split(column, ends) for column in columns), strict=True)
            for name, (trials, steps, values) in zip(names, parts, strict=True):
                record._evaluations.setdefault(name, _Values()).add(trials, steps, values)
        return record

    def tables(self, trial_ids: list[int]) -> Iterator[pa.Table]:
        """The rows of all trials in order, some trials at a time.

        Every table has the same columns: those of a shard, and of the optional ones those of which
        some row has a value.
        """
        evaluations = _Evaluations(self._evaluations)
        pending: list[pa.Table] = []
        for trial, trial_id in enumerate(trial_ids):
            rows = self.steps(trial) + 1
            for start in range(0, rows, _ROWS_A_GROUP):
                stop = min(start + _ROWS_A_GROUP, rows)
                pending.append(self._table(evaluations, trial, trial_id, range(start, stop)))
                if sum(len(table) for table in pending) >= _ROWS_A_GROUP:
                    yield pa.concat_tables(pending)
                    pending = []
        if pending:
            yield pa.concat_tables(pending)

    def _make_room(self, steps: int) -> None:
        """Lets the losses hold so many steps; at least doubled, since copies cost time."""
        held = self._losses.shape[1]
        if steps > held:
            more = np.full((len(self._last), max(steps, 2 * held) - held), np.nan, np.float32)
            self._losses = np.concatenate([self._losses, more], axis=1)

    def _table(self, evaluations: _Evaluations, trial: int, trial_id: int, rows: range) -> pa.Table:
        """The rows of a trial's steps in a range."""
        steps = np.arange(rows.start, rows.stop, dtype=np.int64)
        losses = self._losses[trial, max(rows.start - 1, 0) : rows.stop - 1]
        columns: dict[str, pa.Array] = {
            "trial_id": pa.array(np.full(len(steps), trial_id, np.int32)),
            "step": pa.array(steps),
            # No update leads to step 0.
            _BATCH_LOSS: pa.array(
                np.concatenate([np.zeros(len(steps) - len(losses), np.float32), losses]),
                mask=steps == 0,
            ),
        }
        for name in evaluations.schema.names[len(columns) :]:
            if name == OTHER_METRICS:
                columns[name] = evaluations.others(trial, rows)
            else:
                columns[name] = evaluations.column(name, trial, rows)
        return pa.table(columns, schema=evaluations.schema)


class _Evaluations:
    """Values of metrics sorted by trial, and the columns of a shard that they fill."""

    def __init__(self, evaluations: Mapping[str, _Values]) -> None:
        self._sorted: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        for name, held in evaluations.items():
            trial, step, value = held.arrays()
            if len(trial):
                order = np.argsort(trial, kind="stable")
                self._sorted[name] = trial[order], step[order], value[order]
        self._others = sorted(set(self._sorted) - set(metric_columns()))
        filled = set(self._sorted) | ({OTHER_METRICS} if self._others else set())
        self.schema = shard_schema(frozenset(filled & optional_columns()))

    def column(self, name: str, trial: int, rows: range) -> pa.Array:
        """A metric's values after the steps in a range, null where it was not measured."""
        values, measured = self._values(name, trial, rows)
        return pa.array(values, mask=~measured)

    def others(self, trial: int, rows: range) -> pa.Array:
        """The metrics without a column, null after steps at which none was measured."""
        found = [self._values(name, trial, rows) for name in self._others]
        # [rows, metrics], so that those of a row lie together.
        values = np.stack([values for values, _ in found], 1)
        measured = np.stack([measured for _, measured in found], 1)
        counts = measured.sum(1)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        _, metric = np.nonzero(measured)
        names = pa.array(self._others).take(pa.array(metric))
        missing = pa.array(counts == 0)
        return pa.MapArray.from_arrays(offsets, names, values[measured], mask=missing)

    def _values(self, name: str, trial: int, rows: range) -> tuple[np.ndarray, np.ndarray]:
        """A metric's values, float64 [rows], and whether it was measured, bool [rows]."""
        values = np.zeros(len(rows))
        measured = np.zeros(len(rows), bool)
        if name in self._sorted:
            of_trial, step, value = self._sorted[name]
            first, end = np.searchsorted(of_trial, [trial, trial + 1])
            at = step[first:end] - rows.start
            inside = (at >= 0) & (at < len(rows))
            values[at[inside]] = value[first:end][inside]
            measured[at[inside]] = True
        return values, measured
