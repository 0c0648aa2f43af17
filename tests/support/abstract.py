"""What the programs of a block take, by shapes and types alone.

So they can be lowered for another platform, or compiled for devices that are not there, without
data, weights or memory for them.
"""

from typing import Any

from producers.datasets.registry import DATASETS
from producers.sweep.memory import abstract_call
from producers.training.block import BlockProgram
from producers.workloads.definition import Workload


def abstract_advance(
    program: BlockProgram, workload: Workload, batch_size: int, trials: int
) -> tuple[Any, ...]:
    """The arguments that a sweep gives to `BlockProgram.compiled_advance`, of so many trials."""
    is_streamed = DATASETS[workload.source].is_streamed
    return abstract_call(
        program,
        dict(workload.search_space),
        batch_size,
        trials,
        in_memory=None if is_streamed else workload.train_examples,
        pruned=workload.sparsity > 0,
    )
