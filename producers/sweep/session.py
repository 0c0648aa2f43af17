"""Trains the blocks of one study and writes their shards."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from dbtool.errors import DbtoolError
from producers.datasets import Split
from producers.datasets.load import load_dataset
from producers.devices import lanes, provenance
from producers.models.registry import model_definition
from producers.shards import write_shard
from producers.training.block import BlockProgram
from producers.training.checkpoints import Checkpoints
from producers.training.hosts import is_first
from producers.training.measures import MEASURES
from producers.training.mesh import device_mesh
from producers.training.run import Splits, train_block
from producers.training.step import trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from producers.datasets import Dataset, Examples, ExampleSource
    from producers.datasets.forms import Form
    from producers.plan import StudyPlan
    from producers.sweep.tasks import SweepOptions
    from producers.training.block import SplitArrays
    from producers.training.records import BlockRecord
    from producers.training.run import BlockTrials
    from producers.training.stopping import FirstToGoal


@dataclass(frozen=True)
class FinishedBlock:
    """A block that has been trained.

    Attributes:
        shard: its shard; None on the processes of a sweep over several hosts that do not write.
        rows: how many measurements it holds.
    """

    shard: Path | None
    rows: int


class StudySession:
    """What the blocks of one study share: the data on the devices and the compiled programs."""

    def __init__(self, study: StudyPlan, options: SweepOptions) -> None:
        workload = study.workload
        data = load_dataset(
            workload.source,
            form=workload.form,
            subset=workload.subset,
            train_examples=workload.train_limit,
            folder=study.replacement,
            datasets_dir=options.datasets,
            vocabulary=options.training.vocabulary,
            held_out=workload.held_out,
        )
        self._study = study
        self._options = options.training
        self._measures = [MEASURES[name] for name in options.training.measures]
        self._program = _block_program(
            (workload.model, workload.optimizer, workload.schedule, data.form, workload.dtype),
            options.training.devices_a_trial,
            options.training.micro_batch,
            study.shared_batches,
        )
        self._splits = self._placed(data)

    def train(
        self,
        trial_ids: Sequence[int],
        out: Path,
        on_steps: Callable[[int], None],
        checkpoints: Path | None = None,
    ) -> FinishedBlock:
        """Trains a block to its end and writes its shard below a folder.

        Args:
            trial_ids: the block.
            out: the shard goes into the study's folder below it.
            on_steps: told of trial-steps as they are done.
            checkpoints: a folder for checkpoints, where the block goes on if there is one of it;
                None for none.
        """
        study, trials = self._study, self._study.trials(trial_ids)
        evaluations = study.workload.evaluation.schedule(study.train_steps, study.batch_size)
        saved = self._checkpoints(checkpoints, [list(trial_ids)])
        record = self._trained(trials, evaluations, on_steps, saved)
        shard = None
        if is_first():
            folder = study.folder(out)
            shard = self._write(folder, study.description(), trials, record)
        if saved is not None and is_first():
            saved.remove()
        return FinishedBlock(shard, sum(record.steps(i) + 1 for i in range(len(trial_ids))))

    def train_round(
        self,
        trials: BlockTrials,
        evaluations: dict[int, bool],
        rule: FirstToGoal,
        folder: Path,
        on_steps: Callable[[int], None],
    ) -> None:
        """Trains a round of a search in lockstep and writes its rows as a shard into a folder.

        Args:
            trials: of the round.
            evaluations: their steps in order, each with whether every split is evaluated.
            rule: when trials stop.
            folder: for the shard, and for checkpoints while it trains.
            on_steps: told of trial-steps as they are done.
        """
        saved = self._checkpoints(folder, [list(trials.trial_ids), max(evaluations)])
        record = self._trained(trials, evaluations, on_steps, saved, rule)
        if is_first():
            self._write(folder, self._study.description(), trials, record)
        if saved is not None and is_first():
            saved.remove()

    def _trained(
        self,
        trials: BlockTrials,
        evaluations: dict[int, bool],
        on_steps: Callable[[int], None],
        checkpoints: Checkpoints | None,
        rule: FirstToGoal | None = None,
    ) -> BlockRecord:
        """Trains trials together and returns what was measured.

        Raises:
            DbtoolError: when the devices' memory does not hold them.
        """
        study = self._study
        with _memory_to_train(study, len(trials.trial_ids)):
            return train_block(
                self._program,
                self._splits,
                trials,
                batch_size=study.batch_size,
                evaluations=evaluations,
                sparsity=study.workload.sparsity,
                prune_biases=study.workload.pruning == "snip_with_biases",
                augmentation=study.workload.augmentation,
                measures=self._measures,
                rule=rule,
                checkpoints=checkpoints,
                on_steps=on_steps,
            )

    def _checkpoints(self, folder: Path | None, block: list[Any]) -> Checkpoints | None:
        """Where a block saves itself to, in a folder."""
        if folder is None:
            return None
        study = self._study
        identity = [study.description(), *block, study.shared_batches, list(self._options.measures)]
        return Checkpoints(folder, identity, 60 * self._options.checkpoint_minutes)

    def _write(
        self, folder: Path, description: Mapping[str, Any], trials: BlockTrials, record: BlockRecord
    ) -> Path:
        """Writes the shard of trials that were trained together."""
        return write_shard(
            folder,
            study=description,
            trials=[
                {
                    "trial_id": trial_id,
                    "status": record.status(index),
                    "steps": record.steps(index),
                    "metaparameters": trials.metaparameters[index],
                    "seed": trials.seeds[index],
                }
                for index, trial_id in enumerate(trials.trial_ids)
            ],
            producer=provenance(
                "shared" if self._study.shared_batches else "own",
                self._program.devices_a_trial,
                self._program.batch_shape(self._study.batch_size)[1],
            ),
            tables=record.tables(list(trials.trial_ids)),
        )

    def _placed(self, data: Dataset) -> Splits:
        """The splits on the devices, as far as memory holds them."""
        program = self._program

        def placed(examples: Examples) -> SplitArrays | ExampleSource:
            return program.put(examples) if isinstance(examples, Split) else examples

        subset = _first(data.train, self._study.workload.evaluation.training_subset)
        measured = program.put(_read(subset)) if self._measures else None
        return Splits(
            training=placed(data.train),
            training_subset=placed(subset),
            validation=placed(data.validation),
            test=placed(data.test),
            measured=measured,
        )


# The studies of a sweep mostly differ in batch size or sparsity, so that what one has compiled
# serves the next.
@functools.lru_cache(maxsize=16)
def _block_program(
    functions: tuple[str, str, str, Form, str],
    devices_a_trial: int,
    micro_batch: int | None,
    shared_batches: bool,
) -> BlockProgram:
    """The programs of all studies that train with the same functions, as `trainer` takes them."""
    return BlockProgram(
        trainer(*functions),
        device_mesh(devices_a_trial=devices_a_trial),
        lanes=lanes(),
        shared_batches=shared_batches,
        evaluation_batch=model_definition(functions[0]).evaluation_batch,
        micro_batch=micro_batch,
    )


@dataclass(frozen=True)
class _FirstExamples:
    """The first examples of a source."""

    source: ExampleSource
    count: int

    def __len__(self) -> int:
        return self.count

    def read(self, examples: np.ndarray, augmentation: np.random.Generator | None) -> Split:
        return self.source.read(examples, augmentation)


def _first(examples: Examples, count: int) -> Examples:
    count = min(count, len(examples))
    return examples.first(count) if isinstance(examples, Split) else _FirstExamples(examples, count)


def _read(examples: Examples) -> Split:
    """The examples in memory."""
    if isinstance(examples, Split):
        return examples
    return examples.read(np.arange(len(examples), dtype=np.int64), None)


@contextlib.contextmanager
def _memory_to_train(study: StudyPlan, trials: int) -> Iterator[None]:
    """Says in one sentence that a block does not fit into the devices' memory."""
    try:
        yield
    except (jax.errors.JaxRuntimeError, MemoryError) as error:
        # JAX tells by its message alone: the one at compiling and starting, the other at running.
        told = ("RESOURCE_EXHAUSTED" in str(error), "Out of memory" in str(error))
        if not (isinstance(error, MemoryError) or any(told)):
            raise
        mend = (
            "fewer trials together with --block"
            if trials > 1
            else "fewer examples at a time with --micro-batch"
        )
        raise DbtoolError(
            f"{study.name} with {trials} trials together needs more memory than there is; "
            f"train {mend}"
        ) from error
