"""The trials that a sweep has trained, and those that it has still to train."""

from __future__ import annotations

import hashlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import msgspec

from dbtool.core.errors import DbtoolError
from dbtool.core.index import Index, differences
from dbtool.core.manifest import is_release
from dbtool.core.release import read_release
from producers.workloads.definition import Origin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dbtool.core.footer import Study
    from producers.configuration import SweepOptions
    from producers.plan import StudyPlan

# Trials that are added at a time, and in all, to reach a number of feasible ones.
_ADDED_TRIALS = 8
_MOST_TRIALS_PER_FEASIBLE = 5

ROUNDS_FOLDER = "rounds"
"""Holds, in a study's work folder, the finished rounds of a search in lockstep that goes on."""


def held_index(out: Path) -> Index:
    """Return the index of a sweep's folder; empty if it is not a release."""
    if not is_release(out):
        return Index()
    _, tables = read_release(out)
    return Index.from_tables(tables)


def finished_trials(study: StudyPlan, index: Index) -> dict[int, str]:
    """Return the finished trials of a study, with their status."""
    held = index.studies.get(study.key)
    if held is not None:
        refuse_other(study, held)
    return {trial: row["status"] for trial, row in index.trials_of(*study.key).items()}


def refuse_other(study: StudyPlan, held: Study) -> None:
    """Refuse trials that another definition of the study trained."""
    expected = study.study()
    before, now = ((each.workload.definition or {}).get("origin") for each in (held, expected))
    if before != now:
        before, now = ("this package" if each is None else Origin(**each) for each in (before, now))
        raise DbtoolError(
            f"{study.name} was trained with the code of {before} and not with that of {now}, which "
            "is given; go on with that code, or write this sweep into another folder with --out"
        )
    differing = differences(held.workload, expected.workload)
    differing += differences(_before_its_search(held, expected), expected)
    if differing:
        raise DbtoolError(
            f"{study.name} is there with another {', '.join(differing)}; "
            "write this sweep into another folder with --out"
        )


def _before_its_search(held: Study, expected: Study) -> Study:
    if held.search is None or expected.search is None:
        return held
    declared = {name: held.search.get(name) for name in expected.search}
    found = {name: getattr(expected, name) for name in ("train_steps", "search_space")}
    return msgspec.structs.replace(held, search=declared, **found)


def missing_trials(study: StudyPlan, finished: dict[int, str]) -> list[int]:
    """Return the next trials that a study needs; none when it is done.

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
    studies: Sequence[StudyPlan], index: Index, options: SweepOptions
) -> list[list[tuple[int, ...]]]:
    """Return the blocks of trials to train next, for each of the studies.

    When they are trained, and more feasible trials are wanted, there may be others.
    """
    part = options.part
    if part is None:
        return [
            study.blocks(missing_trials(study, finished_trials(study, index)), options.block)
            for study in studies
        ]
    numbers = itertools.count(1)
    following = []
    # Which blocks are the slice's must not depend on what is finished, since other slices write.
    for study, blocks in zip(studies, all_blocks(studies, options), strict=True):
        finished = finished_trials(study, index)
        own = [block for block in blocks if part.has(next(numbers))]
        left = [tuple(trial for trial in block if trial not in finished) for block in own]
        following.append([block for block in left if block])
    return following


def all_blocks(studies: Sequence[StudyPlan], options: SweepOptions) -> list[list[tuple[int, ...]]]:
    """Return all blocks of trials of each study, finished or not."""
    return [study.blocks(range(study.least_trials), options.block) for study in studies]


def partition(studies: Sequence[StudyPlan], options: SweepOptions) -> str:
    """Return eight hex digits that are equal for sweeps cut into the same blocks."""
    cut: list[Any] = [
        [study.release, study.name, study.train_steps, study.seed, blocks]
        for study, blocks in zip(studies, all_blocks(studies, options), strict=True)
    ]
    cut += sorted({str(study.workload.origin) for study in studies if study.workload.origin})
    return hashlib.sha256(json.dumps(cut).encode()).hexdigest()[:8]
