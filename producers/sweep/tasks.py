"""What a sweep has trained and has still to train."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.errors import DbtoolError
from dbtool.store.contract import PRODUCER_KEY, STUDY_KEY, TRIALS_KEY, without_about

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from producers.plan import StudyPlan
    from producers.sweep.slices import Slice

# Trials that are added at a time, and in all, to reach a number of feasible ones.
_ADDED_TRIALS = 8
_MOST_TRIALS_PER_FEASIBLE = 5

ROUNDS_FOLDER = ".rounds"
"""Holds, in a study's folder, the finished rounds of a search in lockstep that goes on."""


@dataclass(frozen=True)
class TrainingOptions:
    """How the devices train; the rows do not depend on it, but for the last digits of floats.

    Attributes:
        devices_a_trial: how many devices share each batch.
        micro_batch: most examples of a batch that pass through the model at a time; None for all.
        measures: names of optional measurements (`producers.training.measures`).
        checkpoint_minutes: how long after a block's last checkpoint the next one is saved.
        vocabulary: a SentencePiece model for data sets of texts; None to have one trained.
    """

    devices_a_trial: int = 1
    micro_batch: int | None = None
    measures: tuple[str, ...] = ()
    checkpoint_minutes: float = 10.0
    vocabulary: Path | None = None


@dataclass(frozen=True)
class SweepOptions:
    """How to train a sweep.

    Attributes:
        block: most trials that are trained together.
        datasets: a folder to look for data sets in.
        part: the slice of the sweep to train; None for all of it. A slice adds no trials to reach
            a number of feasible ones, which needs the results of all slices.
        training: how the devices train.
    """

    block: int
    datasets: Path | None
    part: Slice | None = None
    training: TrainingOptions = TrainingOptions()


@dataclass(frozen=True)
class Footer:
    """What a shard says of itself.

    Attributes:
        study: the study of its trials, without what it says of the release.
        trials: one object a trial.
        producer: what wrote it.
    """

    study: dict[str, Any]
    trials: list[dict[str, Any]]
    producer: dict[str, Any]


def shards_in(folder: Path) -> list[Path]:
    """The shards of a folder in the order of their trials."""
    return sorted(folder.glob("trials-*.parquet"))


def footer(path: Path) -> Footer:
    """What a shard says of itself.

    Raises:
        DbtoolError: it is not sound.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path).metadata or {}
        study, trials, producer = (
            json.loads(metadata[key.encode()]) for key in (STUDY_KEY, TRIALS_KEY, PRODUCER_KEY)
        )
        return Footer(without_about(study), list(trials), dict(producer))
    except (pa.ArrowException, OSError, KeyError, ValueError, AttributeError, TypeError) as error:
        raise DbtoolError(
            f"{path} is not a sound shard ({_first_line(error)}); "
            "move it away and run the same command again"
        ) from error


def finished_trials(study: StudyPlan, out: Path) -> dict[int, str]:
    """The trials of a study that lie in shards, with their status.

    Raises:
        DbtoolError: when a shard there belongs to another definition of the study.
    """
    return {
        trial["trial_id"]: trial["status"]
        for path in shards_in(study.folder(out))
        for trial in footer_of(study, path).trials
    }


def footer_of(study: StudyPlan, path: Path) -> Footer:
    """What a shard in a study's folder says of itself.

    Raises:
        DbtoolError: it is not sound, or belongs to another definition of the study.
    """
    held = footer(path)
    expected = json.loads(json.dumps(study.description()))
    described = _before_its_search(held.study, expected)
    if described != expected:
        raise DbtoolError(
            f"{path} holds {study.name} with another {_different(described, expected)}; "
            "write this sweep into another folder with --out"
        )
    return held


def _before_its_search(described: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """A study's description without what became of its search in lockstep, if it has one."""
    if not ("search" in described and "search" in expected):
        return described
    asked = {key: described["search"].get(key) for key in expected["search"]}
    found = {key: expected[key] for key in ("train_steps", "search_space")}
    return described | found | {"search": asked}


def missing_trials(study: StudyPlan, finished: dict[int, str]) -> list[int]:
    """The next trials that a study needs; none when it is done.

    How many trials a study has in the end follows from their statuses alone, whenever the sweep
    was stopped between.
    """
    trials, wanted = study.least_trials, study.feasible_trials
    while True:
        missing = [trial_id for trial_id in range(trials) if trial_id not in finished]
        if missing:
            return missing
        feasible = sum(finished[trial_id] != "INFEASIBLE" for trial_id in range(trials))
        most = _MOST_TRIALS_PER_FEASIBLE * wanted
        if feasible >= wanted or trials >= most:
            return []
        added = (wanted - feasible) * trials // max(feasible, 1)
        trials = min(trials + max(added, _ADDED_TRIALS), most)


def next_blocks(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions
) -> list[list[tuple[int, ...]]]:
    """The blocks of trials to train next, for each of the studies.

    When they are trained, and more feasible trials are wanted, there may be others.

    Raises:
        DbtoolError: when a shard there is not sound or belongs to another definition of its study.
    """
    if options.part is not None:
        return _blocks_of_slice(studies, out, options, options.part)
    return [
        study.blocks(missing_trials(study, finished_trials(study, out)), options.block)
        for study in studies
    ]


def _blocks_of_slice(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions, part: Slice
) -> list[list[tuple[int, ...]]]:
    """What is missing of the slice's blocks.

    Which blocks those are must not depend on what is finished, since the other slices write.
    """
    numbers = itertools.count(1)
    following = []
    for study, blocks in zip(studies, all_blocks(studies, options), strict=True):
        finished = finished_trials(study, out)
        own = [block for block in blocks if part.has(next(numbers))]
        left = [tuple(trial for trial in block if trial not in finished) for block in own]
        following.append([block for block in left if block])
    return following


def all_blocks(studies: Sequence[StudyPlan], options: SweepOptions) -> list[list[tuple[int, ...]]]:
    """The blocks of trials of each of the studies, whatever is finished."""
    return [study.blocks(range(study.least_trials), options.block) for study in studies]


def partition(studies: Sequence[StudyPlan], options: SweepOptions) -> str:
    """Eight letters that are the same where a sweep is cut into the same blocks."""
    cut = [
        [study.release, study.name, study.train_steps, study.seed, blocks]
        for study, blocks in zip(studies, all_blocks(studies, options), strict=True)
    ]
    return hashlib.sha256(json.dumps(cut).encode()).hexdigest()[:8]


def _different(described: dict[str, Any], expected: dict[str, Any]) -> str:
    """The parts of a study's description that differ; of its workload's the settings."""
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
