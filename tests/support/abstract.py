"""What the programs of a block take, by shapes and types alone.

So they can be lowered for another platform, or compiled for devices that are not there, without
data, weights or memory for them.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding

from producers.datasets.registry import DATASETS
from producers.sweep.memory import abstract_call, abstract_examples
from producers.training.block import BlockProgram
from producers.training.mesh import EVERYWHERE
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
    is_streamed = DATASETS[workload.source].is_streamed
    return abstract_call(
        program,
        dict(workload.search_space),
        batch_size,
        trials,
        in_memory=None if is_streamed else workload.train_examples,
        pruned=workload.sparsity > 0,
    )


def abstract_evaluate(
    program: BlockProgram, workload: Workload, examples: int, trials: int
) -> tuple[Any, ...]:
    """The arguments of `BlockProgram.compiled_evaluate` for so many held-out examples together."""
    slots = program.slots(trials)
    everywhere = NamedSharding(program.mesh, EVERYWHERE)
    return (
        program.abstract_states(slots, pruned=False),
        jax.ShapeDtypeStruct((slots,), jnp.bool),
        abstract_examples(workload.form.evaluated, examples, sharding=everywhere),
    )
