"""The progress of a block of trials, and the trial in each slot of the device arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from producers.training.block_record import BlockRecord
    from producers.training.step import TrialState


class Slots:
    """The slots of a block, and which of their trials are still trained.

    The block is filled up with copies of its last trial that are never alive, since all devices
    hold equally many slots.

    Args:
        trials: how many trials the block has.
        slots: how many slots hold so many trials.

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

    def wasteful(self) -> bool:
        """Return whether half as many slots would do."""
        alive = int(self.alive.sum())
        return alive > 0 and self._slots_for(alive) <= len(self.trial) // 2

    def uneven(self, devices: int) -> bool:
        """Return whether a device has more trials alive than an even share of them."""
        alive = self.alive.reshape(devices, -1).sum(1)
        return bool(alive.max() > -(-alive.sum() // devices))

    def even(self, devices: int) -> np.ndarray:
        """Deal the slots alive out evenly to the devices; return their order, int [slots]."""
        by_life = np.argsort(~self.alive, kind="stable")
        order: np.ndarray = by_life.reshape(-1, devices).T.ravel()
        self.trial, self.alive = self.trial[order], self.alive[order]
        return order

    def compact(self) -> np.ndarray:
        """Keep the fewest slots that hold live trials; return which slots, int [new slots]."""
        kept = np.flatnonzero(self.alive)
        count = self._slots_for(len(kept))
        order = np.concatenate([kept, np.full(count - len(kept), kept[-1])])
        self.trial = self.trial[order]
        self.alive = np.arange(count) < len(kept)
        return order


@dataclass
class Progress:
    """The progress of a block, as a checkpoint stores it.

    Attributes:
        states: of all slots.
        slots: which trial each of them holds.
        record: the measurements so far.
        step: updates made.
    """

    states: TrialState
    slots: Slots
    record: BlockRecord
    step: int = 0
