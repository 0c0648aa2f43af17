"""How fast a block of trials trains, as ratios measured in one run.

Run `python -m benchmarks.training` from the checkout on an idle machine (about five minutes on two
cores). Images are made up: the arithmetic does not depend on them. Printed for each batch size:

- trial-steps a second of the compiled block alone, with batches of each trial's own and shared;
- the arithmetic rate, as a share of a 2048-cubed float32 matrix product in the same run;
- the rate of whole production (drawing batches, recording, evaluating, writing the shard), and the
  share of its time that is not the compiled training itself;
- how many times faster than one trial at a time: a compiled step called from Python, as training
  loops are usually written, and the best case of a compiled scan over all steps.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from producers.datasets import Split
from producers.devices import configure_devices, lanes
from producers.models.registry import model_definition
from producers.plan import StudyPlan, plan_studies
from producers.shards import write_shard
from producers.training.batches import BatchStream
from producers.training.block import BlockProgram, SplitArrays, trial_mesh
from producers.training.run import Splits, train_block
from producers.training.step import Trainer, trainer
from producers.workloads.registry import find_workloads

if TYPE_CHECKING:
    from collections.abc import Callable

LEARNING_RATE = 1e-3  # small, so that no trial diverges and all do the same work
WARM_STEPS = 64


@dataclass(frozen=True)
class Setting:
    """What is timed."""

    workload: str
    batch_size: int
    trials: int
    steps: int


def main() -> None:
    """Prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="mnist/fc_64_64_64/sgd")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--batch-sizes", default="1,8,64")
    parser.add_argument("--examples", type=int, default=1_280_000, help="a trial, as steps")
    parser.add_argument("--most-steps", type=int, default=60_000)
    arguments = parser.parse_args()
    configure_devices()
    print(f"{arguments.workload}, {arguments.trials} trials, {jax.local_device_count()} devices")
    for batch_size in map(int, arguments.batch_sizes.split(",")):
        steps = min(arguments.most_steps, arguments.examples // batch_size)
        report(Setting(arguments.workload, batch_size, arguments.trials, steps))


def report(setting: Setting) -> None:
    """Times one batch size and prints its lines."""
    splits = _made_up_splits()
    peak = _matrix_product_rate()
    own = _block_rate(setting, splits, shared=False)
    shared = _block_rate(setting, splits, shared=True)
    whole, outside = _production(setting, splits)
    from_python, scanned = _one_trial_rates(setting, splits.training)
    operations = _operations_a_trial_step(setting)
    lines = {
        "matrix product, 2048 cubed": f"{peak / 1e9:,.0f} GFLOP/s",
        "block, batches of their own": f"{own:,.0f} trial-steps/s",
        "  share of the matrix product": f"{own * operations / peak:.2f}",
        "block, shared batches": f"{shared:,.0f} trial-steps/s, {shared / own:.2f} of own",
        "whole production": f"{whole:,.0f} trial-steps/s",
        "  not training": f"{outside:.1%} of its time",
        "one trial, step by step": f"{from_python:,.0f} steps/s, own / it {own / from_python:.1f}",
        "one trial, scanned": f"{scanned:,.0f} steps/s, own / it {own / scanned:.1f}",
    }
    print(f"\nbatch size {setting.batch_size}, {setting.steps:,} steps a trial")
    for name, value in lines.items():
        print(f"  {name:30s}{value}", flush=True)


def _made_up_splits() -> Splits:
    random = np.random.default_rng(0)

    def split(count: int) -> SplitArrays:
        images = random.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        return _program(_plan(Setting("mnist/fc_64_64_64/sgd", 1, 1, 1), shared=False)).put(
            Split(images, random.integers(0, 10, count, dtype=np.uint8))
        )

    return Splits(split(55_000), split(5_000), split(5_000), split(10_000))


def _plan(setting: Setting, *, shared: bool) -> StudyPlan:
    (plan,) = plan_studies(
        find_workloads([setting.workload]),
        release="made-up",
        batch_sizes=[setting.batch_size],
        steps=setting.steps,
        budget_scale=1.0,
        root_seed=0,
        shared_batches=shared,
    )
    return plan


def _trainer(plan: StudyPlan) -> Trainer:
    workload = plan.workload
    return trainer(workload.model, workload.optimizer, workload.schedule)


def _program(plan: StudyPlan) -> BlockProgram:
    return BlockProgram(
        _trainer(plan),
        trial_mesh(),
        lanes=lanes(),
        shared_batches=plan.shared_batches,
        evaluation_batch=model_definition(plan.workload.model).evaluation_batch,
    )


def _block_rate(setting: Setting, splits: Splits, *, shared: bool) -> float:
    """Trial-steps a second of the compiled block alone, the best of three."""
    program = _program(_plan(setting, shared=shared))
    places = program.places(setting.trials)
    capacity = min(1024, max(1, 16_000_000 // (places * setting.batch_size)))
    shape = (capacity, setting.batch_size) if shared else (places, capacity, setting.batch_size)
    batches = np.random.default_rng(1).integers(0, 55_000, shape, dtype=np.int32)
    rates = {"learning_rate": np.full(places, LEARNING_RATE, np.float32)}
    alive = np.ones(places, bool)
    states = program.start(np.arange(places, dtype=np.uint32))

    def advance() -> None:
        nonlocal states
        states, losses = program.advance(states, rates, alive, batches, capacity, splits.training)
        jax.block_until_ready((states, losses))

    return setting.trials * capacity / _best_seconds(advance)


def _production(setting: Setting, splits: Splits) -> tuple[float, float]:
    """Trial-steps a second of everything, and the share of time that is not compiled training."""
    plan = _plan(setting, shared=False)
    program = _program(plan)
    trials = plan.trials(range(setting.trials))
    for point in trials.metaparameters:
        point["learning_rate"] = LEARNING_RATE
    timed = _TimedAdvance(program)
    warm = plan.workload.evaluation.schedule(min(WARM_STEPS, setting.steps), setting.batch_size)
    train_block(timed, splits, trials, batch_size=setting.batch_size, evaluations=warm)
    timed.seconds = 0.0
    started = time.perf_counter()
    record = train_block(
        timed,
        splits,
        trials,
        batch_size=setting.batch_size,
        evaluations=plan.workload.evaluation.schedule(setting.steps, setting.batch_size),
    )
    with tempfile.TemporaryDirectory() as folder:
        write_shard(
            Path(folder),
            study=plan.description(),
            trials=[{"trial_id": trial_id} for trial_id in trials.trial_ids],
            producer={},
            tables=record.tables(list(trials.trial_ids)),
        )
    seconds = time.perf_counter() - started
    return setting.trials * setting.steps / seconds, 1 - timed.seconds / seconds


class _TimedAdvance(BlockProgram):
    """A block program that adds up the time its training takes."""

    def __init__(self, program: BlockProgram) -> None:
        self.__dict__ = dict(vars(program))
        self.seconds = 0.0

    def advance(self, *arguments: object) -> tuple[object, jax.Array]:  # type: ignore[override]
        started = time.perf_counter()
        result = super().advance(*arguments)  # type: ignore[arg-type]
        jax.block_until_ready(result)
        self.seconds += time.perf_counter() - started
        return result


def _one_trial_rates(setting: Setting, training: SplitArrays) -> tuple[float, float]:
    """Steps a second of a single trial: a step called from Python, and a scan over steps."""
    functions = _trainer(_plan(setting, shared=False))
    device = jax.local_devices()[0]
    images, labels = jax.device_put((training.images, training.labels), device)
    rates = {"learning_rate": jax.device_put(jnp.float32(LEARNING_RATE), device)}
    batches = BatchStream(0, 55_000, setting.batch_size).take(0, 300)
    step = jax.jit(lambda state, batch: functions.step(state, rates, images[batch], labels[batch]))
    scan = jax.jit(lambda state, all_batches: jax.lax.scan(step, state, all_batches))
    start = jax.device_put(functions.start(jnp.uint32(0)), device)

    def from_python() -> None:
        state, losses = start, []
        for batch in batches:
            state, loss = step(state, batch)
            losses.append(float(loss))

    def scanned() -> None:
        jax.block_until_ready(scan(start, batches))

    return len(batches) / _best_seconds(from_python), len(batches) / _best_seconds(scanned)


def _operations_a_trial_step(setting: Setting) -> float:
    """Multiplications and additions of the matrix products of a fully connected network's step."""
    widths = [784, *map(int, _plan(setting, shared=False).workload.model.split("_")[1:]), 10]
    sizes = [fan_in * fan_out for fan_in, fan_out in itertools.pairwise(widths)]
    # Forward and by weights for every layer; by inputs for all but the first.
    return setting.batch_size * (6.0 * sum(sizes) - 2.0 * sizes[0])


def _matrix_product_rate() -> float:
    """Operations a second of a 2048-cubed product, on all cores."""
    matrix = jnp.ones((2048, 2048), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    return 2 * 2048**3 / _best_seconds(lambda: product(matrix).block_until_ready(), repeats=8)


def _best_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of several runs, after one that compiles."""
    work()
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
