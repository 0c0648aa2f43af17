"""What the programs of a block take, by shapes and types alone.

So they can be lowered for another platform, or compiled for devices that are not there, without
data, weights or memory for them.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from producers.datasets.forms import Form
from producers.datasets.registry import DATASETS
from producers.training.batches import IndexDraw
from producers.training.block import BlockProgram
from producers.training.mesh import DATA, EVERYWHERE, TRIAL
from producers.training.stream import steps_a_call
from producers.workloads.definition import Workload


def abstract_advance(
    program: BlockProgram, workload: Workload, batch_size: int, trials: int
) -> tuple[Any, ...]:
    """The arguments that a sweep gives to `BlockProgram.compiled_advance`.

    Args:
        program: of the workload's functions.
        workload: the workload.
        batch_size: examples a step.
        trials: of the block.
    """
    slots = program.slots(trials)
    steps = jax.ShapeDtypeStruct((), jnp.int32, weak_type=True)
    batches: Any
    training = None
    if DATASETS[workload.source].is_streamed:
        batches = _streamed_batches(program, workload.form, batch_size, trials)
    else:
        everywhere = NamedSharding(program.mesh, EVERYWHERE)
        training = _examples(workload.form, workload.train_examples, sharding=everywhere)
        draw = IndexDraw(program, _streams(program, trials), workload.train_examples, batch_size)
        capacity = draw.capacity(slots)
        shape = (capacity, *program.batch_shape(batch_size))
        of_slots = () if program.shared_batches else (slots,)
        batches = jax.ShapeDtypeStruct((*of_slots, *shape), jnp.int32)
    return (
        program.abstract_states(slots, pruned=workload.sparsity > 0),
        {name: jax.ShapeDtypeStruct((slots,), jnp.float32) for name, _ in workload.search_space},
        jax.ShapeDtypeStruct((slots,), jnp.bool),
        batches,
        steps,
        training,
    )


def abstract_evaluate(
    program: BlockProgram, workload: Workload, examples: int, trials: int
) -> tuple[Any, ...]:
    """The arguments of `BlockProgram.compiled_evaluate` for so many held-out examples together."""
    slots = program.slots(trials)
    return (
        program.abstract_states(slots, pruned=False),
        jax.ShapeDtypeStruct((slots,), jnp.bool),
        _examples(
            workload.form.evaluated, examples, sharding=NamedSharding(program.mesh, EVERYWHERE)
        ),
    )


def _streams(program: BlockProgram, trials: int) -> range:
    return range(1 if program.shared_batches else trials)


def _examples(
    form: Form, *before: int, sharding: NamedSharding
) -> tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]:
    """Inputs and targets of examples in arrays with these axes."""
    return (
        jax.ShapeDtypeStruct((*before, *form.input_shape), form.input_dtype, sharding=sharding),
        jax.ShapeDtypeStruct((*before, *form.target_shape), form.target_dtype, sharding=sharding),
    )


def _streamed_batches(
    program: BlockProgram, form: Form, batch_size: int, trials: int
) -> tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]:
    """Inputs and targets of the steps of a call, laid out as `StreamedDraw` does."""
    capacity = steps_a_call(form, len(_streams(program, trials)), batch_size)
    micro_batches, micro_batch = program.batch_shape(batch_size)
    divided = None if micro_batch % program.devices_a_trial else DATA
    axes: tuple[str | None, ...] = (TRIAL, None, None, divided)
    shape = (program.slots(trials), capacity, micro_batches, micro_batch)
    first = 1 if program.shared_batches else 0
    sharding = NamedSharding(program.mesh, PartitionSpec(*axes[first:]))
    return _examples(form, *shape[first:], sharding=sharding)
