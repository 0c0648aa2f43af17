"""Run a sweep, or a slice of it, in this process: train what is missing and write shards.

What is done is what the folder lists as a release, so that a sweep that was stopped, however, goes
on where it stopped when the same command is given again.
"""

import contextlib
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dbtool.core.errors import DbtoolError
from dbtool.core.footer import Study
from dbtool.core.index import Index, differences
from dbtool.core.manifest import SWEEP_WORK, About, is_release
from dbtool.core.release import read_release, shard_paths
from dbtool.core.shards import read_footer
from dbtool.core.walk import entries
from dbtool.core.writer import ReleaseWriter
from producers.configuration import SweepOptions
from producers.plan import StudyPlan
from producers.sweep.events import SweepEvents, together
from producers.sweep.lock import only_writer
from producers.training.saved import saved_blocks
from producers.workloads.definition import Origin

if TYPE_CHECKING:
    from producers.sweep.session import ParentStates, TrainedBlock

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


def refuse_other(
    study: StudyPlan, held: Study, *, saved_at: int | None = None, also: Sequence[str] = ()
) -> None:
    """Refuse trials that another definition of the study trained.

    Args:
        study: the study.
        held: what the trials were trained as.
        saved_at: the step at which their block was stopped and saved; None if it has ended.
        also: names of what differs besides.
    """
    expected = study.study()
    definitions = [each.workload.definition or {} for each in (held, expected)]
    before, now = (each.get("origin") for each in definitions)
    if before != now:
        before, now = ("this package" if each is None else Origin(**each) for each in (before, now))
        raise DbtoolError(
            f"{study.name} was trained with the code of {before} and not with that of {now}, which "
            "is given; go on with that code, or write this sweep into another folder with --out"
        )
    trained, given = (each.get("data_sha256") for each in definitions)
    if trained and given and trained != given:
        raise DbtoolError(
            f"{study.name} was trained on the data of sha256 {trained[:8]} and not on those of "
            f"sha256 {given[:8]}, which are given; go on with those data, or write this sweep into "
            "another folder with --out"
        )
    differing = differences(held.workload, expected.workload)
    differing += [*differences(_before_its_search(held, expected), expected), *also]
    if not differing:
        return
    # That of the study, which is a person's in no command, follows from the given one.
    given = f"seed than the given {study.given_seed}"
    differing = [given if name.startswith("seed ") else name for name in differing]
    there, remedy = "is there", ""
    if saved_at is not None:
        there = f"is there, stopped and saved at step {saved_at:,},"
        remedy = "go on with the options that it was begun with, or "
    raise DbtoolError(
        f"{study.name} {there} with another {', '.join(differing)}; {remedy}write this sweep into "
        "another folder with --out"
    )


def work_folders(study: StudyPlan, out: Path) -> list[Path]:
    """Return the folders of a study's checkpoints: its own, then those of rounds of its search."""
    folder = study.work_folder(out)
    return [folder, *(Path(entry.path) for entry in entries(folder / ROUNDS_FOLDER))]


def stopped_blocks(
    study: StudyPlan, out: Path, options: SweepOptions, finished: Container[int]
) -> list[tuple[int, ...]]:
    """Return the blocks of a study that were saved in training and can go on.

    Raises:
        DbtoolError: what was saved, rounds of a search among it, has another definition, and
            would never be gone on with.
    """
    folder, *rounds = work_folders(study, out)
    stopped = []
    for each in (folder, *rounds):
        for (held, trial_ids, *_, shared_batches, measure), step in saved_blocks(each):
            if any(trial_id in finished for trial_id in trial_ids):
                continue  # Trained since, in other blocks.
            also = ["shared_batches"] * (shared_batches != study.shared_batches)
            also += ["measure"] * (measure != list(options.measure))
            refuse_other(study, msgspec.convert(held, Study), saved_at=step, also=also)
            if each == folder:
                stopped.append(tuple(trial_ids))
    for each in rounds:
        for path in shard_paths(each):
            refuse_other(study, read_footer(each / path).study)
    return stopped


def _before_its_search(held: Study, expected: Study) -> Study:
    # Nothing is found out of branches, which have a design.
    if held.search is None or expected.search is None or "design" in expected.search:
        return held
    declared = {name: held.search.get(name) for name in expected.search}
    found = {name: getattr(expected, name) for name in ("train_steps", "search_space")}
    return msgspec.structs.replace(held, search=declared, **found)


def missing_trials(study: StudyPlan, finished: dict[int, str]) -> list[int]:
    """Return the next trials that a study needs; none when it is done.

    How many trials a study has in the end follows from their statuses alone, whenever the sweep
    was stopped between.
    """
    if study.branch is not None:
        return [trial_id for trial_id in study.branch.trial_ids if trial_id not in finished]
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
    studies: Sequence[StudyPlan], out: Path, index: Index, options: SweepOptions
) -> list[list[tuple[int, ...]]]:
    """Return the blocks of trials to train next, for each of the studies.

    A block that was stopped goes on as it is, though other options would cut others. When they are
    trained, and more feasible trials are wanted, there may be others.

    Args:
        studies: of the sweep.
        out: its folder.
        index: what that lists.
        options: how to train.
    """
    part = options.part
    numbers = itertools.count(1)
    following = []
    for study, blocks in zip(studies, all_blocks(studies, options), strict=True):
        finished = finished_trials(study, index)
        stopped = stopped_blocks(study, out, options, finished)
        if part is None:
            missing = missing_trials(study, finished)
            going_on = []
            for block in stopped:
                rest = [trial for trial in missing if trial not in block]
                if len(rest) < len(missing):
                    going_on.append(block)
                    missing = rest
            following.append([*going_on, *study.blocks(missing, options.block)])
            continue
        # Which blocks are the slice's must not depend on what is finished: other slices write.
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
    cut += sorted({_code_and_data(study) for study in studies if study.workload.origin})
    return hashlib.sha256(json.dumps(cut).encode()).hexdigest()[:8]


def _code_and_data(study: StudyPlan) -> str:
    digest = study.workload.data_sha256
    return f"{study.workload.origin}" + (f" on data of sha256 {digest[:8]}" if digest else "")


def run_sweep(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions, events: SweepEvents
) -> None:
    """Train what is missing of the studies and add it to a release folder.

    Raises:
        DbtoolError: another sweep writes there, a data set is missing, the disk is full, or the
            folder holds studies of another definition.
        Interrupted: the events say to stop, after a checkpoint has been saved.
    """
    from producers.training.mesh import is_first, same_on_all

    origins = sorted({_code_and_data(study) for study in studies})
    if not same_on_all(origins):
        raise DbtoolError(
            "the hosts have different code or data of the user's own; give all of them the same as "
            f"{', '.join(origins)}, which this one has"
        )
    writing = sweep_writer(studies, out, options) if is_first() else contextlib.nullcontext()
    with writing as writer:
        if writer is not None:
            # So that readers see what was written before while the next block trains.
            listed = writer.list_when_due
            events = together(events, SweepEvents(on_steps=lambda _: listed()))
        run = _Run(out, writer, options, events)
        for study, blocks in zip(studies, run.next_blocks(studies), strict=True):
            if blocks:
                run.train(study, blocks)
                if writer is not None:
                    events.on_study(study)


@contextlib.contextmanager
def sweep_writer(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions
) -> Iterator[ReleaseWriter]:
    """Add to a release folder what the process trains, as the only one that may."""
    part = options.part
    letters = "" if part is None else partition(studies, options)
    about = About(release=studies[0].release)
    with only_writer(out, part, letters), ReleaseWriter(out, about) as writer:
        for study in studies:
            if study.key in writer.index.studies:
                shutil.rmtree(study.work_folder(out) / ROUNDS_FOLDER, ignore_errors=True)
        yield writer
        if part is None:
            _remove_empty_folders(out / SWEEP_WORK)


@dataclass
class _Run:
    """A sweep that is running; all processes but the first have no writer."""

    out: Path
    writer: ReleaseWriter | None
    options: SweepOptions
    events: SweepEvents
    parents: "ParentStates | None" = None  # of the branches trained last

    @property
    def index(self) -> Index:
        return Index() if self.writer is None else self.writer.index

    def next_blocks(self, studies: Sequence[StudyPlan]) -> list[list[tuple[int, ...]]]:
        from producers.training.mesh import from_first

        blocks = from_first(lambda: next_blocks(studies, self.out, self.index, self.options))
        return [[tuple(block) for block in of_study] for of_study in blocks]

    def train(self, study: StudyPlan, blocks: list[tuple[int, ...]]) -> None:
        # These import JAX, which a sweep that another process trains does without.
        from producers.sweep.rounds import LockstepSearch
        from producers.sweep.session import StudySession

        search = None if study.search is None else LockstepSearch(study, self.out, self.index)
        session = StudySession(study, self.options, self.events)
        branch = study.branch
        if branch is not None and (
            self.parents is None or self.parents.branch.study != branch.study
        ):
            self.parents = session.parents_of(branch)
        if search is not None:
            self.write(search.run(session))
            return
        while blocks:
            for trial_ids in blocks:
                self.events.on_block(study, trial_ids)
                trials = study.trials(trial_ids)
                start = partial(self.parents.start, trial_ids) if branch and self.parents else None
                folder = study.work_folder(self.out)
                self.write(session.train(trials, folder, start=start))
            # A slice has its blocks, whatever came of them.
            blocks = [] if self.options.slice else self.next_blocks([study])[0]

    def write(self, block: "TrainedBlock") -> None:
        if self.writer is not None:
            self.events.on_shard(self.writer.write(block.footer, block.tables))
        block.done()


def _remove_empty_folders(top: Path) -> None:
    for folder, _, _ in os.walk(top, topdown=False):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
