"""Read examples from files while the devices train, for data sets larger than memory.

The batches are those that a data set in memory would give. Every process reads only the examples
that its own devices take, a few calls ahead, in threads.
"""

import functools
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from producers.datasets.forms import Form, ImageForm
from producers.datasets.split import ExampleSource, Split
from producers.seeds import AUGMENTATION
from producers.training.batches import BatchStream
from producers.training.block import BlockProgram
from producers.training.mesh import DATA, TRIAL, from_processes
from producers.training.parts import Parts

WAITED = "/dbtool/waited_for_examples"
"""The event of JAX's monitoring that has the seconds that training waited before a call."""
_BYTES_A_CALL = 128 * 2**20
_BYTES_OF_A_STEP = 2**30
_MOST_STEPS_A_CALL = 1_024
_CALLS_AHEAD = 2
_EXAMPLES_A_PIECE = 64
# The first step, how many steps, and the number of the part of their micro-batches.
_Call = tuple[int, int, int]
_Wanted = TypeVar("_Wanted")
_Read = TypeVar("_Read")
_READERS = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="examples")


def calls(targets: Sequence[int], capacity: int, first_step: int) -> list[tuple[int, int]]:
    """Return the calls that lead from a step to each of the targets in turn.

    Each is its first step, and how many consecutive steps the devices take in it.
    """
    found = []
    step = first_step
    for target in targets:
        while step < target:
            found.append((step, min(capacity, target - step)))
            step += found[-1][1]
    return found


class StreamedLayout:
    """How the examples of calls that are read in `streams` batch orders lie on the devices.

    Attributes:
        capacity: the most steps of a call.
        parts: in which a step's micro-batches are read: one, or as few as fit a call. Programs for
            parts round the last digits otherwise, so that only what hosts hardly hold has any.
        micro_batches: of a part.
        micro_batch: examples of each.
        sharding: of inputs and of targets, whose first axes are `shape`.
    """

    def __init__(self, program: BlockProgram, streams: int, batch_size: int) -> None:
        bytes_an_example = streams * _bytes_an_example(program.trainer.form)
        in_all, self.micro_batch = program.batch_shape(batch_size)
        bytes_a_step = batch_size * bytes_an_example
        self.capacity = max(1, min(_MOST_STEPS_A_CALL, _BYTES_A_CALL // bytes_a_step))
        most = in_all
        if bytes_a_step > _BYTES_OF_A_STEP:
            most = max(1, _BYTES_A_CALL // (self.micro_batch * bytes_an_example))
        fitting = range(1, in_all + 1)
        self.parts = next(n for n in fitting if in_all % n == 0 and in_all // n <= most)
        self.micro_batches = in_all // self.parts
        self._divided = None if self.micro_batch % program.devices_a_trial else DATA
        self._mesh = program.mesh
        # Of those without the axis of the trials, which share them.
        self._first = int(program.shared_batches)
        axes = (TRIAL, None, None, self._divided)
        self.sharding = NamedSharding(program.mesh, PartitionSpec(*axes[self._first :]))

    def shape(self, slots: int) -> tuple[int, ...]:
        """Return [slots, steps, micro-batches, micro-batch], without slots where all share them."""
        whole = (slots, self.capacity, self.micro_batches, self.micro_batch)
        return whole[self._first :]

    @functools.cached_property
    def here(self) -> slice:
        """The part of each micro-batch that this process's devices take."""
        return _extent(NamedSharding(self._mesh, PartitionSpec(self._divided)), self.micro_batch)


class StreamedDraw:
    """Reader of the examples of each call, some calls ahead.

    The program says how batches are laid out, and which devices take what; seeds are as `IndexDraw`
    takes them, `begin` as `BatchStream` does. Calls end at the targets, which are in order.
    """

    def __init__(
        self,
        program: BlockProgram,
        source: ExampleSource,
        seeds: Sequence[int],
        *,
        batch_size: int,
        begin: tuple[int, int] = (0, 0),
        augmentation: bool,
        targets: Sequence[int],
        first_step: int = 0,
    ) -> None:
        self._program = program
        self._source = source
        self._augmentation = augmentation
        self._seeds = seeds
        self._stream = functools.partial(
            BatchStream, examples=len(source), batch_size=batch_size, begin=begin
        )
        self._streams = [self._stream(seed) for seed in seeds]
        self._layout = StreamedLayout(program, len(seeds), batch_size)
        # Trials start in the order of the slots, which are filled up with the last one.
        first = np.minimum(np.arange(program.slots(len(seeds))), len(seeds) - 1)
        self._wanted = frozenset(self._slots_here(first, np.ones(len(first), bool)).values())
        self._calls = _ahead(
            self._read,
            [
                (*call, part)
                for call in calls(targets, self._layout.capacity, first_step)
                for part in range(self._layout.parts)
            ],
        )

    def capacity(self, slots: int) -> int:
        """Return the most steps of a call, on any number of slots."""
        del slots
        return self._layout.capacity

    def __call__(self, trials: np.ndarray, alive: np.ndarray, first_step: int, steps: int) -> Any:
        """Return inputs and targets on the devices, as `BlockProgram.advance` takes them."""
        count = self._layout.parts
        parts = (self._part(trials, alive, (first_step, steps, part)) for part in range(count))
        return next(parts) if count == 1 else Parts(count * self._layout.micro_batches, parts)

    def _part(self, trials: np.ndarray, alive: np.ndarray, due: _Call) -> Any:
        started = time.perf_counter()
        call, read = next(self._calls)
        if call != due:
            raise ValueError(f"the call {due} is due, and {call} was read")
        slots = self._slots_here(trials, alive)
        wanted = frozenset(slots.values())
        for trial in wanted - read.keys():
            # The block has shrunk and moved this trial to this process. The thread that reads
            # ahead may be using the trial's own stream.
            read[trial] = self._read_trial(trial, self._stream(self._seeds[trial]), call)
        # Those that have ended need not be read for later calls.
        self._wanted = wanted
        count = 1 if self._program.shared_batches else len(trials)
        of_slots = [read[slots[slot]] if slot in slots else None for slot in range(count)]
        jax.monitoring.record_event_duration_secs(WAITED, time.perf_counter() - started)
        return self._on_devices(of_slots, "inputs"), self._on_devices(of_slots, "targets")

    def _slots_here(self, trials: np.ndarray, alive: np.ndarray) -> dict[int, int]:
        """Return the trial of each slot that is alive and on a device of this process.

        Where trials share their batches, the only slot is that of the batches.
        """
        if self._program.shared_batches:
            return {0: 0}
        sharding = NamedSharding(self._program.mesh, PartitionSpec(TRIAL))
        parts = sharding.addressable_devices_indices_map((len(trials),)).values()
        here = {slot for part in parts if part for slot in range(len(trials))[part[0]]}
        return {slot: int(trials[slot]) for slot in sorted(here) if alive[slot]}

    def _read(self, call: _Call) -> dict[int, Split]:
        wanted = sorted(self._wanted)
        return {trial: self._read_trial(trial, self._streams[trial], call) for trial in wanted}

    def _read_trial(self, trial: int, stream: BatchStream, call: _Call) -> Split:
        """Read arrays [steps, micro-batches, this process's part of a micro-batch, ...]."""
        first_step, count, part = call
        batches = stream.take(first_step, count)
        layout = self._layout
        shape = (count, -1, layout.micro_batch)
        first = part * layout.micro_batches
        here = (slice(None), slice(first, first + layout.micro_batches), layout.here)
        taken = batches.reshape(shape)[here]
        # The step and the number in its batch of each example that this process takes.
        steps, numbers = (
            np.asarray(each).reshape(shape)[here].ravel()
            for each in np.indices(batches.shape, dtype=np.int64)
        )

        def generator(index: int) -> np.random.Generator:
            """Make the generator of an example's crop and flip, whichever process reads it."""
            parts = [self._seeds[trial], AUGMENTATION, first_step + steps[index], numbers[index]]
            return np.random.default_rng(parts)

        read = _read_all(self._source, taken.ravel(), generator if self._augmentation else None)
        return Split(
            read.inputs.reshape(*taken.shape, *read.inputs.shape[1:]),
            read.targets.reshape(*taken.shape, *read.targets.shape[1:]),
        )

    def _on_devices(self, read: Sequence[Split | None], part: str) -> jax.Array:
        """Return one array of a call from the examples of each slot, zeros where there are none."""
        some = next((getattr(split, part)[0, 0] for split in read if split is not None), None)
        like = getattr(self._like, part) if some is None else some
        layout, here = self._layout, self._layout.here
        of_slot = (layout.capacity, layout.micro_batches, here.stop - here.start, *like.shape[1:])
        local = np.zeros((len(read), *of_slot), like.dtype)
        for row, split in zip(local, read, strict=True):
            if split is not None:
                of_trial = getattr(split, part)
                row[: len(of_trial)] = of_trial
        local = local[0] if self._program.shared_batches else local
        return from_processes(layout.sharding, local, (*layout.shape(len(read)), *like.shape[1:]))

    @functools.cached_property
    def _like(self) -> Split:
        """Read an example for its shapes and types: a process may hold no trial that is alive."""
        return self._source.read(np.zeros(1, np.int64), None)


def streamed_slices(
    program: BlockProgram, source: ExampleSource, size: int
) -> Iterator[tuple[jax.Array, jax.Array]]:
    """Yield the examples of a split in order, some at a time, on every device.

    Of slices of `size` examples, which are evaluated at a time, as many as memory allows are read
    together.
    """
    form = program.trainer.form.evaluated
    many = max(1, _BYTES_A_CALL // (size * _bytes_an_example(form))) * size
    starts = list(range(0, len(source), many))
    whole = functools.partial(_whole_slice, program.mesh)

    def read(start: int) -> tuple[Split, slice]:
        stop = min(start + many, len(source))
        here = _share_of_process(program.mesh, stop - start)
        numbers = np.arange(start + here.start, min(start + here.stop, stop))
        return _read_all(source, numbers, None), here

    for start, (split, here) in _ahead(read, starts):
        count = min(many, len(source) - start)
        yield whole(split.inputs, here, count), whole(split.targets, here, count)


def _share_of_process(mesh: jax.sharding.Mesh, count: int) -> slice:
    """Return which of some examples this process reads for all; the last share may end beyond them.

    No share is empty, so that every process knows the examples' shape: where they are too few for
    that, each process reads all.
    """
    rows = -(-count // mesh.size)
    if not mesh.is_multi_process or rows * (mesh.size - 1) >= count:
        return slice(0, count)
    return _extent(NamedSharding(mesh, PartitionSpec((TRIAL, DATA))), rows * mesh.size)


def _whole_slice(mesh: jax.sharding.Mesh, local: np.ndarray, here: slice, count: int) -> jax.Array:
    """Put `count` examples on every device, of which this process has read a part."""
    everywhere = NamedSharding(mesh, PartitionSpec())
    if (here.start, here.stop) == (0, count):
        return from_processes(everywhere, local, local.shape)
    # Devices hold equally many; examples beyond the last are zeros and cut off again.
    missing = here.stop - here.start - len(local)
    filled = np.concatenate([local, np.zeros((missing, *local.shape[1:]), local.dtype)])
    by_device = NamedSharding(mesh, PartitionSpec((TRIAL, DATA)))
    shape = (-(-count // mesh.size) * mesh.size, *local.shape[1:])
    parts = from_processes(by_device, filled, shape)
    return _first_rows(count, everywhere)(parts)


@functools.cache
def _first_rows(count: int, sharding: NamedSharding) -> Callable[[jax.Array], jax.Array]:
    return jax.jit(lambda array: array[:count], out_shardings=sharding)


def _ahead(
    read: Callable[[_Wanted], _Read], wanted: Sequence[_Wanted]
) -> Iterator[tuple[_Wanted, _Read]]:
    """Yield each argument with the function's result, in order, computed ahead in a thread."""
    # Takes a second to import, which training on data in memory need not wait for.
    import grain

    options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=_CALLS_AHEAD)
    ahead = grain.MapDataset.range(len(wanted)).map(lambda number: read(wanted[number]))
    return zip(wanted, ahead.to_iter_dataset(options), strict=True)


def _read_all(
    source: ExampleSource,
    examples: np.ndarray,
    generator: Callable[[int], np.random.Generator] | None,
) -> Split:
    def read(start: int) -> list[Split]:
        numbers = examples[start : start + _EXAMPLES_A_PIECE]
        if generator is None:
            return [source.read(numbers, None)]
        return [
            source.read(examples[number : number + 1], generator(number))
            for number in range(start, start + len(numbers))
        ]

    pieces = _READERS.map(read, range(0, len(examples), _EXAMPLES_A_PIECE))
    splits = [split for piece in pieces for split in piece]
    return Split(
        np.concatenate([split.inputs for split in splits]),
        np.concatenate([split.targets for split in splits]),
    )


def _bytes_an_example(form: Form) -> int:
    inputs = math.prod(form.input_shape) * np.dtype(form.input_dtype).itemsize
    return inputs + (form.classes if isinstance(form, ImageForm) else inputs)


def _extent(sharding: NamedSharding, count: int) -> slice:
    """Return the slice from the first to the last row on this process's devices."""
    parts = sharding.addressable_devices_indices_map((count,)).values()
    bounds = [part[0].indices(count) for part in parts if part]
    return slice(min(bound[0] for bound in bounds), max(bound[1] for bound in bounds))
