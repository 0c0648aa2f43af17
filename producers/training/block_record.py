"""The measurements of a block of trials, their form as rows of a shard, and how long they took."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Self

import jax.monitoring
import numpy as np
import pyarrow as pa

from dbtool.core.contract import BATCH_LOSS
from dbtool.core.footer import Status
from dbtool.core.rows import with_other_metrics

if TYPE_CHECKING:
    from producers.training.step import TrialState

Values = tuple[np.ndarray, np.ndarray, np.ndarray]
_ROWS_A_GROUP = 200_000
_FIRST_STEPS = 1_024
_LOSS = BATCH_LOSS.removeprefix("batch_")
_NO_VALUES = (np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0))


class BlockRecord:
    """Measurements of a block of trials, in memory.

    A trial ends, INFEASIBLE, at the first step whose batch loss is not finite, or after which the
    loss of an evaluated split is not; INCOMPLETE where it is dropped.

    Args:
        trials: how many trials the block has.
        loss: name of the metric that is the loss.
    """

    def __init__(self, trials: int, loss: str = _LOSS) -> None:
        self._loss = loss
        self._losses = np.full((trials, _FIRST_STEPS), np.nan, np.float32)
        self._last = np.zeros(trials, np.int64)
        self._diverged = np.zeros(trials, bool)
        self._dropped = np.zeros(trials, bool)
        # Trials, steps and values of each evaluation, by metric.
        self._evaluations: dict[str, list[Values]] = {}

    def add_losses(
        self, trials: np.ndarray, alive: np.ndarray, first_step: int, losses: np.ndarray
    ) -> np.ndarray:
        """Add the batch losses of consecutive steps.

        Args:
            trials: int [slots], the trial each row belongs to.
            alive: bool [slots]; other rows are passed over.
            first_step: updates made before the first of these steps.
            losses: float32 [slots, steps].

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
        self, trials: np.ndarray, alive: np.ndarray, step: int, metrics: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """Add metrics that were measured after a step; a later value of the same replaces it.

        A loss that is not finite ends its trial and is kept as it is. Any other metric
        that is NaN was not measured, such as an average precision without a positive label: it
        ends nothing and is left out.

        Args:
            trials: int [slots], the trial of each slot.
            alive: bool [slots]; other slots are passed over.
            step: updates made before the measurement.
            metrics: name to float64 [slots]; columns of a shard, such as val_cross_entropy_error,
                by their names, and any other metric, which other_metrics will hold, by its own.

        Returns:
            The trials that ended with it.
        """
        rows = trials[alive]
        diverged = np.zeros(len(rows), bool)
        for name, of_slots in metrics.items():
            values = np.asarray(of_slots[alive], np.float64)
            kept = ~np.isnan(values)
            if name.endswith(f"_{self._loss}"):
                diverged |= ~np.isfinite(values)
                kept[:] = True
            steps = np.full(kept.sum(), step, np.int64)
            added = rows[kept].astype(np.int32), steps, values[kept]
            self._evaluations.setdefault(name, []).append(added)
        ended: np.ndarray = rows[diverged]
        self._diverged[ended] = True
        return ended

    def drop(self, trials: np.ndarray) -> None:
        """Mark trials that are trained no longer since others are so far ahead of them."""
        self._dropped[trials] = True

    def status(self, trial: int) -> Status:
        """How a trial ended."""
        if self._diverged[trial]:
            return "INFEASIBLE"
        return "INCOMPLETE" if self._dropped[trial] else "COMPLETE"

    def values(self, name: str) -> Values:
        """Return a metric's trials, steps and values, int32, int64 and float64 [evaluations]."""
        held = [_NO_VALUES, *self._evaluations.get(name, [])]
        trials, steps, values = map(np.concatenate, zip(*held, strict=True))
        return trials, steps, values

    @property
    def trials(self) -> int:
        """Return how many trials the block has."""
        return len(self._last)

    def steps(self, trial: int) -> int:
        """Return the last step that a trial took."""
        return int(self._last[trial])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the whole record as arrays of numbers, such as a checkpoint holds.

        Save and restore them as NumPy arrays: JAX would cut the 64-bit ones. Arrays without
        elements are left out, since Orbax refuses them. Losses go as far as the last step taken.
        """
        names = sorted(self._evaluations)
        held = [self.values(name) for name in names]
        arrays: dict[str, np.ndarray] = {
            "losses": self._losses[:, : self._last.max(initial=0)],
            "last": self._last,
            "diverged": self._diverged.astype(np.uint8),
            "dropped": self._dropped.astype(np.uint8),
            "loss": np.frombuffer(self._loss.encode(), np.uint8),
            # Names hold no line feed, and no array holds text.
            "names": np.frombuffer("\n".join(names).encode(), np.uint8),
            "values": np.array([len(values) for *_, values in held], np.int64),
        }
        columns = map(np.concatenate, zip(_NO_VALUES, *held, strict=True))
        arrays |= dict(zip(("trial", "step", "value"), columns, strict=True))
        return {name: np.array(column) for name, column in arrays.items() if column.size}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the record whose `arrays` these are; it can be added to as that one could."""
        last = np.asarray(arrays["last"])
        loss = bytes(np.asarray(arrays["loss"])).decode() if "loss" in arrays else _LOSS
        record = cls(len(last), loss)
        record._last[:] = last
        record._diverged[:] = np.asarray(arrays["diverged"]).astype(bool)
        record._dropped[:] = np.asarray(arrays["dropped"]).astype(bool)
        if "losses" in arrays:
            losses = np.asarray(arrays["losses"])
            record._make_room(losses.shape[1])
            record._losses[:, : losses.shape[1]] = losses
        if "names" in arrays:
            names = bytes(np.asarray(arrays["names"])).decode().split("\n")
            ends = np.cumsum(arrays["values"])[:-1]
            columns = [
                np.split(np.asarray(arrays.get(name, empty)), ends)
                for name, empty in zip(("trial", "step", "value"), _NO_VALUES, strict=True)
            ]
            for name, *held in zip(names, *columns, strict=True):
                record._evaluations[name] = [tuple(held)]
        return record

    def tables(self, trial_ids: list[int]) -> Iterator[pa.Table]:
        """Yield the rows of all trials in order, some trials at a time.

        Every table has the same columns: trial_id, step, and the metrics of which some row has a
        value.
        """
        found = {name: _by_trial(self.values(name)) for name in sorted(self._evaluations)}
        evaluations = {name: values for name, values in found.items() if len(values[0])}
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
        """Let the losses hold so many steps; at least doubled, since copies cost time."""
        held = self._losses.shape[1]
        if steps > held:
            more = np.full((len(self._last), max(steps, 2 * held) - held), np.nan, np.float32)
            self._losses = np.concatenate([self._losses, more], axis=1)

    def _table(
        self, evaluations: Mapping[str, Values], trial: int, trial_id: int, rows: range
    ) -> pa.Table:
        steps = np.arange(rows.start, rows.stop, dtype=np.int64)
        losses = self._losses[trial, max(rows.start - 1, 0) : rows.stop - 1]
        columns: dict[str, pa.Array] = {
            "trial_id": pa.array(np.full(len(steps), trial_id, np.int32)),
            "step": pa.array(steps),
            # No update leads to step 0.
            f"batch_{self._loss}": pa.array(
                np.concatenate([np.zeros(len(steps) - len(losses), np.float32), losses]),
                mask=steps == 0,
            ),
        }
        columns |= {name: _column(each, trial, rows) for name, each in evaluations.items()}
        return with_other_metrics(columns)


def _by_trial(evaluations: Values) -> Values:
    trial, step, value = evaluations
    order = np.argsort(trial, kind="stable")
    return trial[order], step[order], value[order]


def _column(evaluations: Values, trial: int, rows: range) -> pa.Array:
    """Return a trial's values after the steps in a range, null where it was not measured."""
    of_trial, step, value = evaluations
    first, end = np.searchsorted(of_trial, [trial, trial + 1])
    at = step[first:end] - rows.start
    inside = (at >= 0) & (at < len(rows))
    values, missing = np.zeros(len(rows)), np.ones(len(rows), bool)
    values[at[inside]] = value[first:end][inside]
    missing[at[inside]] = False
    return pa.array(values, mask=missing)


class Slots:
    """The slots of a block, and which of their trials are still trained.

    The block is filled up with copies of its last trial that are never alive, since all devices
    hold equally many slots: as many as `slots` makes of a number of trials.

    Attributes:
        trial: int [slots], the number in the block of each slot's trial.
        alive: bool [slots], whether the slot is trained.
    """

    def __init__(self, trials: int, slots: Callable[[int], int]) -> None:
        self._slots_for = slots
        count = slots(trials)
        self.trial = np.minimum(np.arange(count), trials - 1)
        self.alive = np.arange(count) < trials

    def stop(self, trials: np.ndarray) -> None:
        """Mark trials (their numbers in the block) as no longer trained."""
        self.alive &= ~np.isin(self.trial, trials)

    def rearranged(self, devices: int) -> np.ndarray | None:
        """Drop slots that are not trained, and divide the rest evenly among devices.

        Returns:
            Which of the slots the new ones were, int [new slots]; None where all stay, since more
            than half as many are needed and no device has more trials alive than an even share.
        """
        kept = np.flatnonzero(self.alive)
        count = self._slots_for(len(kept)) if len(kept) else len(self.alive)
        of_devices = self.alive.reshape(devices, -1).sum(1)
        order: np.ndarray
        if count <= len(self.alive) // 2:
            order = np.concatenate([kept, np.full(count - len(kept), kept[-1])])
            self.alive = np.arange(count) < len(kept)
        elif of_devices.max() > -(-len(kept) // devices):
            by_life = np.argsort(~self.alive, kind="stable")
            order = by_life.reshape(-1, devices).T.ravel()
            self.alive = self.alive[order]
        else:
            return None
        self.trial = self.trial[order]
        return order


_COMPILING = "/jax/core/compile/"


class Clock:
    """Seconds of training and evaluating, since its first step.

    What JAX takes to trace and to compile a program is left out: it is taken once, however long
    the training, and not at all where a cache has the program.

    Args:
        before: seconds that had passed when a checkpoint was saved, with which this goes on.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._began = _seconds_without_compiling() - before

    @property
    def seconds(self) -> float:
        """Return the seconds that have passed."""
        return _seconds_without_compiling() - self._began


def _seconds_without_compiling() -> float:
    return time.monotonic() - sum(_compiling())


@cache
def _compiling() -> list[float]:
    """Return the seconds of all that has been compiled since this was first asked for."""
    durations: list[float] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if event.startswith(_COMPILING):
            durations.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return durations


@dataclass
class Progress:
    """The progress of a block, as a checkpoint stores it.

    Attributes:
        states: of all slots.
        slots: which trial each of them holds.
        record: the measurements so far.
        step: updates made.
        clock: how long they took.
    """

    states: "TrialState"
    slots: Slots
    record: BlockRecord
    step: int = 0
    clock: Clock = field(default_factory=Clock)
