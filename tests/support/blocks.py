"""Small problems of every kind that blocks of trials train, and their curves on some devices.

Needs eight devices, which `jax_num_cpu_devices` simulates on one processor.
"""

import functools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from producers.datasets.forms import Form, ImageForm, TextForm
from producers.datasets.split import Split
from producers.models.language import LSTMLanguageModel, Transformer
from producers.models.residual import BottleneckResNet, GhostBatchNorm
from producers.training.block import BlockProgram
from producers.training.block_record import BlockRecord, Progress
from producers.training.checkpoints import Checkpoints
from producers.training.mesh import device_mesh
from producers.training.objectives import objective_for
from producers.training.optimizers import optimizer_definition
from producers.training.run import BlockTrials, Splits, train_block
from producers.training.schedules import schedule_definition
from producers.training.step import Trainer, trainer

Rows: TypeAlias = dict[str, np.ndarray]
T = TypeVar("T")

TRIALS = 4
TRAINING_EXAMPLES = 150
OTHER_EXAMPLES = 23
"""Of validation and test split: no multiple of the evaluation batch."""
EVALUATION_BATCH = 8
TOLERANCE = 1e-4
EVALUATIONS = {0: True, 1: False, 4: False, 12: True}
GROWN: dict[str, Any] = {"batch_schedule": ((2, 2), (7, 4))}
"""Batches that grow twice within 12 steps."""
NEVER = 1e9
"""Seconds between two checkpoints, so that none is due."""
IMAGES = ImageForm(height=8, width=8, channels=3, classes=4)
TEXTS = TextForm(vocabulary=13, length=6)


class Normalised(nnx.Module):
    """One layer with ghost batch normalisation: quick to compile."""

    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(3, 4, rngs=rngs)
        self.first_norm = GhostBatchNorm(4, ghost_batch=8, dtype=jnp.float32)
        self.logits = nnx.Linear(8 * 4, IMAGES.classes, rngs=rngs)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Logits of images, by their columns."""
        activations = jax.nn.relu(self.first_norm(self.first(images), train=train))
        logits: jax.Array = self.logits(activations.mean(1).reshape(len(images), -1))
        return logits


class PairsOfTokens(nnx.Module):
    """Each token from the one before alone: quick to compile."""

    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.embedding = nnx.Embed(TEXTS.vocabulary, 4, rngs=rngs)
        self.logits = nnx.Linear(4, TEXTS.vocabulary, rngs=rngs)

    def __call__(self, tokens: jax.Array, *, train: bool) -> jax.Array:
        """Logits of the tokens that follow."""
        del train
        logits: jax.Array = self.logits(self.embedding(tokens))
        return logits


@dataclass(frozen=True)
class Problem:
    """What is trained with momentum; each trial has a multiple of the first one's learning rate."""

    trainer: Trainer
    batch_size: int
    learning_rate: float


def trainer_of(
    build: Callable[[nnx.Rngs], nnx.Module], form: Form, optimizer: str = "sgd", **options: Any
) -> Trainer:
    """The functions that train a model at a constant learning rate."""
    rule, constant = optimizer_definition(optimizer), schedule_definition("constant")
    return Trainer(build, form, objective_for(form), rule, constant, **options)


def _problem(
    build: Callable[..., nnx.Module], form: Form, batch_size: int, learning_rate: float
) -> Problem:
    functions = trainer_of(lambda rngs: build(rngs=rngs), form, "momentum")
    return Problem(functions, batch_size, learning_rate)


_FLOAT32 = {"dtype": jnp.float32}
_RESNET = functools.partial(BottleneckResNet, IMAGES, 4, (1,), **_FLOAT32)
_TRANSFORMER = functools.partial(Transformer, TEXTS.vocabulary, 1, 8, 16, 2, **_FLOAT32)
_LSTM = functools.partial(LSTMLanguageModel, TEXTS.vocabulary, 4, 6, 5, **_FLOAT32)
_PLAIN = {
    "fc": Problem(trainer("fc_16", "momentum", "constant"), 16, 0.01),
    # Two ghost batches of 8 examples; those of the residual network have 32.
    "normalised": _problem(Normalised, IMAGES, 16, 0.05),
    "resnet": _problem(_RESNET, IMAGES, 64, 0.002),
    "pairs": _problem(PairsOfTokens, TEXTS, 16, 0.1),
    "transformer": _problem(_TRANSFORMER, TEXTS, 16, 0.1),
    "lstm": _problem(_LSTM, TEXTS, 16, 0.1),
}
WITH_REMAT = {name: f"{name} with remat" for name in ("resnet", "transformer", "lstm")}
PROBLEMS: Mapping[str, Problem] = _PLAIN | {
    with_remat: replace(_PLAIN[name], trainer=replace(_PLAIN[name].trainer, remat=True))
    for name, with_remat in WITH_REMAT.items()
}


def made_up_split(form: Form, count: int, seed: int) -> Split:
    """Images whose brightest column tells their label, or texts of very different lengths."""
    random = np.random.default_rng(seed)
    if isinstance(form, ImageForm):
        labels = random.integers(0, form.classes, count, dtype=np.uint8)
        images = random.integers(0, 60, (count, *form.input_shape), dtype=np.uint8)
        images[np.arange(count), :, labels * 2] += 150
        return Split(images, labels)
    assert isinstance(form, TextForm)
    # Each token follows from the one before, but for some noise.
    targets = (np.arange(form.length) + random.integers(0, 9, (count, 1))) % 10 + 3
    targets = np.where(random.random(targets.shape) < 0.1, 3, targets)
    lengths = random.integers(1, form.length + 1, (count, 1))
    targets = np.where(np.arange(form.length) < lengths, targets, 0).astype(np.int32)
    inputs = np.concatenate([np.ones((count, 1), np.int32), targets[:, :-1]], 1)
    return Split(inputs, targets)


class CountedSource:
    """Examples in memory that are read as if from files; `drawn` are the numbers of those read."""

    def __init__(self, split: Split) -> None:
        self._split = split
        self._lock = threading.Lock()
        self.drawn: list[int] = []

    def __len__(self) -> int:
        return len(self._split)

    def read(self, examples: np.ndarray, augmentation: np.random.Generator | None) -> Split:
        """Some examples; augmented, their pixels are darkened by an amount drawn at random."""
        with self._lock:
            self.drawn += examples.tolist()
        inputs = self._split.inputs[examples]
        if augmentation is not None:
            inputs = (inputs * augmentation.uniform(0.2, 1.0)).astype(np.uint8)
        return Split(inputs, self._split.targets[examples])


class StoppingCheckpoints(Checkpoints):
    """Saves after every call, and ends training at a step as a kill would."""

    def __init__(self, folder: Path, identity: Any, stopped_at: int) -> None:
        super().__init__(folder, identity, 0.0)
        self._stopped_at = stopped_at

    def save_when_due(self, progress: Progress) -> None:
        """Saves.

        Raises:
            InterruptedError: at the step.
        """
        self.save(progress)
        if progress.step == self._stopped_at:
            raise InterruptedError


def stopped_and_resumed(folder: Path, step: int, train_it: Callable[..., T]) -> T:
    """What a function gives that trains with `checkpoints`, stopped at a step as by a kill."""
    with pytest.raises(InterruptedError):
        train_it(checkpoints=StoppingCheckpoints(folder, "block", step))
    return train_it(checkpoints=Checkpoints(folder, "block", NEVER))


def program_of(
    functions: Trainer, devices: int = 1, devices_a_trial: int = 1, **sizes: Any
) -> BlockProgram:
    """A program on the first devices; on each, one trial at a time unless the sizes say otherwise.

    The sizes are options of `BlockProgram`.
    """
    known = {"lanes": 1, "shared_batches": False, "evaluation_batch": EVALUATION_BATCH}
    mesh = device_mesh(jax.devices()[:devices], devices_a_trial=devices_a_trial)
    return BlockProgram(functions, mesh, **known | sizes)


@functools.cache
def compiled(
    problem: str, devices: int, devices_a_trial: int, lanes: int, shared: bool, micro: int | None
) -> BlockProgram:
    """The program of a problem, made once."""
    sizes = {"lanes": lanes, "shared_batches": shared, "micro_batch": micro}
    return program_of(PROBLEMS[problem].trainer, devices, devices_a_trial, **sizes)


def splits_of(program: BlockProgram, *, streamed: bool) -> Splits:
    """Made-up splits on the devices or read when needed."""
    form = program.trainer.form
    training = made_up_split(form, TRAINING_EXAMPLES, 1)
    other = made_up_split(form, OTHER_EXAMPLES, 2)
    place = CountedSource if streamed else program.put
    first = training.first(OTHER_EXAMPLES)
    return Splits(
        place(training), place(first), place(other), place(other), measured=program.put(first)
    )


def train(
    problem: str,
    *,
    devices: int = 1,
    devices_a_trial: int = 1,
    lanes: int = 1,
    shared: bool = False,
    micro_batch: int | None = None,
    streamed: bool = False,
    splits: Splits | None = None,
    diverging: Mapping[int, float] | None = None,
    trials: int = TRIALS,
    evaluations: Mapping[int, bool] | None = None,
    **options: Any,
) -> BlockRecord:
    """Trains a block of one of PROBLEMS; options are of `train_block`.

    The learning rates of the trials in `diverging` are those given there.
    """
    program = compiled(problem, devices, devices_a_trial, lanes, shared, micro_batch)
    rate = PROBLEMS[problem].learning_rate
    rates = {trial: rate * (1 + trial) for trial in range(trials)} | dict(diverging or {})
    block = BlockTrials(
        trial_ids=range(trials),
        seeds=[100 + trial for trial in range(trials)],
        metaparameters=[{"learning_rate": value, "momentum": 0.9} for value in rates.values()],
        shared_seed=5 if shared else None,
    )
    return train_block(
        program,
        splits or splits_of(program, streamed=streamed),
        block,
        batch_size=PROBLEMS[problem].batch_size,
        evaluations=dict(evaluations or EVALUATIONS),
        **options,
    )


def train_to_states(problem: str, **options: Any) -> tuple[BlockRecord, Any]:
    """The record of a block as `train` trains it, and the states after the last step."""
    states: list[Any] = []

    def on_stop(progress: Progress) -> None:
        states.append(jax.device_get(progress.states))

    return train(problem, on_stop=on_stop, **options), states[-1]


def rows(found: BlockRecord | Rows) -> Rows:
    """The columns of a record."""
    if not isinstance(found, BlockRecord):
        return found
    (table,) = found.tables(list(range(len(found.arrays()["last"]))))
    return {name: table[name].to_numpy() for name in table.column_names}


def assert_same(found: BlockRecord | Rows, expected: BlockRecord | Rows) -> None:
    """Checks that rows are the same, bit for bit; not a number is the same as itself."""
    np.testing.assert_equal(rows(found), rows(expected))


def assert_close(found: BlockRecord | Rows, expected: BlockRecord | Rows) -> None:
    """Checks that rows have the same steps and, but for rounding, the same values.

    Summing in another order changes float32 results in their last digits, and training amplifies
    it: the greatest differences that were found are 5e-7 in curves and 4e-6 in states.
    """
    ours, theirs = rows(found), rows(expected)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        np.testing.assert_allclose(
            values, theirs[name], rtol=TOLERANCE, atol=TOLERANCE, err_msg=name
        )


def assert_equivalent(found: tuple[BlockRecord, Any], expected: tuple[BlockRecord, Any]) -> None:
    """Checks curves, weights, running statistics and the optimizer's state, but for rounding."""
    assert_close(found[0], expected[0])
    # Slots beyond the trials only fill the devices.
    for one, other in zip(jax.tree.leaves(found[1]), jax.tree.leaves(expected[1]), strict=True):
        np.testing.assert_allclose(one[:TRIALS], other[:TRIALS], rtol=TOLERANCE, atol=TOLERANCE)
