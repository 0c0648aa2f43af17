"""Trains one block of trials and collects its measurements on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from producers.training.block import SplitArrays
from producers.training.draw import IndexDraw
from producers.training.mesh import on_host
from producers.training.progress import Progress
from producers.training.records import BlockRecord
from producers.training.slots import Slots
from producers.training.stream import StreamedDraw, streamed_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from producers.datasets import ExampleSource
    from producers.training.block import BlockProgram
    from producers.training.checkpoints import Checkpoints
    from producers.training.draw import Draw
    from producers.training.measures import Measure
    from producers.training.step import TrialState
    from producers.training.stopping import FirstToGoal

    PlacedExamples = SplitArrays | ExampleSource

_SLICES_TOGETHER = 8


@dataclass(frozen=True)
class Splits:
    """The splits, on the devices or read when they are needed.

    Attributes:
        training: what batches are drawn from.
        training_subset: what stands for the training split at evaluations.
        validation: the validation split.
        test: the test split.
        measured: the training examples of optional measurements; None where there are none.
    """

    training: PlacedExamples
    training_subset: PlacedExamples
    validation: PlacedExamples
    test: PlacedExamples
    measured: SplitArrays | None = None

    def evaluated(self, every_split: bool) -> dict[str, PlacedExamples]:
        """The splits of one evaluation, by the first word of their columns."""
        if not every_split:
            return {"val": self.validation}
        return {"train": self.training_subset, "val": self.validation, "test": self.test}


@dataclass(frozen=True)
class BlockTrials:
    """The trials of a block.

    Attributes:
        trial_ids: unique in the study, increasing.
        seeds: one a trial: of initialisation and batch order.
        metaparameters: one mapping of name to value a trial.
        shared_seed: of the batch order that all trials share; None where each draws its own.
    """

    trial_ids: Sequence[int]
    seeds: Sequence[int]
    metaparameters: Sequence[dict[str, float]]
    shared_seed: int | None

    @property
    def batch_seeds(self) -> Sequence[int]:
        """The seeds of the batch orders: one a trial, or the one that all share."""
        return self.seeds if self.shared_seed is None else [self.shared_seed]

    def arrays(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """The metaparameters of the trials of some places: name to float32 [places]."""
        return {
            name: np.array([self.metaparameters[trial][name] for trial in places], np.float32)
            for name in self.metaparameters[0]
        }


def train_block(
    program: BlockProgram,
    splits: Splits,
    trials: BlockTrials,
    *,
    batch_size: int,
    evaluations: dict[int, bool],
    sparsity: float = 0.0,
    prune_biases: bool = False,
    augmentation: bool = False,
    measures: Sequence[Measure] = (),
    rule: FirstToGoal | None = None,
    checkpoints: Checkpoints | None = None,
    on_steps: Callable[[int], None] = lambda _: None,
) -> BlockRecord:
    """Trains a block of trials to the last evaluation step, or to their first loss not finite.

    With a rule, every trial ends at the evaluation that finds enough of them past the goal.

    Args:
        program: the compiled functions of the workload.
        splits: the data set.
        trials: what tells the trials apart.
        batch_size: examples a step.
        evaluations: steps in order, each with whether every split is evaluated; the last one is
            the last step of training.
        sparsity: share of the weights that are pruned before the first step.
        prune_biases: whether biases are among them.
        augmentation: whether images that are read when needed are cropped and flipped at random.
        measures: what is measured besides, whenever every split is evaluated.
        rule: tells whom to evaluate when, and when to stop; None to train all to the end.
        checkpoints: where to go on from, and to save to now and then.
        on_steps: told of trial-steps as they are done.

    Returns:
        Every measurement of the block.
    """
    progress = None
    if checkpoints:
        count = len(trials.trial_ids)
        progress = checkpoints.restored(program, count, pruned=sparsity > 0)
    progress = progress or _begun(program, splits, trials, sparsity, prune_biases)
    slots, record = progress.slots, progress.record
    if rule is not None:
        _repeat(rule, record)
    draw = _draw(
        program,
        splits.training,
        trials,
        batch_size=batch_size,
        augmentation=augmentation,
        targets=list(evaluations),
        first_step=progress.step,
    )
    for target, every_split in list(evaluations.items())[progress.evaluations :]:
        while progress.step < target and slots.alive.any():
            steps = min(draw.capacity(len(slots.trial)), target - progress.step)
            _advance(program, splits.training, trials, draw, progress, steps)
            on_steps(steps * int(slots.alive.sum()))
            if checkpoints:
                checkpoints.save_when_due(progress)
        if not slots.alive.any():
            break
        _evaluate(program, splits.evaluated(every_split), progress, rule)
        if rule is not None and rule.ended:
            _evaluate(program, splits.evaluated(every_split=True), progress, None)
            break
        if every_split and measures and slots.alive.any():
            _measure(program, splits, trials, progress, measures)
        progress.evaluations += 1
        _rearrange(program, progress)
    return record


def _repeat(rule: FirstToGoal, record: BlockRecord) -> None:
    """Tells a rule what a block that goes on had measured before."""
    trials, steps, values = record.values(rule.metric)
    for step in np.unique(steps):
        now = steps == step
        rule.observe(int(step), trials[now], values[now])


def _evaluate(
    program: BlockProgram,
    splits: Mapping[str, PlacedExamples],
    progress: Progress,
    rule: FirstToGoal | None,
) -> None:
    """Evaluates the trials that are due, all without a rule; drops those that it gives up."""
    slots, record = progress.slots, progress.record
    due = slots.alive
    if rule is not None:
        due = slots.alive & rule.due(progress.step)[slots.trial]
    if not due.any():
        return
    for split, examples in splits.items():
        metrics = evaluated(program, progress.states, due, examples)
        columns = {f"{split}_{name}": values for name, values in metrics.items()}
        slots.stop(record.add_evaluation(slots.trial, due, progress.step, columns))
        if rule is not None and rule.metric in columns:
            dropped = rule.observe(progress.step, slots.trial[due], columns[rule.metric][due])
            record.drop(dropped)
            slots.stop(dropped)
        due = due & slots.alive


def _rearrange(program: BlockProgram, progress: Progress) -> None:
    """Leaves out places that are not trained, and gives every device an even share of the rest."""
    slots, devices = progress.slots, program.devices_of_trials
    if slots.wasteful():
        progress.states = program.kept(progress.states, slots.compact())
    elif slots.alive.any() and slots.uneven(devices):
        progress.states = program.kept(progress.states, slots.even(devices))


def evaluated(
    program: BlockProgram, states: TrialState, alive: np.ndarray, examples: PlacedExamples
) -> dict[str, np.ndarray]:
    """The metrics of a split: name, without the split's, to float64 [places]."""
    if isinstance(examples, SplitArrays):
        totals = program.evaluate(states, alive, examples)
        return program.trainer.objective.metrics(
            {name: on_host(total) for name, total in totals.items()}
        )
    size = program.evaluation_batch * _SLICES_TOGETHER
    sums: dict[str, Any] = {}
    for inputs, targets in streamed_slices(program, examples, program.trainer.form, size):
        totals = program.evaluate(states, alive, SplitArrays(inputs, targets))
        for name, total in totals.items():
            sums[name] = sums.get(name, 0) + on_host(total)
    return program.trainer.objective.metrics(sums)


def _measure(
    program: BlockProgram,
    splits: Splits,
    trials: BlockTrials,
    progress: Progress,
    measures: Sequence[Measure],
) -> None:
    """Takes optional measurements and records them."""
    slots = progress.slots
    if splits.measured is None:
        raise ValueError("measurements need the splits' measured examples")
    metrics = program.measure(
        progress.states, trials.arrays(slots.trial), slots.alive, splits.measured, measures
    )
    columns = {name: on_host(values).astype(np.float64) for name, values in metrics.items()}
    progress.record.add_evaluation(slots.trial, slots.alive, progress.step, columns)


def _begun(
    program: BlockProgram,
    splits: Splits,
    trials: BlockTrials,
    sparsity: float,
    prune_biases: bool,
) -> Progress:
    """A block before its first step."""
    count = len(trials.trial_ids)
    slots = Slots(count, program.places)
    states = program.start(np.asarray(trials.seeds, np.uint32)[slots.trial])
    if sparsity:
        if not isinstance(splits.training, SplitArrays):
            raise NotImplementedError("pruning needs the training split in memory")
        states = program.prune(states, sparsity, splits.training, biases=prune_biases)
    return Progress(states, slots, BlockRecord(count))


def _draw(
    program: BlockProgram,
    training: PlacedExamples,
    trials: BlockTrials,
    *,
    batch_size: int,
    augmentation: bool,
    targets: Sequence[int],
    first_step: int,
) -> Draw:
    """What gives the calls their batches."""
    if isinstance(training, SplitArrays):
        return IndexDraw(program, trials.batch_seeds, len(training), batch_size)
    return StreamedDraw(
        program,
        training,
        program.trainer.form,
        trials.batch_seeds,
        batch_size=batch_size,
        augmentation=augmentation,
        targets=targets,
        first_step=first_step,
    )


def _advance(
    program: BlockProgram,
    training: PlacedExamples,
    trials: BlockTrials,
    draw: Draw,
    progress: Progress,
    steps: int,
) -> None:
    """Trains for the steps of one call and records the losses."""
    slots = progress.slots
    progress.states, losses = program.advance(
        progress.states,
        trials.arrays(slots.trial),
        slots.alive,
        draw(slots.trial, slots.alive, progress.step, steps),
        steps,
        training if isinstance(training, SplitArrays) else None,
    )
    ended = progress.record.add_losses(
        slots.trial, slots.alive, progress.step, on_host(losses)[:, :steps]
    )
    slots.stop(ended)
    progress.step += steps
