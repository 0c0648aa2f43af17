"""Which trial each place of the device arrays holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


class Slots:
    """The places of a block, and which of their trials are still trained.

    The block is filled up with copies of its last trial that are never alive, since all devices
    hold equally many places.

    Args:
        trials: how many trials the block has.
        places: how many places hold so many trials.

    Attributes:
        trial: int [places], the number in the block of each place's trial.
        alive: bool [places], whether the place is trained.
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

    def uneven(self, devices: int) -> bool:
        """Whether a device has more trials alive than an even share of them."""
        alive = self.alive.reshape(devices, -1).sum(1)
        return bool(alive.max() > -(-alive.sum() // devices))

    def even(self, devices: int) -> np.ndarray:
        """Deals the places alive out evenly to the devices; returns their order, int [places]."""
        by_life = np.argsort(~self.alive, kind="stable")
        order: np.ndarray = by_life.reshape(-1, devices).T.ravel()
        self.trial, self.alive = self.trial[order], self.alive[order]
        return order

    def compact(self) -> np.ndarray:
        """Keeps as few places as hold those alive; returns which places, int [new places]."""
        kept = np.flatnonzero(self.alive)
        count = self._places(len(kept))
        order = np.concatenate([kept, np.full(count - len(kept), kept[-1])])
        self.trial = self.trial[order]
        self.alive = np.arange(count) < len(kept)
        return order
