"""Runs a sweep, or a slice of it, in this process: trains what is missing and writes shards.

What is done is what lies on disk as shards, so that a sweep that was stopped, however, goes on
where it stopped when the same command is given again.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from producers.lock import only_slice, only_writer
from producers.shards import TEMPORARY_PREFIX, place_shard
from producers.sweep.tasks import ROUNDS_FOLDER, next_blocks, partition, shards_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from producers.plan import StudyPlan
    from producers.sweep.slices import Slice
    from producers.sweep.tasks import SweepOptions


@dataclass(frozen=True)
class SweepEvents:
    """What a sweep tells while it runs."""

    on_block: Callable[[StudyPlan, Sequence[int]], None]
    on_steps: Callable[[int], None]
    on_shard: Callable[[Path, int], None]


def run_sweep(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions, events: SweepEvents
) -> None:
    """Trains what is missing of the studies and writes shards below a folder.

    Raises:
        DbtoolError: when another sweep writes there, a data set is missing, the disk is full, or
            the folder holds shards of another definition.
    """
    with _writable(studies, out, options) as staging:
        following = _agreed_blocks(studies, out, options)
        for study, blocks in zip(studies, following, strict=True):
            if blocks and study.search is not None:
                _search_in_lockstep(study, out, options, events)
            elif blocks:
                _train_blocks(study, blocks, out, staging, options, events)


def _train_blocks(
    study: StudyPlan,
    blocks: list[tuple[int, ...]],
    out: Path,
    staging: Path,
    options: SweepOptions,
    events: SweepEvents,
) -> None:
    """Trains the blocks of a study, and those that are added to reach its feasible trials."""
    # This imports JAX, which a sweep that another process trains does without.
    from producers.sweep.session import StudySession

    session = StudySession(study, options)
    left, folder = blocks, study.folder(out)
    while left:
        for trial_ids in left:
            events.on_block(study, trial_ids)
            block = session.train(trial_ids, staging, events.on_steps, folder)
            if block.shard is not None:
                path = block.shard
                if staging != out:
                    path = place_shard(path, folder)
                events.on_shard(path, block.rows)
        # A slice has its blocks, whatever came of them.
        left = [] if options.part else _agreed_blocks([study], out, options)[0]


def _search_in_lockstep(
    study: StudyPlan, out: Path, options: SweepOptions, events: SweepEvents
) -> None:
    """Searches a study until its best trial is found."""
    import pyarrow.parquet as pq

    from producers.sweep.rounds import LockstepSearch
    from producers.sweep.session import StudySession

    search = LockstepSearch(study, out)
    session = StudySession(study, options)
    shard = search.run(session, lambda ids: events.on_block(study, ids), events.on_steps)
    if shard is not None:
        events.on_shard(shard, pq.read_metadata(shard).num_rows)


def _agreed_blocks(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions
) -> list[list[tuple[int, ...]]]:
    """The blocks to train next, as the first process finds them."""
    from producers.training.hosts import from_first

    blocks = from_first(lambda: next_blocks(studies, out, options))
    return [[tuple(block) for block in of_study] for of_study in blocks]


@contextlib.contextmanager
def whole_sweep(studies: Sequence[StudyPlan], out: Path) -> Iterator[Path]:
    """Holds the folder for the only sweep there, clear of what killed ones left unfinished."""
    with only_writer(out):
        for left in out.glob(f"{TEMPORARY_PREFIX}*"):
            _remove_staging(left)
        for study in studies:
            _clear(study.folder(out))
        yield out


def _clear(folder: Path) -> None:
    """Removes what a killed sweep left in a study's folder and no later one goes on with."""
    for file in folder.glob(f"{TEMPORARY_PREFIX}*"):
        file.unlink()
    if shards_in(folder):
        shutil.rmtree(folder / ROUNDS_FOLDER, ignore_errors=True)


@contextlib.contextmanager
def _writable(studies: Sequence[StudyPlan], out: Path, options: SweepOptions) -> Iterator[Path]:
    """The folder that shards are written below, for a whole sweep or for a slice."""
    from producers.training.hosts import is_first

    if not is_first():
        yield out
        return
    if options.part is None:
        with whole_sweep(studies, out):
            yield out
        return
    with only_slice(out, options.part, partition(studies, options)):
        staging = out / staging_name(options.part)
        _remove_staging(staging)
        try:
            yield staging
        finally:
            _remove_staging(staging)


def staging_name(part: Slice) -> str:
    """The folder of a slice's unfinished shards, which other slices leave alone."""
    return f"{TEMPORARY_PREFIX}{part.number}-of-{part.count}"


def _remove_staging(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
