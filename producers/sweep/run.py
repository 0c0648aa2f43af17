"""Runs a sweep in this process: trains what is missing of its studies and writes it as shards.

What is done is what lies on disk as shards, so that a sweep that was stopped, however, goes on
where it stopped when the same command is given again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from producers.lock import only_writer
from producers.shards import TEMPORARY_PREFIX
from producers.sweep.session import StudySession
from producers.sweep.tasks import finished_trials, missing_trials

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from producers.plan import StudyPlan
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
    with only_writer(out):
        _clear(studies, out)
        for study in studies:
            session = None
            while missing := missing_trials(options, finished_trials(study, out)):
                session = session or StudySession(study, options)
                for trial_ids in study.blocks(missing, options.block):
                    events.on_block(study, trial_ids)
                    path, rows = session.train(trial_ids, out, events.on_steps)
                    events.on_shard(path, rows)


def _clear(studies: Sequence[StudyPlan], out: Path) -> None:
    """Removes the unfinished files that a killed sweep left."""
    for study in studies:
        for left in study.folder(out).glob(f"{TEMPORARY_PREFIX}*"):
            left.unlink()
