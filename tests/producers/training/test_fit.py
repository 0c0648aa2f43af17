"""What trains at a time within a limit, by programs that are compiled for the CPU."""

import functools
import sys
from dataclasses import replace

import pytest

from producers.configuration import SweepOptions
from producers.sweep.memory import (
    abstract_call,
    at_a_time,
    bytes_of_call,
    device_memory,
    fitting,
)
from producers.training.block import BlockProgram
from producers.training.step import trainer
from tests.support import blocks
from tests.support.sweeps import TRAIN_EXAMPLES, small_study

TRIALS = 4
SMALL = small_study()
WORKLOAD = replace(SMALL.workload, model="simple_cnn")
STUDY = replace(SMALL, workload=WORKLOAD, least_trials=TRIALS, batch_size=512)
# Of a convolution to 32 channels, whose result is kept before and after ReLU.
ACTIVATIONS = 2 * 4 * 24 * 24 * 32


@functools.cache
def program_of(side_by_side: int, micro_batch: int | None) -> BlockProgram:
    functions = trainer(WORKLOAD.model, WORKLOAD.optimizer, WORKLOAD.schedule, WORKLOAD.form)
    return blocks.program_of(functions, lanes=side_by_side, micro_batch=micro_batch)


@functools.cache
def bytes_of(side_by_side: int, micro_batch: int | None) -> int:
    program = program_of(side_by_side, micro_batch)
    sizes = STUDY.batch_size, TRIALS
    call = abstract_call(program, ["learning_rate"], *sizes, in_memory=TRAIN_EXAMPLES, pruned=False)
    return bytes_of_call(program, call)


def chosen(limit: float, side_by_side: int | None = None) -> tuple[int, int | None]:
    given = SweepOptions(side_by_side=side_by_side)
    wished = side_by_side or sys.maxsize, None
    return at_a_time(STUDY, given, program_of, TRAIN_EXAMPLES, wished, round(limit))


@pytest.mark.slow
def test_a_call_takes_the_activations_of_what_trains_at_a_time():
    batch = STUDY.batch_size * ACTIVATIONS
    assert bytes_of(1, None) > batch
    assert bytes_of(2, None) > bytes_of(1, None) + batch
    assert bytes_of(TRIALS, None) > bytes_of(2, None) + 2 * batch
    assert bytes_of(1, 128) < bytes_of(1, None) - batch / 2


@pytest.mark.slow
def test_most_trials_that_fit_train_side_by_side_and_else_parts_of_batches():
    assert chosen(1e12) == (sys.maxsize, None)
    assert chosen(bytes_of(2, None) / 0.9 + 10) == (2, None)
    assert chosen(bytes_of(1, 128) / 0.9 + 10) == (1, 128)
    # Whole batches that do not fit train in halves.
    assert chosen(bytes_of(1, 256) / 0.9 + 10, side_by_side=1) == (1, 256)


def test_smaller_micro_batches_are_for_the_fewest_trials_alone():
    tried = []

    def too_many(*numbers: int | None) -> int:
        tried.append(numbers)
        return 91

    # The compiler's word is not the last: where nothing fits, training tells.
    assert fitting(too_many, 100, [4, 2, 1], [None, 8, 4]) == (4, None)
    assert tried == [(4, None), (2, None), (1, None), (1, 8), (1, 4)]
    assert fitting(lambda *_: 90, 100, [4, 2, 1], [None, 8, 4]) == (4, None)


def test_cpus_have_no_limit():
    assert device_memory() is None
