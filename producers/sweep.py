"""Runs a sweep: trains what is missing of its studies and writes it as shards.

What is done is what lies on disk as shards, so that a sweep that was stopped, however, goes on
where it stopped when the same command is given again.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax

from dbtool.errors import DbtoolError
from dbtool.store.contract import STUDY_KEY, TRIALS_KEY
from producers.datasets import Split, load_images
from producers.devices import lanes, provenance
from producers.lock import only_writer
from producers.models.registry import model_definition
from producers.shards import TEMPORARY_PREFIX, write_shard
from producers.training.block import BlockProgram, trial_mesh
from producers.training.run import Splits, train_block
from producers.training.step import trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from producers.datasets import Dataset, Examples
    from producers.plan import StudyPlan
    from producers.workloads.definition import Workload

# Trials that are added at a time, and in all, to reach a number of feasible ones.
_ADDED_TRIALS = 8
_MOST_TRIALS_PER_FEASIBLE = 5


@dataclass(frozen=True)
class SweepOptions:
    """How much of each study to train.

    Attributes:
        trials: each study has at least the trials 0 to trials - 1.
        feasible: trials are added until this many are not INFEASIBLE.
        block: most trials that are trained together.
        datasets: a folder to look for data sets in.
    """

    trials: int
    feasible: int
    block: int
    datasets: Path | None


@dataclass(frozen=True)
class SweepEvents:
    """What a sweep tells while it runs."""

    on_block: Callable[[StudyPlan, Sequence[int]], None]
    on_steps: Callable[[int], None]
    on_shard: Callable[[Path, int], None]


def finished_trials(study: StudyPlan, out: Path) -> dict[int, str]:
    """The trials of a study that lie in shards, with their status.

    Raises:
        DbtoolError: when a shard there belongs to another definition of the study.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    finished: dict[int, str] = {}
    expected = json.loads(json.dumps(study.description()))
    for path in sorted(study.folder(out).glob("trials-*.parquet")):
        try:
            metadata = pq.read_metadata(path).metadata or {}
            described = json.loads(metadata[STUDY_KEY.encode()])
            trials = json.loads(metadata[TRIALS_KEY.encode()])
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise DbtoolError(
                f"{path} is not a sound shard ({_first_line(error)}); "
                "move it away and run the same command again"
            ) from error
        if described != expected:
            raise DbtoolError(
                f"{path} holds {study.name} with another {_different(described, expected)}; "
                "write this sweep into another folder with --out"
            )
        finished.update((trial["trial_id"], trial["status"]) for trial in trials)
    return finished


def missing_trials(options: SweepOptions, finished: dict[int, str]) -> list[int]:
    """The next trials that a study needs; none when it is done.

    How many trials a study has in the end follows from their statuses alone, whenever the sweep
    was stopped between.
    """
    trials = options.trials
    while True:
        missing = [trial_id for trial_id in range(trials) if trial_id not in finished]
        if missing:
            return missing
        feasible = sum(finished[trial_id] != "INFEASIBLE" for trial_id in range(trials))
        most = _MOST_TRIALS_PER_FEASIBLE * options.feasible
        if feasible >= options.feasible or trials >= most:
            return []
        wanted = (options.feasible - feasible) * trials // max(feasible, 1)
        trials = min(trials + max(wanted, _ADDED_TRIALS), most)


def run_sweep(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions, events: SweepEvents
) -> None:
    """Trains what is missing of the studies and writes shards below a folder.

    Raises:
        DbtoolError: when another sweep writes there, a data set is missing, the disk is full, or
            the folder holds shards of another definition.
    """
    with only_writer(out):
        _clear(studies, out)
        for study in studies:
            session = None
            while missing := missing_trials(options, finished_trials(study, out)):
                session = session or _StudySession(study, options)
                for trial_ids in study.blocks(missing, options.block):
                    events.on_block(study, trial_ids)
                    path, rows = session.train(trial_ids, out, events.on_steps)
                    events.on_shard(path, rows)


class _StudySession:
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
        trial_mesh(),
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


def _clear(studies: Sequence[StudyPlan], out: Path) -> None:
    """Removes the unfinished files that a killed sweep left."""
    for study in studies:
        for left in study.folder(out).glob(f"{TEMPORARY_PREFIX}*"):
            left.unlink()


def _different(described: object, expected: dict[str, Any]) -> str:
    """The parts of a study's description that differ; of its workload's the settings."""
    if not isinstance(described, dict):
        return "description"
    names = []
    for key in sorted({*described, *expected}):
        theirs, ours = described.get(key), expected.get(key)
        if theirs == ours:
            continue
        if isinstance(theirs, dict) and isinstance(ours, dict):
            names += [
                f"{key} ({part})"
                for part in sorted({*theirs, *ours})
                if theirs.get(part) != ours.get(part)
            ]
        else:
            names.append(key)
    return ", ".join(names)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
