"""What a sweep shows while it runs: a bar on a terminal, a line a shard elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from producers.sweep import SweepEvents, finished_trials, missing_trials

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from producers.plan import StudyPlan
    from producers.sweep import SweepOptions


@contextlib.contextmanager
def sweep_progress(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions
) -> Iterator[SweepEvents]:
    """The events of a sweep, shown on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    planned = sum(
        len(missing_trials(options, finished_trials(study, out))) * study.train_steps
        for study in studies
    )
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} % · {task.fields[rate]:,.0f} trial-steps/s ·"),
        TimeRemainingColumn(compact=True),
    )
    started = time.monotonic()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("starting", total=planned, rate=0)
        done = 0

        def on_block(study: StudyPlan, trial_ids: Sequence[int]) -> None:
            progress.update(task, description=f"{study.name}, {len(trial_ids)} trials")

        def on_steps(trial_steps: int) -> None:
            nonlocal done
            done += trial_steps
            rate = done / (time.monotonic() - started)
            progress.update(task, advance=trial_steps, rate=rate)

        def on_shard(path: Path, rows: int) -> None:
            if not console.is_terminal:
                sys.stderr.write(f"wrote {path} ({rows:,} measurements)\n")

        yield SweepEvents(on_block=on_block, on_steps=on_steps, on_shard=on_shard)
    if not planned:
        sys.stderr.write(f"nothing to train: {out} holds every trial that was asked for\n")
