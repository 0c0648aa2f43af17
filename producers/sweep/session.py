"""Train the blocks of one study."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pyarrow as pa

from dbtool.core.errors import DbtoolError
from dbtool.core.footer import Footer, Trial
from dbtool.core.own_code import blaming_own_code
from producers.branches import Branch
from producers.configuration import SweepOptions
from producers.datasets.forms import Form
from producers.datasets.split import Dataset, Examples, ExampleSource, Split
from producers.devices import lanes, provenance
from producers.models.registry import model_definition
from producers.plan import StudyPlan
from producers.sweep.data import load_data
from producers.sweep.events import UNHEARD, SweepEvents
from producers.sweep.memory import at_a_time, device_memory, memory_to_train, told_choice
from producers.training.block import BlockProgram
from producers.training.block_record import BlockRecord, Progress, Slots
from producers.training.checkpoints import Checkpoints
from producers.training.mesh import device_mesh, from_first
from producers.training.run import BlockTrials, PlacedExamples, Splits, train_block
from producers.training.step import Trainer, TrialState, trainer
from producers.training.stopping import FirstToGoal
from producers.workloads.definition import Workload


@dataclass(frozen=True)
class TrainedBlock:
    """Trials that were trained together: what a shard of them says of itself, and their rows.

    Once these are written, `done` removes what training would have gone on from.
    """

    footer: Footer
    tables: Iterator[pa.Table]
    done: Callable[[], None]


@dataclass(frozen=True)
class ParentStates:
    """The states of trials at the steps at which they branch: by step, those of all parents.

    They are in the order of the parents, which the branches of all factors share.
    """

    branch: Branch
    program: BlockProgram
    at: Mapping[int, TrialState]

    def start(self, trial_ids: Sequence[int]) -> TrialState:
        """Return the states that a block of branches begins with, from their numbers."""
        branch, steps = self.branch, list(self.at)
        together = jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *self.at.values())
        slots = len(jax.tree.leaves(together)[0]) // len(steps)
        at = [
            steps.index(branch.step(trial_id)) * slots + branch.parents.index(parent)
            for trial_id, parent in zip(trial_ids, branch.parents_of(trial_ids), strict=True)
        ]
        return self.program.kept(together, np.array(at)[Slots(len(at), self.program.slots).trial])


class StudySession:
    """What the blocks of one study share: the data on the devices and the compiled programs."""

    def __init__(
        self, study: StudyPlan, options: SweepOptions, events: SweepEvents = UNHEARD
    ) -> None:
        workload = study.workload
        data = load_data(study, options)
        _refuse_one_class(workload, data)
        self._study = study
        self._options = options
        self.events = events
        functions = (
            workload.model,
            workload.optimizer,
            workload.schedule,
            data.form,
            workload.dtype,
            workload.objective,
            options.remat,
        )
        if workload.origin is not None:
            _try_own(workload, trainer(*functions), data.form)
        program_of = partial(
            _block_program, functions, options.devices_per_trial, study.shared_batches
        )
        wished = chosen = options.side_by_side or lanes(), options.micro_batch
        limit = from_first(device_memory)
        if limit is not None and None in (options.side_by_side, options.micro_batch):
            in_memory = len(data.train) if isinstance(data.train, Split) else None
            chosen = at_a_time(study, options, program_of, in_memory, wished, limit)
        if chosen != wished:
            events.on_choice(told_choice(study, *chosen, limit))
        self._program = program_of(*chosen)
        self._splits = self._placed(data)

    def train(
        self,
        trials: BlockTrials,
        folder: Path | None = None,
        evaluations: dict[int, bool] | None = None,
        rule: FirstToGoal | None = None,
        start: Callable[[], TrialState] | None = None,
    ) -> TrainedBlock:
        """Train a block of trials to its end.

        Args:
            trials: of the block.
            folder: for checkpoints, where the block goes on if there is one of it; None for none.
            evaluations: steps in order, each with whether every split is evaluated; None for those
                of the workload.
            rule: when trials stop; None to train them to their end.
            start: returns the states to begin with, as `train_block` takes it.

        Raises:
            DbtoolError: the devices' memory does not hold them.
            Interrupted: the session is to stop, and a checkpoint has been saved.
        """
        study, options = self._study, self._options
        checkpoints = None
        if folder is not None:
            identity = [msgspec.to_builtins(study.study()), list(trials.trial_ids)]
            identity += [max(evaluations)] if evaluations else []
            identity += [study.shared_batches, list(options.measure)]
            seconds = 60 * options.checkpoint_minutes
            checkpoints = Checkpoints(folder, identity, seconds, self.events.stopping)
        workload = study.workload
        if evaluations is None:
            evaluations = workload.evaluation.schedule(
                study.train_steps, study.batch_size, workload.batch_schedule
            )
        with memory_to_train(study, len(trials.trial_ids)):
            record = self._record(
                study,
                trials,
                evaluations,
                measures=options.measure,
                rule=rule,
                checkpoints=checkpoints,
                start=start,
                on_steps=self.events.on_steps,
                on_record=self.events.on_record,
            )
        return TrainedBlock(
            footer_of(study, trials, record, self._program),
            record.tables(list(trials.trial_ids)),
            done=checkpoints.remove if checkpoints else lambda: None,
        )

    def parents_of(self, branch: Branch) -> ParentStates:
        """Train the parents of branches again up to the steps at which these begin."""
        program, parents = self._program, branch.parents
        found: dict[int, TrialState] = {}

        def keep(progress: Progress) -> None:
            slots = Slots(len(parents), program.slots).trial
            first = [np.flatnonzero(progress.slots.trial == trial)[0] for trial in slots]
            found[progress.step] = program.kept(progress.states, np.array(first))

        trials = branch.study.trials_at(
            [parent.trial_id for parent in parents], [parent.metaparameters for parent in parents]
        )
        self._record(branch.study, trials, dict.fromkeys(branch.at, False), on_stop=keep)
        return ParentStates(branch, program, found)

    def _record(
        self, study: StudyPlan, trials: BlockTrials, evaluations: dict[int, bool], **more: Any
    ) -> BlockRecord:
        """Train trials of a study, with what else `train_block` takes."""
        workload = study.workload
        return train_block(
            self._program,
            self._splits,
            trials,
            batch_size=study.batch_size,
            evaluations=evaluations,
            batch_schedule=workload.batch_schedule,
            sparsity=workload.sparsity,
            prune_biases=workload.pruning == "snip_with_biases",
            augmentation=workload.augmentation,
            **more,
        )

    def _placed(self, data: Dataset) -> Splits:
        """Return the splits, on the devices if they are in memory."""
        program = self._program

        def placed(examples: Examples) -> PlacedExamples:
            return program.put(examples) if isinstance(examples, Split) else examples

        subset = placed(_first(data.train, self._study.workload.evaluation.training_subset))
        measured = None
        if self._options.measure:
            measured = (
                subset
                if isinstance(subset, tuple)
                else program.put(subset.read(np.arange(len(subset), dtype=np.int64), None))
            )
        return Splits(
            training=placed(data.train),
            training_subset=subset,
            validation=placed(data.validation),
            test=placed(data.test),
            measured=measured,
        )


def footer_of(
    study: StudyPlan, trials: BlockTrials, record: BlockRecord, program: BlockProgram
) -> Footer:
    """Return the footer of a shard of trials that a program trained together."""
    return Footer(
        study=study.study(),
        trials=tuple(
            Trial(
                trial_id=trial_id,
                status=record.status(index),
                steps=record.steps(index),
                metaparameters=dict(trials.metaparameters[index]),
                seed=trials.seeds[index],
            )
            for index, trial_id in enumerate(trials.trial_ids)
        ),
        producer=provenance(study, program, len(trials.trial_ids)),
    )


def _refuse_one_class(workload: Workload, data: Dataset) -> None:
    """Refuse to classify examples that are all of one class, as any model soon does."""
    is_classified = (workload.objective or data.form.objective) == "classification"
    if is_classified and isinstance(data.train, Split):
        labels = np.unique(data.train.targets)
        if len(labels) == 1:
            raise DbtoolError(
                f"the training examples of {workload.name} are all of class {labels[0]}: check the "
                "labels of its data"
            )


def _try_own(workload: Workload, functions: Trainer, form: Form) -> None:
    """Refuse a model or an optimizer of the user's own that a step fails with, by shapes alone."""
    with blaming_own_code(str(workload.origin)):
        state = jax.eval_shape(functions.start, jax.ShapeDtypeStruct((), "uint32"))
        inputs = jax.ShapeDtypeStruct((2, *form.input_shape), form.input_dtype)
        targets = jax.ShapeDtypeStruct((2, *form.target_shape), form.target_dtype)
        logits = jax.eval_shape(functions.logits, state.parameters, state.statistics, inputs)
        wanted = (2, *form.logits_shape)
        if logits.shape != wanted:
            raise DbtoolError(
                f"the model {workload.model} returns logits {logits.shape} of 2 examples, and "
                f"they should be {wanted}"
            )
        values = {name: jax.ShapeDtypeStruct((), "float32") for name, _ in workload.search_space}
        after, _ = jax.eval_shape(functions.step, state, values, inputs, targets)
        if _shapes(after) != _shapes(state):
            raise DbtoolError(
                f"a step changes the shape or type of what {workload.model} or "
                f"{workload.optimizer} carry from one to the next"
            )


def _shapes(state: TrialState) -> list[tuple[object, ...]]:
    leaves = jax.tree_util.tree_leaves_with_path(state)
    return [(path, leaf.shape, leaf.dtype) for path, leaf in leaves]


# The studies of a sweep mostly differ in batch size or sparsity, so that what one has compiled
# serves the next.
@functools.lru_cache(maxsize=16)
def _block_program(
    functions: tuple[str, str, str, Form, str, str, bool],
    devices_a_trial: int,
    shared_batches: bool,
    side_by_side: int,
    micro_batch: int | None,
) -> BlockProgram:
    """Return the programs of all studies with the same arguments of `trainer`."""
    model = model_definition(functions[0])
    return BlockProgram(
        trainer(*functions),
        device_mesh(devices_a_trial=devices_a_trial),
        lanes=side_by_side,
        shared_batches=shared_batches,
        evaluation_batch=model.evaluation_batch,
        divisor=model.divisor,
        micro_batch=micro_batch,
    )


@dataclass(frozen=True)
class _FirstExamples:
    source: ExampleSource
    count: int

    def __len__(self) -> int:
        return self.count

    def read(self, examples: np.ndarray, augmentation: np.random.Generator | None) -> Split:
        return self.source.read(examples, augmentation)


def _first(examples: Examples, count: int) -> Examples:
    count = min(count, len(examples))
    return examples.first(count) if isinstance(examples, Split) else _FirstExamples(examples, count)
