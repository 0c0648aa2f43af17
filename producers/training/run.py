"""Train one block of trials and collect its measurements on the host."""

import bisect
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from producers.datasets.split import ExampleSource
from producers.training.batches import BatchSchedule, IndexDraw, Phase, phases
from producers.training.block import BlockProgram
from producers.training.block_record import BlockRecord, Progress, Slots
from producers.training.checkpoints import Checkpoints
from producers.training.measures import MEASURES, SECONDS, Measure
from producers.training.mesh import on_host
from producers.training.optimizers import LEARNING_RATE
from producers.training.step import Examples, TrialState
from producers.training.stopping import FirstToGoal
from producers.training.stream import StreamedDraw, streamed_slices

PlacedExamples = Examples | ExampleSource
Draw = IndexDraw | StreamedDraw

_SLICES_TOGETHER = 8


@dataclass(frozen=True)
class Splits:
    """The splits, on the devices or read when they are needed.

    Attributes:
        training: what batches are drawn from.
        training_subset: what stands for the training split at evaluations.
        validation: the validation split.
        test: the test split.
        measured: the first training examples, of optional measurements; None where there are none.
    """

    training: PlacedExamples
    training_subset: PlacedExamples
    validation: PlacedExamples
    test: PlacedExamples
    measured: Examples | None = None

    def evaluated(self, every_split: bool) -> dict[str, PlacedExamples]:
        """Return the splits of one evaluation, by the first word of their columns."""
        if not every_split:
            return {"val": self.validation}
        return {"train": self.training_subset, "val": self.validation, "test": self.test}


@dataclass(frozen=True)
class BlockTrials:
    """The trials of a block.

    Their ids are unique in the study and increase; their seeds are of initialisation and batch
    order, which follows from `shared_seed` where all trials share it.
    """

    trial_ids: Sequence[int]
    seeds: Sequence[int]
    metaparameters: Sequence[dict[str, float]]
    shared_seed: int | None

    @property
    def batch_seeds(self) -> Sequence[int]:
        """Return the seeds of the batch orders: one a trial, or the one that all share."""
        return self.seeds if self.shared_seed is None else [self.shared_seed]

    def arrays(self, numbers: np.ndarray, rate_growth: float) -> dict[str, np.ndarray]:
        """Return the metaparameters of some of the trials: name to float32 [trials].

        Their learning rates have grown by a factor.
        """
        growth = {LEARNING_RATE: rate_growth}
        return {
            name: np.array(
                [self.metaparameters[trial][name] * growth.get(name, 1) for trial in numbers],
                np.float32,
            )
            for name in self.metaparameters[0]
        }


def train_block(
    program: BlockProgram,
    splits: Splits,
    trials: BlockTrials,
    *,
    batch_size: int,
    evaluations: dict[int, bool],
    batch_schedule: BatchSchedule = (),
    sparsity: float = 0.0,
    prune_biases: bool = False,
    augmentation: bool = False,
    measures: tuple[str, ...] = (),
    rule: FirstToGoal | None = None,
    checkpoints: Checkpoints | None = None,
    start: Callable[[], TrialState] | None = None,
    on_stop: Callable[[Progress], None] = lambda _: None,
    on_steps: Callable[[int], None] = lambda _: None,
    on_record: Callable[[BlockRecord], None] = lambda _: None,
) -> BlockRecord:
    """Train a block of trials to the last evaluation step, or to their first non-finite loss.

    With a rule, every trial ends at the evaluation that finds enough of them past the goal.

    Args:
        program: the compiled functions of the workload.
        splits: the data set.
        trials: what tells the trials apart.
        batch_size: examples a step.
        evaluations: steps in order, each with whether every split is evaluated; the last one is
            the last step of training.
        batch_schedule: where batches and learning rates grow, as `phases` takes it.
        sparsity: share of the weights that are pruned before the first step.
        prune_biases: whether biases are among them.
        augmentation: whether images that are read when needed are cropped and flipped at random.
        measures: names of what is measured besides, in `MEASURES`, and `seconds` for the time that
            has passed at the end of each evaluation.
        rule: tells whom to evaluate when, and when to stop; None to train all to the end.
        checkpoints: where to go on from, and to save to now and then.
        start: returns the states of a block's slots to begin with, which are gone afterwards; None
            to begin with new networks.
        on_stop: called after each evaluation with the progress, whose states it may copy.
        on_steps: called with the number of trial-steps as they are done.
        on_record: called with what was measured so far: before the first step, where it is what a
            checkpoint held, after each evaluation and at the end.

    Returns:
        Every measurement of the block.
    """
    count = len(trials.trial_ids)
    restored = checkpoints.restored(program, count, pruned=sparsity > 0) if checkpoints else None
    progress = restored or _begun(program, splits, trials, sparsity, prune_biases, start)
    slots = progress.slots
    measured = {
        measure: frozenset(measure.steps(evaluations, batch_size, batch_schedule))
        for measure in (MEASURES[name] for name in measures if name != SECONDS)
    }
    by_size = tuple(phases(batch_size, batch_schedule, max(evaluations)))
    due = itertools.chain(evaluations, (each.end for each in by_size), *measured.values())
    stops = sorted(set(due))
    run = _Run(program, splits, trials, progress, by_size, timed=SECONDS in measures)
    draw_of = functools.lru_cache(maxsize=1)(
        functools.partial(run.draw_of, augmentation=augmentation, targets=stops)
    )
    if rule is not None:
        run.repeat(rule)
    on_record(progress.record)
    # A checkpoint is saved at the end of a call, before what is due after its last step.
    for target in stops[bisect.bisect_left(stops, progress.step) :]:
        while progress.step < target and slots.alive.any():
            draw = draw_of(run.phase)
            steps = min(draw.capacity(len(slots.trial)), target - progress.step)
            run.advance(draw, steps)
            on_steps(steps * int(slots.alive.sum()))
            if checkpoints:
                checkpoints.save_when_due(progress)
        if not slots.alive.any():
            break
        if target in evaluations:
            run.evaluate(splits.evaluated(evaluations[target]), rule)
            on_record(progress.record)
            on_stop(progress)
        if rule is not None and rule.ended:
            run.evaluate(splits.evaluated(every_split=True), None)
            break
        run.measure(measured)
        run.rearrange()
    on_record(progress.record)
    return progress.record


def _begun(
    program: BlockProgram,
    splits: Splits,
    trials: BlockTrials,
    sparsity: float,
    prune_biases: bool,
    start: Callable[[], TrialState] | None,
) -> Progress:
    count = len(trials.trial_ids)
    slots = Slots(count, program.slots)
    if start is not None:
        states = start()
    else:
        states = program.start(np.asarray(trials.seeds, np.uint32)[slots.trial])
    if sparsity and start is None:
        if not isinstance(splits.training, tuple):
            raise NotImplementedError("pruning needs the training split in memory")
        states = program.prune(states, sparsity, splits.training, biases=prune_biases)
    return Progress(states, slots, BlockRecord(count, program.trainer.objective.metric_names[0]))


@dataclass(frozen=True)
class _Run:
    program: BlockProgram
    splits: Splits
    trials: BlockTrials
    progress: Progress
    phases: Sequence[Phase]
    timed: bool

    @property
    def phase(self) -> Phase:
        """The phase of the next step; the last one where there is none."""
        due = (each for each in self.phases if self.progress.step < each.end)
        return next(due, self.phases[-1])

    @property
    def metaparameters(self) -> dict[str, np.ndarray]:
        """Those of the next step, by slot."""
        growth = self.program.trainer.optimizer.rate_growth(self.phase.factor)
        return self.trials.arrays(self.progress.slots.trial, growth)

    def draw_of(self, phase: Phase, *, augmentation: bool, targets: Sequence[int]) -> Draw:
        """Make the draw of the phase of the next step, of which calls end at the targets."""
        training, seeds = self.splits.training, self.trials.batch_seeds
        size, begin = phase.batch_size, phase.begin
        if isinstance(training, tuple):
            return IndexDraw(self.program, seeds, len(training[0]), size, begin)
        return StreamedDraw(
            self.program,
            training,
            seeds,
            batch_size=size,
            begin=begin,
            augmentation=augmentation,
            targets=[target for target in targets if target <= phase.end],
            first_step=self.progress.step,
        )

    def repeat(self, rule: FirstToGoal) -> None:
        """Replay to a rule the measurements of a block that resumes from a checkpoint."""
        trials, steps, values = self.progress.record.values(rule.metric)
        for step in np.unique(steps):
            now = steps == step
            rule.observe(int(step), trials[now], values[now])

    def advance(self, draw: Draw, steps: int) -> None:
        progress, slots, training = self.progress, self.progress.slots, self.splits.training
        progress.states, losses = self.program.advance(
            progress.states,
            self.metaparameters,
            slots.alive,
            draw(slots.trial, slots.alive, progress.step, steps),
            steps,
            training if isinstance(training, tuple) else None,
        )
        found = on_host(losses)[:, :steps]
        slots.stop(progress.record.add_losses(slots.trial, slots.alive, progress.step, found))
        progress.step += steps

    def evaluate(self, splits: Mapping[str, PlacedExamples], rule: FirstToGoal | None) -> None:
        """Evaluate the trials that are due, all without a rule; drop those that the rule drops."""
        step, slots, record = self.progress.step, self.progress.slots, self.progress.record
        due = slots.alive
        if rule is not None:
            due = slots.alive & rule.due(step)[slots.trial]
        if not due.any():
            return
        asked = due
        for split, examples in splits.items():
            metrics = evaluated(self.program, self.progress.states, due, examples)
            columns = {f"{split}_{name}": values for name, values in metrics.items()}
            slots.stop(record.add_evaluation(slots.trial, due, step, columns))
            if rule is not None and rule.metric in columns:
                dropped = rule.observe(step, slots.trial[due], columns[rule.metric][due])
                record.drop(dropped)
                slots.stop(dropped)
            due = due & slots.alive
        if self.timed:
            seconds = np.full(len(asked), self.progress.clock.seconds)
            record.add_evaluation(slots.trial, asked, step, {SECONDS: seconds})

    def measure(self, measured: Mapping[Measure, frozenset[int]]) -> None:
        """Take the measurements due at this step; `measured` holds the steps of each."""
        progress, slots, training = self.progress, self.progress.slots, self.splits.training
        due = [measure for measure, steps in measured.items() if progress.step in steps]
        if not slots.alive.any():
            return
        for measure in due:
            examples = self.splits.measured
            if measure.drawn is not None and isinstance(training, tuple):
                examples = training
            if examples is None:
                raise ValueError("measurements need the splits' measured examples")
            metrics = self.program.measure(
                progress.states, self.metaparameters, slots.alive, examples, measure, progress.step
            )
            columns = {name: on_host(values).astype(np.float64) for name, values in metrics.items()}
            progress.record.add_evaluation(slots.trial, slots.alive, progress.step, columns)

    def rearrange(self) -> None:
        """Drop slots that are not trained, and divide the rest evenly among devices."""
        order = self.progress.slots.rearranged(self.program.devices_of_trials)
        if order is not None:
            self.progress.states = self.program.kept(self.progress.states, order)


def evaluated(
    program: BlockProgram, states: TrialState, alive: np.ndarray, examples: PlacedExamples
) -> dict[str, np.ndarray]:
    """Return the metrics of a split: name, without the split's, to float64 [slots]."""
    slices: Iterable[Examples]
    if isinstance(examples, tuple):
        slices = [examples]
    else:
        size = program.evaluation_batch * _SLICES_TOGETHER
        slices = streamed_slices(program, examples, size)
    sums: dict[str, Any] = {}
    for part in slices:
        for name, total in program.evaluate(states, alive, part).items():
            sums[name] = sums.get(name, 0) + on_host(total)
    return program.trainer.objective.metrics(sums)
