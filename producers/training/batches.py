"""The training examples of each step.

A stream of examples runs through one random permutation of the training set after another; step s
takes the next `batch_size` examples of it, so that a batch may end one epoch and begin the next.
Where the batch size changes, the stream goes on with the example after the last that was taken.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from producers.seeds import BATCHES

if TYPE_CHECKING:
    from producers.training.block import BlockProgram

BatchSchedule = tuple[tuple[int, int], ...]

# Bounds the memory of the examples' numbers that are drawn ahead of a compiled call.
_DRAWN_AHEAD = 16_000_000
_MOST_STEPS_A_CALL = 1_024


@dataclass(frozen=True)
class Phase:
    """Consecutive steps of a trial whose batches have one size.

    Attributes:
        batch_size: examples a step.
        factor: how many times as large the batches are as those of the first phase.
        begin: updates made, and training examples taken, before the first of these steps.
        end: updates made after the last of them.
    """

    batch_size: int
    factor: int
    begin: tuple[int, int]
    end: int


def phases(batch_size: int, batch_schedule: BatchSchedule, train_steps: int) -> Iterator[Phase]:
    """Yield the phases of a trial, in order.

    Args:
        batch_size: of the first.
        batch_schedule: the steps after which batches are larger, increasing, each with how many
            times as large as the first ones.
        train_steps: of the trial.

    Example:
        >>> [(each.batch_size, each.begin) for each in phases(64, ((500, 2), (2_000, 4)), 3_000)]
        [(64, (0, 0)), (128, (500, 32000)), (256, (2000, 224000))]
    """
    factor, step, examples = 1, 0, 0
    changes = [change for change in batch_schedule if change[0] < train_steps]
    for end, next_factor in [*changes, (train_steps, 1)]:
        size = batch_size * factor
        yield Phase(size, factor, (step, examples), end)
        examples += size * (end - step)
        factor, step = next_factor, end


class BatchStream:
    """The batch order of one trial.

    The seed is the trial's, or the study's where its trials share batches. Before the first batch
    of this size, so many updates were made and examples taken as `begin` says.
    """

    def __init__(
        self, seed: int, examples: int, batch_size: int, begin: tuple[int, int] = (0, 0)
    ) -> None:
        self._seed = seed
        self._examples = examples
        self._batch_size = batch_size
        self._begin = begin
        self._epoch = -1
        self._order = np.empty(0, np.int32)

    def take(self, first_step: int, steps: int) -> np.ndarray:
        """Return the numbers of the examples of some steps, int32 [steps, batch_size].

        The first of these steps comes after `first_step` updates.
        """
        begin, taken = self._begin
        position = taken + (first_step - begin) * self._batch_size
        end = position + steps * self._batch_size
        pieces = []
        while position < end:
            epoch, offset = divmod(position, self._examples)
            count = min(self._examples - offset, end - position)
            pieces.append(self._permutation(epoch)[offset : offset + count])
            position += count
        return np.concatenate(pieces).reshape(steps, self._batch_size)

    def _permutation(self, epoch: int) -> np.ndarray:
        if epoch != self._epoch:
            bits = np.random.Philox(np.random.SeedSequence([self._seed, BATCHES, epoch]))
            order = np.arange(self._examples, dtype=np.int32)
            np.random.Generator(bits).shuffle(order)
            self._epoch, self._order = epoch, order
        return self._order


class IndexDraw:
    """Drawing of the numbers of training examples that the devices hold.

    The program says how batches are laid out. The seeds are those of the trials' batch orders, of
    one where all trials share their batches; the rest is as `BatchStream` takes it.
    """

    def __init__(
        self,
        program: "BlockProgram",
        seeds: Sequence[int],
        examples: int,
        batch_size: int,
        begin: tuple[int, int] = (0, 0),
    ) -> None:
        self._shared = program.shared_batches
        self._batch_size = batch_size
        self._shape = program.batch_shape(batch_size)
        self._streams = [BatchStream(seed, examples, batch_size, begin) for seed in seeds]

    def capacity(self, slots: int) -> int:
        """Return the most steps of a call on `slots` slots."""
        streams = 1 if self._shared else slots
        return max(1, min(_MOST_STEPS_A_CALL, _DRAWN_AHEAD // (streams * self._batch_size)))

    def __call__(
        self, trials: np.ndarray, alive: np.ndarray, first_step: int, steps: int
    ) -> np.ndarray:
        """Return the batches of some consecutive steps, as `BlockProgram.advance` takes them.

        Args:
            trials: int [slots], the trial of each slot.
            alive: bool [slots]; others get zeros.
            first_step: updates made before the first of these steps.
            steps: at most the capacity.

        Returns:
            int32 [slots, capacity, micro-batches, micro-batch]; shared ones lack the first axis.
        """
        capacity = self.capacity(len(trials))
        drawn = [0] if self._shared else trials
        examples = np.zeros((len(drawn), capacity, self._batch_size), np.int32)
        for row, trial, living in zip(examples, drawn, alive, strict=False):
            if living or self._shared:
                row[:steps] = self._streams[trial].take(first_step, steps)
        batches = examples.reshape(len(drawn), capacity, *self._shape)
        return batches[0] if self._shared else batches
