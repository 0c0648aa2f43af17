"""How many trials of a study, and how many of their examples, the devices' memory holds."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import jax

from dbtool.core.errors import DbtoolError, counted
from producers.training.fit import abstract_call, bytes_of_call, fitting, halved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from producers.configuration import SweepOptions
    from producers.plan import StudyPlan
    from producers.training.block import BlockProgram


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
