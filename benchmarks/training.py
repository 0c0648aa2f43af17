"""How fast a block of trials trains, as ratios measured in one run.

Run `python -m benchmarks.training` from the checkout on an idle machine (about five minutes on two
cores). Images are made up: the arithmetic does not depend on them. Other work on the machine makes
rates drift, so whatever is compared takes turns, and the median of the rounds is printed with the
lowest and highest. For each batch size:

- trial-steps a second of the compiled block alone, with batches of each trial's own and shared;
- the arithmetic rate, as a share of a 2048-cubed float32 matrix product;
- how many times faster than one trial at a time: a compiled step called from Python, as training
  loops are usually written, and the best case of a compiled scan over all steps;
- what whole production spends its time on: training, evaluation, writing the shard, and the rest
  (drawing batches, recording losses), over the steps that the workload's own budget gives.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.production import TimedProgram, produce
from benchmarks.timed import Timed, in_turns
from producers.configuration import Plan, Sweep
from producers.datasets.split import Split
from producers.devices import configure_devices, lanes
from producers.models.registry import model_definition
from producers.plan import StudyPlan, plan_studies
from producers.training.batches import BatchStream
from producers.training.block import BlockProgram
from producers.training.mesh import device_mesh
from producers.training.run import Splits
from producers.training.step import Examples, Trainer, trainer
from producers.workloads.registry import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from producers.training.step import TrialState

Program = TypeVar("Program", bound=BlockProgram)

LEARNING_RATE = 1e-3  # small, so that no trial diverges and all do the same work
WARM_STEPS = 64
PRODUCTS = 8


@dataclass(frozen=True)
class Setting:
    """What is timed."""

    workload: str
    batch_size: int
    trials: int
    steps: int | None = None


def main() -> None:
    """Prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", default="mnist/fc_64_64_64/sgd")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--batch-sizes", default="1,8,64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--production-trials", type=int, default=20)
    parser.add_argument("--steps", type=int, help="of whole production; default: the budget's")
    arguments = parser.parse_args()
    configure_devices()
    training, splits = _made_up_splits()
    print(f"{arguments.workload}, {arguments.trials} trials, {jax.local_device_count()} devices")
    for batch_size in map(int, arguments.batch_sizes.split(",")):
        print(f"\nbatch size {batch_size}")
        setting = Setting(arguments.workload, batch_size, arguments.trials)
        report_rates(setting, training, arguments.rounds)
        report_production(
            Setting(arguments.workload, batch_size, arguments.production_trials, arguments.steps),
            splits,
        )


def report_rates(setting: Setting, training: Examples, rounds: int) -> None:
    """Times what is compared in turns, and prints the rates and their ratios."""
    works = {
        "product": _matrix_product(),
        "own": _block(setting, training, shared=False),
        "shared": _block(setting, training, shared=True),
        "from Python": _one_trial_from_python(setting, training),
        "scanned": _one_trial_scanned(setting, training),
    }
    rates = {name: each.by_clock for name, each in in_turns(works, rounds).items()}
    operations = _operations_a_trial_step(setting)
    _print("matrix product, 2048 cubed", rates["product"], "operations/s")
    _print("block, batches of their own", rates["own"], "trial-steps/s")
    _print("block, shared batches", rates["shared"], "trial-steps/s")
    _print("one trial, step by step", rates["from Python"], "steps/s")
    _print("one trial, scanned", rates["scanned"], "steps/s")
    _print_ratio("own / matrix product", rates["own"], rates["product"], operations)
    _print_ratio("shared / own", rates["shared"], rates["own"])
    _print_ratio("own / one trial, step by step", rates["own"], rates["from Python"])
    _print_ratio("own / one trial, scanned", rates["own"], rates["scanned"])


def _print(name: str, rates: Sequence[float], unit: str) -> None:
    low, high = min(rates), max(rates)
    print(f"  {name:32s}{median(rates):>10.3g} {unit} ({low:.3g} to {high:.3g})", flush=True)


def _print_ratio(
    name: str, above: Sequence[float], below: Sequence[float], factor: float = 1.0
) -> None:
    ratios = [factor * a / b for a, b in zip(above, below, strict=True)]
    print(
        f"  {name:32s}{median(ratios):10.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True
    )


def _made_up_splits() -> tuple[Examples, Splits]:
    random = np.random.default_rng(0)
    program = _program(_plan(Setting("mnist/fc_64_64_64/sgd", 1, 1), shared=False), BlockProgram)

    def split(count: int) -> Examples:
        images = random.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        return program.put(Split(images, random.integers(0, 10, count, dtype=np.uint8)))

    training = split(55_000)
    return training, Splits(training, split(5_000), split(5_000), split(10_000))


def _plan(setting: Setting, *, shared: bool) -> StudyPlan:
    sweep = Sweep(
        workloads=(setting.workload,), batch_sizes=(setting.batch_size,), steps=setting.steps
    )
    batches: Literal["own", "shared"] = "shared" if shared else "own"
    plan = Plan(release="made-up", sweep=(sweep,), batches=batches)
    (study,) = plan_studies(plan, sweep, WORKLOADS[setting.workload])
    return study


def _trainer(plan: StudyPlan) -> Trainer:
    workload = plan.workload
    return trainer(workload.model, workload.optimizer, workload.schedule)


def _program(plan: StudyPlan, kind: type[Program]) -> Program:
    return kind(
        _trainer(plan),
        device_mesh(),
        lanes=lanes(),
        shared_batches=plan.shared_batches,
        evaluation_batch=model_definition(plan.workload.model).evaluation_batch,
    )


def _block(setting: Setting, training: Examples, *, shared: bool) -> Timed:
    """The compiled block alone; counts trial-steps."""
    program = _program(_plan(setting, shared=shared), BlockProgram)
    places = program.slots(setting.trials)
    capacity = min(1024, max(1, 2_000_000 // (places * setting.batch_size)))
    trials = () if shared else (places,)
    shape = (*trials, capacity, *program.batch_shape(setting.batch_size))
    batches = np.random.default_rng(1).integers(0, 55_000, shape, dtype=np.int32)
    rates = {"learning_rate": np.full(places, LEARNING_RATE, np.float32)}
    alive = np.ones(places, bool)
    states = program.start(np.arange(places, dtype=np.uint32))

    def advance() -> None:
        nonlocal states
        states, losses = program.advance(states, rates, alive, batches, capacity, training)
        jax.block_until_ready((states, losses))

    return Timed(setting.trials * capacity, advance)


def report_production(setting: Setting, splits: Splits) -> None:
    """Trains, records, evaluates and writes a whole block, and prints where the time went."""
    plan = _plan(setting, shared=False)
    program = _program(plan, TimedProgram)
    trials = plan.trials(range(setting.trials))
    for point in trials.metaparameters:
        point["learning_rate"] = LEARNING_RATE
    rule = plan.workload.evaluation
    for steps in (min(WARM_STEPS, plan.train_steps), plan.train_steps):
        evaluations = rule.schedule(steps, setting.batch_size)
        took = produce(program, splits, plan, trials, evaluations)
    shares = {
        "training": took.training,
        "evaluation": took.evaluation,
        "writing": took.writing,
        "drawing batches and recording": took.recording,
    }
    print(
        f"  production of {setting.trials} trials of {plan.train_steps:,} steps: "
        f"{setting.trials * plan.train_steps / took.whole:,.0f} trial-steps/s\n"
        "    " + ", ".join(f"{name} {part / took.whole:.1%}" for name, part in shares.items()),
        flush=True,
    )


def _one_trial_from_python(setting: Setting, training: Examples) -> Timed:
    """A compiled step called from Python, which fetches each loss; counts steps."""
    step, start, batches = _one_trial(setting, training)
    compiled = jax.jit(step)

    def work() -> None:
        state, losses = start, []
        for batch in batches:
            state, loss = compiled(state, batch)
            losses.append(float(loss))

    return Timed(len(batches), work)


def _one_trial_scanned(setting: Setting, training: Examples) -> Timed:
    """A compiled scan over the steps of a single trial; counts steps."""
    step, start, batches = _one_trial(setting, training)
    scan = jax.jit(lambda state, all_batches: jax.lax.scan(step, state, all_batches))
    return Timed(len(batches), lambda: jax.block_until_ready(scan(start, batches)))


def _one_trial(
    setting: Setting, training: Examples
) -> tuple[Callable[..., tuple[TrialState, jax.Array]], TrialState, np.ndarray]:
    """The step of one trial on the first device, its first state, and the batches."""
    functions = _trainer(_plan(setting, shared=False))
    device = jax.local_devices()[0]
    images, labels = jax.device_put(training, device)
    rates = {"learning_rate": jax.device_put(jnp.float32(LEARNING_RATE), device)}
    start = jax.device_put(functions.start(jnp.uint32(0)), device)
    batches = BatchStream(0, 55_000, setting.batch_size).take(0, 1_000)

    def step(state: TrialState, batch: jax.Array) -> tuple[TrialState, jax.Array]:
        return functions.step(state, rates, images[batch], labels[batch])

    return step, start, batches


def _operations_a_trial_step(setting: Setting) -> float:
    """Multiplications and additions of the matrix products of a fully connected network's step."""
    widths = [784, *map(int, _plan(setting, shared=False).workload.model.split("_")[1:]), 10]
    sizes = [fan_in * fan_out for fan_in, fan_out in itertools.pairwise(widths)]
    # Forward and by weights for every layer; by inputs for all but the first.
    return setting.batch_size * (6.0 * sum(sizes) - 2.0 * sizes[0])


def _matrix_product() -> Timed:
    """Matrix products on all cores; counts operations."""
    matrix = jnp.ones((2048, 2048), jnp.float32)
    product = jax.jit(lambda a: a @ a)

    def work() -> None:
        for _ in range(PRODUCTS):
            product(matrix).block_until_ready()

    return Timed(PRODUCTS * 2 * 2048**3, work)


if __name__ == "__main__":
    main()
