"""Estimates of a sweep before it runs: steps, time and disk, from operation counts.

The operations of matrix products are counted here, whatever device they are for: XLA's own count is
there on a CPU alone, and takes a loop's body once.
"""

import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr

from dbtool.core.errors import counted
from producers.configuration import SweepOptions
from producers.datasets.forms import Form
from producers.datasets.registry import dataset_definition
from producers.plan import StudyPlan
from producers.sweep.run import held_index, next_blocks
from producers.training.batches import phases
from producers.training.step import trainer
from producers.workloads.definition import Workload

# Measured on a CPU (benchmarks/training.py): the share of a large matrix product's rate that
# training reaches, the least time of a step (7.3e-6 s of a core's at batch size 1), and the size of
# a stored row.
_SHARE_OF_PEAK = 0.5
_LEAST_SECONDS_A_STEP = 7e-6
_BYTES_A_ROW = 4.5

# Measured of fully connected networks (8.0 s, and 2.2 to 2.6 s, of a core's time): to start
# `dbtool produce` and read MNIST, and to compile a study's programs.
_SECONDS_TO_START = 8.0
_SECONDS_A_STUDY = 2.5

# Of replaced data sets and the user's own, whose held-out examples are known when they are loaded.
_SHARE_HELD_OUT = 20


def estimate(studies: Sequence[StudyPlan], out: Path, options: SweepOptions) -> Iterator[str]:
    """Yield a line a study, then the sum, which has the start of the command besides.

    Diverging trials end early, so that the true time is shorter; trials that are added to reach a
    number of feasible ones come on top. Of a search in lockstep, which ends at its goal, it is the
    most that its first round takes.
    """
    rate = _multiplications_a_second()
    total_trials, total_seconds, total_rows = 0, 0.0, 0
    for study, blocks in zip(
        studies, next_blocks(studies, out, held_index(out), options), strict=True
    ):
        trials = sum(map(len, blocks))
        rows = trials * (study.train_steps + 1)
        seconds = trials * _seconds_a_trial(study, rate) + _SECONDS_A_STUDY * bool(trials)
        total_trials += trials
        total_seconds += seconds
        total_rows += rows
        steps, size = counted(study.train_steps, "step"), counted(rows, "measurement")
        number = counted(trials, "trial")
        if study.search is None:
            yield f"{study.name}: {number} of {steps}, {size}, about {_duration(seconds)}"
            continue
        near = study.neighbour
        where = "everywhere" if near is None else f"near the optimum at {near}"
        yield (
            f"{study.name}: {number} in lockstep, searched {where}, of at most {steps}, "
            f"{size} and {_duration(seconds)}"
        )
    total_seconds += _SECONDS_TO_START * bool(total_trials)
    in_lockstep = any(study.search is not None for study in studies)
    sentence = (
        f"{counted(total_trials, 'trial')}, {'at most' if in_lockstep else 'about'} "
        f"{_duration(total_seconds)} and {total_rows * _BYTES_A_ROW / 1e6:,.1f} MB in {out}, "
        f"{counted(total_rows, 'measurement')}"
    )
    if any(study.feasible_trials for study in studies) and options.slice is None:
        sentence += ", besides trials that are added for diverged ones"
    yield sentence + (", besides windows that are widened" if in_lockstep else "")


def _seconds_a_trial(study: StudyPlan, rate: float) -> float:
    workload, rule = study.workload, study.workload.evaluation
    if study.search is None:
        evaluations = rule.schedule(study.train_steps, study.batch_size, workload.batch_schedule)
    else:
        evaluations, _ = study.search.evaluations(workload, study.train_steps, study.batch_size)
    validation, test = held_out_examples(workload)
    subset = min(rule.training_subset, workload.train_examples)
    every_split = sum(evaluations.values())
    forward, longest = (
        forward_operations(workload.model, form, workload.dtype)
        for form in (workload.form, workload.form.evaluated)
    )
    evaluated = forward * every_split * subset
    evaluated += longest * (len(evaluations) * validation + every_split * test)
    training = sum(
        (phase.end - phase.begin[0])
        * max(3 * forward * phase.batch_size / (rate * _SHARE_OF_PEAK), _LEAST_SECONDS_A_STEP)
        for phase in phases(study.batch_size, workload.batch_schedule, study.train_steps)
    )
    return training + evaluated / rate


def held_out_examples(workload: Workload) -> tuple[int, int]:
    """Return how many examples validation and test have; of some data sets about."""
    source = dataset_definition(workload.source)
    if workload.replaces is not None or source.held_out is None:
        share = max(1, workload.train_examples // _SHARE_HELD_OUT)
        return share, share
    halves = 2 if workload.subset == "half_classes" else 1
    validation, test = source.held_out
    if source.chooses_held_out:
        validation = workload.held_out.examples
    return validation // halves, test // halves


def _multiplications_a_second() -> float:
    matrix = jnp.ones((1024, 1024), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    product(matrix).block_until_ready()
    started = time.perf_counter()
    product(matrix).block_until_ready()
    return 2 * 1024**3 / (time.perf_counter() - started)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@functools.cache
def forward_operations(model: str, form: Form, dtype: str) -> int:
    """Count the operations of a model's forward pass of one example.

    Training takes about three times as many: the gradients by activations and by weights take as
    many as the forward pass each.
    """
    functions = trainer(model, "sgd", "constant", form, dtype)
    state = jax.eval_shape(functions.start, jax.ShapeDtypeStruct((), "uint32"))
    example = jax.ShapeDtypeStruct((1, *form.input_shape), form.input_dtype)
    return operations(functions.logits, state.parameters, state.statistics, example)


def operations(function: Callable[..., Any], *arguments: Any) -> int:
    """Count the multiplications and additions of a function's matrix products and convolutions.

    Zeros around images count as what they are multiplied with. Of branches the longest counts; a
    loop counts as often as it runs where that follows from its shapes, else once. The function
    takes arrays or trees of them, the arguments are these, or their shapes and types.
    """
    return _of_jaxpr(jax.make_jaxpr(function)(*arguments).jaxpr)


def _of_jaxpr(jaxpr: Jaxpr) -> int:
    return sum(_of_equation(equation) for equation in jaxpr.eqns)


def _of_equation(equation: Any) -> int:
    name, parameters = equation.primitive.name, equation.params
    if name in {"dot_general", "conv_general_dilated"}:
        left, right = (operand.aval.shape for operand in equation.invars)
        dimensions = parameters["dimension_numbers"]
        summed = (
            [left[axis] for axis in dimensions[0][0]]
            if name == "dot_general"
            else [right[axis] for axis in dimensions.rhs_spec[1:]]
        )
        return 2 * int(math.prod(equation.outvars[0].aval.shape) * math.prod(summed))
    inner = [
        _of_jaxpr(leaf.jaxpr if isinstance(leaf, ClosedJaxpr) else leaf)
        for leaf in jax.tree.leaves(list(parameters.values()))
        if isinstance(leaf, ClosedJaxpr | Jaxpr)
    ]
    if name == "cond":
        return max(inner)
    return sum(inner) * (parameters["length"] if name == "scan" else 1)
