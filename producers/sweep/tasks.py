"""What a sweep has trained and has still to train."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.errors import DbtoolError
from dbtool.store.contract import STUDY_KEY, TRIALS_KEY

if TYPE_CHECKING:
    from pathlib import Path

    from producers.plan import StudyPlan

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
