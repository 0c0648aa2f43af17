"""Which training examples each step takes.

A stream of examples runs through one random permutation of the training set after another; step s
takes the next `batch_size` examples of it, so that a batch may end one epoch and begin the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from producers.seeds import BATCHES

if TYPE_CHECKING:
    from collections.abc import Sequence


class BatchStream:
    """The batch order of one trial.

    Args:
        seed: the trial's seed, or the study's where its trials share batches.
        examples: size of the training set.
        batch_size: examples a step.
    """

    def __init__(self, seed: int, examples: int, batch_size: int) -> None:
        self._seed = seed
        self._examples = examples
        self._batch_size = batch_size
        self._epoch = -1
        self._order = np.empty(0, np.int32)

    def take(self, first_step: int, steps: int) -> np.ndarray:
        """The examples of some consecutive steps.

        Args:
            first_step: updates made before the first of these steps.
            steps: how many.

        Returns:
            int32 [steps, batch_size], numbers of training examples.
        """
        position = first_step * self._batch_size
        end = position + steps * self._batch_size
        pieces = []
        while position < end:
            epoch, offset = divmod(position, self._examples)
            count = min(self._examples - offset, end - position)
            pieces.append(self._permutation(epoch)[offset : offset + count])
            position += count
        return np.concatenate(pieces).reshape(steps, self._batch_size)

    def _permutation(self, epoch: int) -> np.ndarray:
        """The order of an epoch, which follows from the seed and the epoch alone."""
        if epoch != self._epoch:
            bits = np.random.Philox(np.random.SeedSequence([self._seed, BATCHES, epoch]))
            order = np.arange(self._examples, dtype=np.int32)
            np.random.Generator(bits).shuffle(order)
            self._epoch, self._order = epoch, order
        return self._order


def take_all(
    streams: Sequence[BatchStream | None], first_step: int, steps: int, into: np.ndarray
) -> None:
    """Fills the examples of some consecutive steps of several trials.

    Args:
        streams: one a trial; None leaves that trial's numbers as they are.
        first_step: updates made before the first of these steps.
        steps: how many.
        into: int32 [trials, at least steps, batch_size].
    """
    for row, stream in zip(into, streams, strict=True):
        if stream is not None:
            row[:steps] = stream.take(first_step, steps)
