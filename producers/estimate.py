"""What a sweep would take, before it runs: steps, time and disk, from operation counts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from producers.sweep import next_blocks
from producers.training.step import trainer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from producers.plan import StudyPlan
    from producers.sweep import SweepOptions

# Measured on a CPU (benchmarks/training.py): the share of a large matrix product's rate that
# training reaches, the least time of a step, and the size of a stored row.
_SHARE_OF_PEAK = 0.5
_LEAST_SECONDS_A_STEP = 5e-6
_BYTES_A_ROW = 4.5
_VALIDATION_AND_TEST = (5_000, 10_000)


def estimate(studies: Sequence[StudyPlan], out: Path, options: SweepOptions) -> Iterator[str]:
    """A line a study, then the sum.

    Diverging trials end early, so that the true time is shorter; trials added by `feasible` come
    on top.
    """
    rate = _multiplications_a_second()
    total_seconds = total_rows = 0.0
    for study, blocks in zip(studies, next_blocks(studies, out, options), strict=True):
        trials = sum(map(len, blocks))
        rows = trials * (study.train_steps + 1)
        seconds = trials * _seconds_a_trial(study, rate)
        total_seconds += seconds
        total_rows += rows
        yield _line(study.name, trials, study.train_steps, rows, seconds)
    yield (
        f"about {_duration(total_seconds)} and {total_rows * _BYTES_A_ROW / 1e6:,.1f} MB in {out}, "
        f"{total_rows:,.0f} measurements"
    )


def _line(name: str, trials: int, train_steps: int, rows: int, seconds: float) -> str:
    return (
        f"{name}: {trials} trials of {train_steps:,} steps, {rows:,} measurements, "
        f"about {_duration(seconds)}"
    )


def _seconds_a_trial(study: StudyPlan, rate: float) -> float:
    rule = study.workload.evaluation
    evaluations = rule.schedule(study.train_steps, study.batch_size)
    others = rule.training_subset + _VALIDATION_AND_TEST[1]
    evaluated = len(evaluations) * _VALIDATION_AND_TEST[0] + sum(evaluations.values()) * others
    forward = _operations_an_example(study)
    # Backpropagation takes about twice the operations of the forward pass.
    training = max(3 * forward * study.batch_size / (rate * _SHARE_OF_PEAK), _LEAST_SECONDS_A_STEP)
    return study.train_steps * training + evaluated * forward / rate


def _operations_an_example(study: StudyPlan) -> float:
    """Floating-point operations of one forward pass, as XLA counts them."""
    workload = study.workload
    functions = trainer(workload.model, workload.optimizer, workload.schedule)
    state = jax.eval_shape(functions.start, jnp.zeros((), jnp.uint32))
    form = functions.form
    example = jax.ShapeDtypeStruct((1, *form.input_shape), form.input_dtype)
    lowered = jax.jit(functions.logits).lower(state.parameters, state.statistics, example)
    analysis = lowered.cost_analysis() or {}
    return float(analysis.get("flops", 0.0))


def _multiplications_a_second() -> float:
    """Operations a second of a large matrix product on this machine."""
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
