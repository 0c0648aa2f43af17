"""How many trials of a study, and how many examples of each, train at a time in devices' memory.

The compiler tells what a call of a block's program takes, by shapes and types alone.
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding

from dbtool.core.errors import DbtoolError, counted
from producers.configuration import SweepOptions
from producers.datasets.forms import Form
from producers.plan import StudyPlan
from producers.training.batches import IndexDraw
from producers.training.block import BlockProgram
from producers.training.mesh import EVERYWHERE
from producers.training.stream import StreamedLayout

Shapes = tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]

# Of a device's memory: evaluations, measurements and what is between arrays take the rest (chosen).
_SHARE = 0.9


def device_memory() -> int | None:
    """Return the bytes of a device that this process may take; None where it tells none: a CPU."""
    statistics = jax.local_devices()[0].memory_stats() or {}
    limit: int | None = statistics.get("bytes_limit")
    return limit


def fitting(
    bytes_of: Callable[[int, int | None], int],
    limit: int,
    side_by_side: list[int],
    micro_batches: list[int | None],
) -> tuple[int, int | None]:
    """Return the trials of a device, and the examples of each, that train at a time within a limit.

    Args:
        bytes_of: what a device takes for so many trials and examples; None for whole batches.
        limit: bytes of a device.
        side_by_side: numbers of trials, from the preferred one down.
        micro_batches: numbers of examples, likewise; smaller ones are for the fewest trials alone.

    Returns:
        The first that fit; the preferred ones where none do.
    """
    tried = [(trials, micro_batches[0]) for trials in side_by_side]
    tried += [(side_by_side[-1], examples) for examples in micro_batches[1:]]
    return next((each for each in tried if bytes_of(*each) <= _SHARE * limit), tried[0])


def halved(number: int) -> list[int]:
    """Return half of a number, half of that, and so on down to 1; none of 1."""
    return [number >> times for times in range(1, number.bit_length())]


def bytes_of_call(program: BlockProgram, arguments: tuple[Any, ...]) -> int:
    """Return the bytes of each device that a call of `compiled_advance` takes, as compiled."""
    try:
        return program_bytes(program.compiled_advance.lower(*arguments).compile().memory_analysis())
    except jax.errors.JaxRuntimeError as error:
        # The compiler of TPUs refuses what does not fit a chip.
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return sys.maxsize


def program_bytes(memory: Any) -> int:
    """Return the bytes of each device that a compiled program takes, from its memory analysis."""
    given: int = memory.argument_size_in_bytes + memory.generated_code_size_in_bytes
    results = memory.output_size_in_bytes - memory.alias_size_in_bytes
    return given + int(results + memory.temp_size_in_bytes)


def abstract_call(
    program: BlockProgram,
    metaparameters: Iterable[str],
    batch_size: int,
    trials: int,
    *,
    in_memory: int | None,
    pruned: bool,
) -> tuple[Any, ...]:
    """Return the shapes and types that a sweep gives to `BlockProgram.compiled_advance`.

    The devices hold `in_memory` training examples; None where batches hold their own.
    """
    slots, form = program.slots(trials), program.trainer.form
    streams = range(1 if program.shared_batches else trials)
    batches: Any
    training = None
    if in_memory is None:
        layout = StreamedLayout(program, len(streams), batch_size)
        batches = abstract_examples(form, *layout.shape(slots), sharding=layout.sharding)
    else:
        everywhere = NamedSharding(program.mesh, EVERYWHERE)
        training = abstract_examples(form, in_memory, sharding=everywhere)
        capacity = IndexDraw(program, streams, in_memory, batch_size).capacity(slots)
        shape = (slots, capacity, *program.batch_shape(batch_size))
        batches = jax.ShapeDtypeStruct(shape[int(program.shared_batches) :], jnp.int32)
    return (
        program.abstract_states(slots, pruned=pruned),
        {name: jax.ShapeDtypeStruct((slots,), jnp.float32) for name in metaparameters},
        jax.ShapeDtypeStruct((slots,), jnp.bool),
        batches,
        jax.ShapeDtypeStruct((), jnp.int32, weak_type=True),
        training,
    )


def abstract_examples(form: Form, *before: int, sharding: NamedSharding) -> Shapes:
    """Return inputs and targets of examples in arrays with these axes before those of each."""
    return (
        jax.ShapeDtypeStruct((*before, *form.input_shape), form.input_dtype, sharding=sharding),
        jax.ShapeDtypeStruct((*before, *form.target_shape), form.target_dtype, sharding=sharding),
    )


def at_a_time(
    study: StudyPlan,
    options: SweepOptions,
    program_of: Callable[[int, int | None], BlockProgram],
    in_memory: int | None,
    wished: tuple[int, int | None],
    limit: int,
) -> tuple[int, int | None]:
    """Return the trials side by side and the micro-batch of a study, where options leave them open.

    Args:
        study: the study.
        options: how to train it; what they say stays.
        program_of: makes the program from both.
        in_memory: how many training examples the devices hold; None where they are read.
        wished: both, where memory is no matter.
        limit: bytes of a device.
    """
    workload = study.workload
    trials = len(study.blocks(range(study.least_trials), options.block)[0])
    largest = study.batch_size * max((factor for _, factor in workload.batch_schedule), default=1)

    def bytes_of(side_by_side: int, micro_batch: int | None) -> int:
        program = program_of(side_by_side, micro_batch)
        names, pruned = dict(workload.search_space), workload.sparsity > 0
        call = abstract_call(program, names, largest, trials, in_memory=in_memory, pruned=pruned)
        return bytes_of_call(program, call)

    side_by_side, micro_batches = [wished[0]], [wished[1]]
    if options.side_by_side is None:
        side_by_side += halved(program_of(*wished).side_by_side(trials))
    if options.micro_batch is None:
        micro_batches += halved(largest)
    return fitting(bytes_of, limit, side_by_side, micro_batches)


def told_choice(study: StudyPlan, trials: int, micro_batch: int | None, limit: int) -> str:
    """Return the sentence on what was chosen for want of memory."""
    examples = "" if micro_batch is None else f", {counted(micro_batch, 'example')} of its batch"
    return (
        f"{study.name} trains {counted(trials, 'trial')} at the same time{examples}, to fit the "
        f"{limit / 1e9:.1f} GB of a device; rows of other numbers (--side-by-side, --micro-batch) "
        "differ in their last digits"
    )


@contextlib.contextmanager
def memory_to_train(study: StudyPlan, trials: int) -> Iterator[None]:
    """Name the remedy where so many trials of a study together need more memory than there is.

    Raises:
        DbtoolError: they need more.
    """
    try:
        yield
    except (jax.errors.JaxRuntimeError, MemoryError) as error:
        # JAX tells by its message alone: the one at compiling and starting, the other at running.
        told = ("RESOURCE_EXHAUSTED" in str(error), "Out of memory" in str(error))
        if not (isinstance(error, MemoryError) or any(told)):
            raise
        if trials == 1:
            remedy = "fewer examples at a time with --micro-batch"
        elif study.search is None:
            remedy = "fewer trials together with --block"
        else:
            remedy = "fewer of them at the same time with --side-by-side"
        raise DbtoolError(
            f"{study.name} with {counted(trials, 'trial')} together needs more memory than there "
            f"is; train {remedy}"
        ) from error
