"""Trains the blocks of one study and writes their shards."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import jax

from dbtool.errors import DbtoolError
from producers.datasets import Split, load_images
from producers.devices import lanes, provenance
from producers.models.registry import model_definition
from producers.shards import write_shard
from producers.training.block import BlockProgram
from producers.training.mesh import device_mesh
from producers.training.run import Splits, train_block
from producers.training.step import trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from producers.datasets import Dataset, Examples
    from producers.plan import StudyPlan
    from producers.sweep.tasks import SweepOptions
    from producers.workloads.definition import Workload


class StudySession:
    """What the blocks of one study share: the data on the devices and the compiled programs."""

    def __init__(self, study: StudyPlan, options: SweepOptions) -> None:
        workload = study.workload
        data = load_images(
            workload.source,
            train_examples=workload.train_examples,
            datasets_dir=options.datasets,
        )
        self._study = study
        self._program = _program(study)
        self._splits = _splits(self._program, data, workload)

    def train(
        self, trial_ids: Sequence[int], out: Path, on_steps: Callable[[int], None]
    ) -> tuple[Path, int]:
        """Trains a block and writes its shard; returns the shard and its number of rows."""
        study = self._study
        trials = study.trials(trial_ids)
        with _memory_to_train(study, len(trial_ids)):
            record = train_block(
                self._program,
                self._splits,
                trials,
                batch_size=study.batch_size,
                evaluations=study.workload.evaluation.schedule(study.train_steps, study.batch_size),
                on_steps=on_steps,
            )
        path = write_shard(
            study.folder(out),
            study=study.description(),
            trials=[
                {
                    "trial_id": trial_id,
                    "status": record.status(index),
                    "steps": record.steps(index),
                    "metaparameters": trials.metaparameters[index],
                    "seed": trials.seeds[index],
                }
                for index, trial_id in enumerate(trial_ids)
            ],
            producer=provenance("shared" if study.shared_batches else "own"),
            tables=record.tables(list(trial_ids)),
        )
        return path, sum(record.steps(index) + 1 for index in range(len(trial_ids)))


def _program(study: StudyPlan) -> BlockProgram:
    workload = study.workload
    return BlockProgram(
        trainer(workload.model, workload.optimizer, workload.schedule),
        device_mesh(),
        lanes=lanes(),
        shared_batches=study.shared_batches,
        evaluation_batch=model_definition(workload.model).evaluation_batch,
    )


def _splits(program: BlockProgram, data: Dataset, workload: Workload) -> Splits:
    train = _in_memory(data.train)
    subset = train.first(min(workload.evaluation.training_subset, workload.train_examples))
    return Splits(
        training=program.put(train),
        training_subset=program.put(subset),
        validation=program.put(_in_memory(data.validation)),
        test=program.put(_in_memory(data.test)),
    )


def _in_memory(examples: Examples) -> Split:
    """The examples, of a data set whose loader reads it whole."""
    if not isinstance(examples, Split):
        raise NotImplementedError("this sweep trains on data sets in memory alone")
    return examples


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
        mend = "fewer trials together with --block" if trials > 1 else "a smaller batch size"
        raise DbtoolError(
            f"{study.name} with {trials} trials together needs more memory than there is; "
            f"train {mend}"
        ) from error
