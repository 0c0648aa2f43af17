"""The batches of a block of trials, call by call of the compiled program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from producers.training.batches import BatchStream, take_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from producers.training.block import BlockProgram

# Bounds the memory of the examples' numbers that are drawn ahead of a compiled call.
_DRAWN_AHEAD = 16_000_000
_MOST_STEPS_A_CALL = 1_024


class Draw(Protocol):
    """Gives a compiled call its batches."""

    def capacity(self, places: int) -> int:
        """Most steps of a call on so many places."""
        ...

    def __call__(self, trials: np.ndarray, alive: np.ndarray, first_step: int, steps: int) -> Any:
        """The batches of some consecutive steps, as `BlockProgram.advance` takes them.

        Args:
            trials: int [places], the trial of each place.
            alive: bool [places]; others may get anything.
            first_step: updates made before the first of these steps.
            steps: at most the capacity.
        """
        ...


class IndexDraw:
    """Draws the numbers of training examples that the devices hold.

    Args:
        program: says how batches are laid out.
        seeds: of the trials' batch orders; of one where all trials share their batches.
        examples: size of the training set.
        batch_size: examples a step.
    """

    def __init__(
        self, program: BlockProgram, seeds: Sequence[int], examples: int, batch_size: int
    ) -> None:
        self._shared = program.shared_batches
        self._batch_size = batch_size
        self._shape = program.batch_shape(batch_size)
        self._streams = [BatchStream(seed, examples, batch_size) for seed in seeds]

    def capacity(self, places: int) -> int:
        """Most steps of a call on so many places."""
        streams = 1 if self._shared else places
        return max(1, min(_MOST_STEPS_A_CALL, _DRAWN_AHEAD // (streams * self._batch_size)))

    def __call__(
        self, trials: np.ndarray, alive: np.ndarray, first_step: int, steps: int
    ) -> np.ndarray:
        """int32 [places, capacity, micro-batches, micro-batch]; shared ones lack the first axis."""
        streams: list[BatchStream | None] = [self._streams[0]]
        if not self._shared:
            streams = [
                self._streams[trial] if living else None
                for trial, living in zip(trials, alive, strict=True)
            ]
        capacity = self.capacity(len(trials))
        examples = np.zeros((len(streams), capacity, self._batch_size), np.int32)
        take_all(streams, first_step, steps, examples)
        batches = examples.reshape(len(streams), capacity, *self._shape)
        return batches[0] if self._shared else batches
