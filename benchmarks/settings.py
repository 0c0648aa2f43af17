"""Models with made-up examples, and the programs that train them, for the benchmarks to time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from benchmarks.by_hand import LEARNING_RATE, MOMENTUM
from producers.configuration import Plan, Sweep
from producers.datasets.forms import ImageForm
from producers.datasets.split import Split
from producers.devices import lanes
from producers.models.registry import model_definition
from producers.plan import StudyPlan, plan_studies
from producers.training.block import BlockProgram
from producers.training.step import trainer
from producers.workloads.registry import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable

    import jax

    from producers.datasets.forms import Form
    from producers.training.run import BlockTrials
    from producers.training.step import Examples

Program = TypeVar("Program", bound=BlockProgram)

OPTIMIZER = "nesterov_momentum"
_EXAMPLES = 512
_INDICES_A_CALL = 16_000_000
_MOST_STEPS_A_CALL = 1_024


@dataclass(frozen=True)
class Setting:
    """A model and what it is trained on.

    Attributes:
        model: its name.
        form: of the examples.
        batch_size: examples a step.
        dtype: what the model computes in.
    """

    model: str
    form: Form
    batch_size: int
    dtype: str = "float32"

    def examples(self, count: int = _EXAMPLES) -> Split:
        """Made-up examples: noise, since the arithmetic does not depend on them."""
        random = np.random.default_rng(0)
        form = self.form
        if isinstance(form, ImageForm):
            images = random.integers(0, 256, (count, *form.input_shape), dtype=np.uint8)
            return Split(images, random.integers(0, form.classes, count, dtype=np.int32))
        length, vocabulary = form.logits_shape
        tokens = random.integers(4, vocabulary, (count, length), dtype=np.int32)
        return Split(np.roll(tokens, 1, axis=1), tokens)

    def batches(self, *before: int) -> np.ndarray:
        """Numbers of examples, int32 [*before, batch size]."""
        random = np.random.default_rng(1)
        return random.integers(0, _EXAMPLES, (*before, self.batch_size), dtype=np.int32)

    def program(self, kind: type[Program], mesh: jax.sharding.Mesh) -> Program:
        """The compiled functions of the producers."""
        return kind(
            trainer(self.model, OPTIMIZER, "constant", self.form, self.dtype),
            mesh,
            lanes=lanes(),
            shared_batches=False,
            evaluation_batch=model_definition(self.model).evaluation_batch,
        )

    def plan(self, steps: int) -> StudyPlan:
        """A study of this setting, from a workload with the model and optimizer."""
        workload = next(
            workload
            for workload in WORKLOADS.values()
            if (workload.model, workload.optimizer) == (self.model, OPTIMIZER)
        )
        workload = replace(workload, form=self.form, schedule="constant", train_examples=_EXAMPLES)
        sweep = Sweep(workloads=(workload.name,), batch_sizes=(self.batch_size,), steps=steps)
        (study,) = plan_studies(Plan(release="made-up", sweep=(sweep,)), sweep, workload)
        return study


def trials_of(plan: StudyPlan, count: int) -> BlockTrials:
    """Trials that do not diverge, so that all do the same work."""
    trials = plan.trials(range(count))
    for point in trials.metaparameters:
        point.update(learning_rate=LEARNING_RATE, momentum=MOMENTUM)
    return trials


def block(
    program: BlockProgram, setting: Setting, trials: int, data: Examples
) -> Callable[[int], None]:
    """A function that trains a block for some steps, at most `capacity` of them, and waits."""
    import jax

    places = program.slots(trials)
    steps = capacity(places, setting.batch_size)
    batches: Any = setting.batches(places, steps, 1)
    rates = {
        "learning_rate": np.full(places, LEARNING_RATE, np.float32),
        "momentum": np.full(places, MOMENTUM, np.float32),
    }
    alive = np.arange(places) < trials
    states = program.start(np.arange(places, dtype=np.uint32))

    def advance(steps: int) -> None:
        nonlocal states
        states, losses = program.advance(states, rates, alive, batches, steps, data)
        jax.block_until_ready((states, losses))

    return advance


def capacity(places: int, batch_size: int) -> int:
    """Most steps of a call, as the producers' own draws have it, so that programs are shared."""
    return min(_MOST_STEPS_A_CALL, _INDICES_A_CALL // (places * batch_size))
