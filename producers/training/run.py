"""Trains one block of trials and collects its measurements on the host."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from producers.training.batches import BatchStream, take_all
from producers.training.records import BlockRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import jax

    from producers.training.block import BlockProgram, SplitArrays
    from producers.training.step import TrialState

# Bounds the memory of the examples' numbers that are drawn ahead of a compiled call.
_DRAWN_AHEAD = 16_000_000
_MOST_STEPS_A_CALL = 1_024
# Python does not see Ctrl-C while JAX waits for a call that may take minutes, but does while it
# waits for a thread.
_FETCHER = ThreadPoolExecutor(max_workers=1)


@dataclass(frozen=True)
class Splits:
    """The splits on the devices; training_subset stands for the training split at evaluations."""

    training: SplitArrays
    training_subset: SplitArrays
    validation: SplitArrays
    test: SplitArrays

    def evaluated(self, every_split: bool) -> dict[str, SplitArrays]:
        """The splits of one evaluation, by the first word of their columns."""
        if not every_split:
            return {"val": self.validation}
        return {"train": self.training_subset, "val": self.validation, "test": self.test}


@dataclass(frozen=True)
class BlockTrials:
    """The trials of a block.

    Attributes:
        trial_ids: unique in the study, increasing.
        seeds: one a trial: of initialisation and batch order.
        metaparameters: one mapping of name to value a trial.
        shared_seed: of the batch order that all trials share; None where each draws its own.
    """

    trial_ids: Sequence[int]
    seeds: Sequence[int]
    metaparameters: Sequence[dict[str, float]]
    shared_seed: int | None


class _Slots:
    """Which trial each place of the device arrays holds, and which are still trained.

    The block is filled up with copies of its last trial that are never alive, since all
    devices hold equally many places.
    """

    def __init__(self, trials: int, places: Callable[[int], int]) -> None:
        self._places = places
        count = places(trials)
        self.trial = np.minimum(np.arange(count), trials - 1)
        self.alive = np.arange(count) < trials

    def stop(self, trials: np.ndarray) -> None:
        """Marks trials (their numbers in the block) as no longer trained."""
        self.alive &= ~np.isin(self.trial, trials)

    def wasteful(self) -> bool:
        """Whether half as many places would do."""
        alive = int(self.alive.sum())
        return alive > 0 and self._places(alive) <= len(self.trial) // 2

    def compact(self) -> np.ndarray:
        """Keeps as few places as hold those alive; returns which places, int [new places]."""
        kept = np.flatnonzero(self.alive)
        count = self._places(len(kept))
        order = np.concatenate([kept, np.full(count - len(kept), kept[-1])])
        self.trial = self.trial[order]
        self.alive = np.arange(count) < len(kept)
        return order


def train_block(
    program: BlockProgram,
    splits: Splits,
    trials: BlockTrials,
    *,
    batch_size: int,
    evaluations: dict[int, bool],
    on_steps: Callable[[int], None] = lambda _: None,
) -> BlockRecord:
    """Trains a block of trials to the last evaluation step, or to their first loss not finite.

    Args:
        program: the compiled functions of the workload.
        splits: the data set on the devices.
        trials: what tells the trials apart.
        batch_size: examples a step.
        evaluations: steps in order, each with whether every split is evaluated; the last one is
            the last step of training.
        on_steps: told of trial-steps as they are done.

    Returns:
        Every measurement of the block.
    """
    record = BlockRecord(len(trials.trial_ids), max(evaluations))
    slots = _Slots(len(trials.trial_ids), program.places)
    states = program.start(np.asarray(trials.seeds, np.uint32)[slots.trial])
    draw = _Draw(trials, splits.training.inputs.shape[0], batch_size)
    step = 0
    for target, every_split in evaluations.items():
        while step < target and slots.alive.any():
            steps = min(draw.capacity(len(slots.trial)), target - step)
            batches = draw(slots, step, steps)
            states, losses = program.advance(
                states, draw.metaparameters(slots), slots.alive, batches, steps, splits.training
            )
            slots.stop(
                record.add_losses(slots.trial, slots.alive, step, _fetched(losses)[:, :steps])
            )
            on_steps(steps * int(slots.alive.sum()))
            step += steps
        if not slots.alive.any():
            break
        for split, arrays in splits.evaluated(every_split).items():
            loss, wrong = program.evaluate(states, slots.alive, arrays)
            error = _fetched(wrong).astype(np.float64) / arrays.targets.shape[0]
            diverged = record.add_evaluation(
                slots.trial, slots.alive, step, split, _fetched(loss).astype(np.float64), error
            )
            slots.stop(diverged)
        if slots.wasteful():
            states = _kept(states, slots.compact())
    return record


class _Draw:
    """Draws the examples of the next steps for the trials that are alive."""

    def __init__(self, trials: BlockTrials, examples: int, batch_size: int) -> None:
        self._batch_size = batch_size
        self._shared = trials.shared_seed is not None
        seeds = [trials.shared_seed] if trials.shared_seed is not None else trials.seeds
        self._streams = [BatchStream(seed, examples, batch_size) for seed in seeds]
        names = trials.metaparameters[0]
        self._metaparameters = {
            name: np.array([point[name] for point in trials.metaparameters], np.float32)
            for name in names
        }

    def metaparameters(self, slots: _Slots) -> dict[str, np.ndarray]:
        """Name to float32 [places]."""
        return {name: values[slots.trial] for name, values in self._metaparameters.items()}

    def capacity(self, places: int) -> int:
        """Steps that are drawn at a time."""
        streams = 1 if self._shared else places
        return max(1, min(_MOST_STEPS_A_CALL, _DRAWN_AHEAD // (streams * self._batch_size)))

    def __call__(self, slots: _Slots, step: int, steps: int) -> np.ndarray:
        """int32 [places, capacity, batch], or [capacity, batch] where all trials share them."""
        places = len(slots.trial)
        capacity = self.capacity(places)
        streams: list[BatchStream | None]
        if self._shared:
            streams = [self._streams[0]]
        else:
            streams = [
                self._streams[trial] if alive else None
                for trial, alive in zip(slots.trial, slots.alive, strict=True)
            ]
        batches = np.zeros((len(streams), capacity, self._batch_size), np.int32)
        take_all(streams, step, steps, batches)
        return batches[0] if self._shared else batches


def _fetched(array: jax.Array) -> np.ndarray:
    """The array on the host, once it has been computed."""
    return _FETCHER.submit(np.asarray, array).result()


def _kept(states: TrialState, places: np.ndarray) -> TrialState:
    """The states of the given places."""
    import jax

    kept: TrialState = jax.tree.map(lambda array: array[places], states)
    return kept
