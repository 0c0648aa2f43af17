"""Runs a sweep: trains what is missing of its studies and writes it as shards.

What is done is what lies on disk as shards, so that a sweep that was stopped, however, goes on
where it stopped when the same command is given again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from dbtool.store.contract import STUDY_KEY, TRIALS_KEY
from producers.datasets import load_images
from producers.devices import lanes, provenance
from producers.models.registry import model_definition
from producers.shards import TEMPORARY_PREFIX, write_shard
from producers.training.block import BlockProgram, trial_mesh
from producers.training.run import Splits, train_block
from producers.training.step import trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from producers.datasets import ImageDataset
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
                f"{path} is not a sound shard ({str(error).splitlines()[0]}); "
                "move it away and run the same command again"
            ) from error
        if described != expected:
            different = sorted(key for key in expected if described.get(key) != expected[key])
            raise DbtoolError(
                f"{path} holds {study.name} with another {', '.join(different)}; "
                "write this sweep into another folder with --out"
            )
        finished.update((trial["trial_id"], trial["status"]) for trial in trials)
    return finished


def missing_trials(options: SweepOptions, finished: dict[int, str]) -> list[int]:
    """The next trials that a study needs; none when it is done."""
    missing = [trial_id for trial_id in range(options.trials) if trial_id not in finished]
    if missing:
        return missing
    feasible = sum(status != "INFEASIBLE" for status in finished.values())
    most = _MOST_TRIALS_PER_FEASIBLE * options.feasible
    if feasible >= options.feasible or len(finished) >= most:
        return []
    wanted = (options.feasible - feasible) * len(finished) // max(feasible, 1)
    count = min(max(wanted, _ADDED_TRIALS), most - len(finished))
    start = max(finished) + 1
    return list(range(start, start + count))


def run_sweep(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions, events: SweepEvents
) -> None:
    """Trains what is missing of the studies and writes shards below a folder.

    Raises:
        DbtoolError: when another sweep writes there, a data set is missing, the disk is full, or
            the folder holds shards of another definition.
    """
    with _only_writer(out):
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
        record = train_block(
            self._program,
            self._splits,
            trials,
            batch_size=study.batch_size,
            evaluations=study.workload.evaluation.schedule(study.train_steps),
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


def _splits(program: BlockProgram, data: ImageDataset, workload: Workload) -> Splits:
    training = program.put(data.train)
    subset = data.train.first(min(workload.evaluation.training_subset, workload.train_examples))
    return Splits(
        training=training,
        training_subset=program.put(subset),
        validation=program.put(data.validation),
        test=program.put(data.test),
    )


@contextlib.contextmanager
def _only_writer(out: Path) -> Iterator[None]:
    """Keeps two sweeps from training the same trials, and clears away what a killed one left."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / ".lock").open("w")
    except OSError as error:
        raise DbtoolError(
            f"cannot write into {out}: {error.strerror}; choose another folder with --out"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DbtoolError(
                f"another sweep writes into {out}; wait for it or choose another folder with --out"
            ) from error
        for left in out.rglob(f"{TEMPORARY_PREFIX}*"):
            left.unlink()
        yield
