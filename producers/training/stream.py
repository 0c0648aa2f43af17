"""Reading examples from files while the devices train, for data sets that memory does not hold.

The batches are those that a data set in memory would give. Every process reads only the examples
that its own devices take, a few calls ahead, in threads.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import grain
import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from producers.datasets import ImageForm, Split
from producers.seeds import AUGMENTATION
from producers.training.batches import BatchStream
from producers.training.mesh import DATA, TRIAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from producers.datasets import ExampleSource
    from producers.datasets.forms import Form
    from producers.training.block import BlockProgram

_BYTES_A_CALL = 128 * 2**20
_MOST_STEPS_A_CALL = 1_024
_CALLS_AHEAD = 2
_EXAMPLES_A_PIECE = 64
_Wanted = TypeVar("_Wanted")
_Read = TypeVar("_Read")
_READERS = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="examples")


@dataclass(frozen=True)
class Call:
    """Some consecutive steps that the devices take in one call."""

    first_step: int
    steps: int


def calls(targets: Sequence[int], capacity: int, first_step: int) -> list[Call]:
    """The calls that lead from a step to each of the given ones in turn."""
    found: list[Call] = []
    step = first_step
    for target in targets:
        while step < target:
            found.append(Call(step, min(capacity, target - step)))
            step += found[-1].steps
    return found


@dataclass(frozen=True)
class _Augmented:
    """What the crops and flips of some examples follow from, whichever process reads them.

    Attributes:
        seed: of the trial's batch order.
        steps: int [n], the updates before each example's step.
        positions: int [n], the example's place in its batch.
    """

    seed: int
    steps: np.ndarray
    positions: np.ndarray

    def generator(self, number: int) -> np.random.Generator:
        """The random numbers of one of the examples."""
        parts = [self.seed, AUGMENTATION, self.steps[number], self.positions[number]]
        return np.random.default_rng(parts)


class StreamedDraw:
    """Reads the examples of each call, some calls ahead.

    Args:
        program: says how batches are laid out, and which devices take what.
        source: the training examples.
        form: what they look like.
        seeds: of the trials' batch orders; of one where all trials share their batches.
        batch_size: examples a step.
        augmentation: whether images are cropped and flipped at random.
        targets: the steps at which calls end, in order.
        first_step: where training begins, or goes on.

    Attributes:
        waited: seconds that training has waited for examples.
    """

    def __init__(
        self,
        program: BlockProgram,
        source: ExampleSource,
        form: Form,
        seeds: Sequence[int],
        *,
        batch_size: int,
        augmentation: bool,
        targets: Sequence[int],
        first_step: int = 0,
    ) -> None:
        self.waited = 0.0
        self._program = program
        self._source = source
        self._form = form
        self._seeds = seeds
        self._augmentation = augmentation
        self._streams = [BatchStream(seed, len(source), batch_size) for seed in seeds]
        self._shape = program.batch_shape(batch_size)
        bytes_a_step = len(seeds) * batch_size * _bytes_an_example(form)
        self._capacity = max(1, min(_MOST_STEPS_A_CALL, _BYTES_A_CALL // bytes_a_step))
        self._wanted = frozenset(range(len(seeds)))
        self._calls = _ahead(self._read, calls(targets, self._capacity, first_step))

    def capacity(self, places: int) -> int:
        """Most steps of a call, on any number of places."""
        del places
        return self._capacity

    def __call__(self, trials: np.ndarray, alive: np.ndarray, first_step: int, steps: int) -> Any:
        """Inputs and targets on the devices, as `BlockProgram.advance` takes them."""
        started = time.perf_counter()
        call, read = next(self._calls)
        self.waited += time.perf_counter() - started
        if call != Call(first_step, steps):
            raise ValueError(f"{steps} steps from {first_step} were asked for, and {call} was read")
        if self._program.shared_batches:
            places = np.zeros(1, np.int64)
        else:
            places = np.where(alive, trials, -1)
            # Those that have ended need not be read for later calls.
            self._wanted = frozenset(trials[alive].tolist())
        of_places = [None if place < 0 else read[place] for place in places.tolist()]
        return self._on_devices(of_places, "inputs"), self._on_devices(of_places, "targets")

    def _read(self, call: Call) -> dict[int, Split]:
        """The examples of each trial for a call: those that this process takes."""
        wanted = self._wanted
        return {trial: self._read_trial(trial, call) for trial in sorted(wanted)}

    def _read_trial(self, trial: int, call: Call) -> Split:
        """[steps, micro-batches, this process's part of a micro-batch, ...]."""
        batches = self._streams[trial].take(call.first_step, call.steps)
        steps, positions = (np.asarray(a) for a in np.indices(batches.shape, dtype=np.int64))
        part = self._part_of_micro_batches()
        shape = (call.steps, *self._shape)
        taken = batches.reshape(shape)[:, :, part]
        augmented = None
        if self._augmentation:
            augmented = _Augmented(
                self._seeds[trial],
                steps.reshape(shape)[:, :, part].ravel() + call.first_step,
                positions.reshape(shape)[:, :, part].ravel(),
            )
        read = _read_all(self._source, taken.ravel(), augmented)
        return Split(
            read.inputs.reshape(*taken.shape, *read.inputs.shape[1:]),
            read.targets.reshape(*taken.shape, *read.targets.shape[1:]),
        )

    def _part_of_micro_batches(self) -> slice:
        """Which examples of a micro-batch the devices of this process take."""
        micro_batch = self._shape[1]
        sharding = NamedSharding(self._program.mesh, PartitionSpec(self._data_axis()))
        of_devices = sharding.addressable_devices_indices_map((micro_batch,))
        parts = [part[0].indices(micro_batch) for part in of_devices.values() if part]
        return slice(min(part[0] for part in parts), max(part[1] for part in parts))

    def _data_axis(self) -> str | None:
        """The axis of the mesh that micro-batches are divided over; None where they cannot be."""
        return None if self._shape[1] % self._program.devices_a_trial else DATA

    def _on_devices(self, read: Sequence[Split | None], part: str) -> jax.Array:
        """One array of a call from the examples of each place, zeros where there are none."""
        some = next(getattr(split, part) for split in read if split is not None)
        local = np.zeros((len(read), self._capacity, *some.shape[1:]), some.dtype)
        for row, split in zip(local, read, strict=True):
            if split is not None:
                row[: len(some)] = getattr(split, part)
        axes: tuple[str | None, ...] = (TRIAL, None, None, self._data_axis())
        shape = (len(read), self._capacity, *self._shape, *some.shape[3:])
        if self._program.shared_batches:
            local, axes, shape = local[0], axes[1:], shape[1:]
        sharding = NamedSharding(self._program.mesh, PartitionSpec(*axes))
        return _from_this_process(sharding, local, shape)


def streamed_slices(
    program: BlockProgram, source: ExampleSource, form: Form, size: int
) -> Iterator[tuple[jax.Array, jax.Array]]:
    """The examples of a split in their order, some at a time, on every device.

    Args:
        program: says which devices.
        source: the examples.
        form: what they look like.
        size: examples that are evaluated at a time; as many of these as memory allows are read
            together.
    """
    many = max(1, _BYTES_A_CALL // (size * _bytes_an_example(form))) * size
    starts = list(range(0, len(source), many))

    def read(start: int) -> Split:
        return _read_all(source, np.arange(start, min(start + many, len(source))), None)

    everywhere = NamedSharding(program.mesh, PartitionSpec())
    for _, split in _ahead(read, starts):
        yield (
            _from_this_process(everywhere, split.inputs, split.inputs.shape),
            _from_this_process(everywhere, split.targets, split.targets.shape),
        )


def _ahead(
    read: Callable[[_Wanted], _Read], wanted: Sequence[_Wanted]
) -> Iterator[tuple[_Wanted, _Read]]:
    """What a function returns for each of some things, in order, computed ahead in a thread."""
    options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=_CALLS_AHEAD)
    ahead = grain.MapDataset.range(len(wanted)).map(lambda number: read(wanted[number]))
    return zip(wanted, ahead.to_iter_dataset(options), strict=True)


def _read_all(source: ExampleSource, examples: np.ndarray, augmented: _Augmented | None) -> Split:
    """Reads examples, int [n] their numbers, in several threads."""

    def read(start: int) -> list[Split]:
        numbers = examples[start : start + _EXAMPLES_A_PIECE]
        if augmented is None:
            return [source.read(numbers, None)]
        return [
            source.read(examples[number : number + 1], augmented.generator(number))
            for number in range(start, start + len(numbers))
        ]

    pieces = _READERS.map(read, range(0, len(examples), _EXAMPLES_A_PIECE))
    splits = [split for piece in pieces for split in piece]
    return Split(
        np.concatenate([split.inputs for split in splits]),
        np.concatenate([split.targets for split in splits]),
    )


def _bytes_an_example(form: Form) -> int:
    inputs = int(np.prod(form.input_shape)) * np.dtype(form.input_dtype).itemsize
    return inputs + (form.classes if isinstance(form, ImageForm) else inputs)


def _from_this_process(
    sharding: NamedSharding, local: np.ndarray, shape: tuple[int, ...]
) -> jax.Array:
    """The whole array, of which this process holds the part that its devices take."""
    whole: jax.Array = jax.make_array_from_process_local_data(sharding, local, shape)
    return whole
