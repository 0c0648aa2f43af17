"""The progress of a sweep: a bar on a terminal, a line for each shard elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from dbtool.cli.messages import tell
from dbtool.core.errors import counted
from producers.cli.watch import Watch
from producers.sweep.run import SweepEvents
from producers.sweep.tasks import all_blocks, held_index, next_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import RenderableType
    from rich.progress import Progress

    from dbtool.core.shards import Shard
    from producers.configuration import SweepOptions
    from producers.plan import StudyPlan
    from producers.training.block_record import BlockRecord


@contextlib.contextmanager
def sweep_progress(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions, *, watch: bool = False
) -> Iterator[SweepEvents]:
    """Show the events of a sweep on standard error.

    With `watch`, also how each study comes along: on a terminal all the time, elsewhere a line at
    its end.
    """
    left = next_blocks(studies, held_index(out), options)
    planned = sum(
        sum(map(len, blocks)) * study.train_steps
        for study, blocks in zip(studies, left, strict=True)
    )
    # Rich takes some variables of the environment for a terminal.
    on_terminal = sys.stderr.isatty()
    started = time.monotonic()
    rows = Watch() if on_terminal else Watch(tell)
    with _bar(rows.lines if watch else list, disable=not on_terminal) as progress:
        task = progress.add_task("starting", total=planned, speed="")
        done = block_steps = passed = 0
        begun = True

        def on_block(study: StudyPlan, trial_ids: Sequence[int]) -> None:
            nonlocal begun, block_steps, passed
            begun = False
            # Rounds of a search have no shards of their own.
            passed += block_steps
            block_steps = len(trial_ids) * study.train_steps
            progress.update(
                task,
                description=f"{study.name}, {counted(len(trial_ids), 'trial')}",
                completed=passed,
                # Trials that are added to reach a number of feasible ones were not planned.
                total=max(planned, passed + block_steps),
                # The first steps come with the programs that make them.
                speed="compiling …",
            )
            if watch:
                rows.on_block(study, trial_ids)

        def on_record(record: BlockRecord) -> None:
            nonlocal begun
            restored = 0 if begun else sum(map(record.steps, range(record.trials)))
            if restored:
                # They were done at another time, and say nothing about the speed.
                progress.reset(task, completed=passed + restored)
            begun = True
            if watch:
                rows.on_record(record)

        def on_steps(trial_steps: int) -> None:
            nonlocal done
            done += trial_steps
            rate = done / (time.monotonic() - started)
            progress.update(task, advance=trial_steps, speed=f"{rate:,.0f} trial-steps/s")

        def on_shard(shard: Shard) -> None:
            nonlocal block_steps, passed
            # Diverged trials left out some of the steps that were planned.
            passed += block_steps
            block_steps = 0
            progress.update(task, completed=passed)
            if not on_terminal:
                tell(f"wrote {out / shard.path} ({counted(shard.rows, 'measurement')})")

        yield SweepEvents(on_block, on_steps, on_shard, on_record)
        rows.end()
    if not planned:
        tell(f"nothing to train: {_why_nothing(studies, out, options)}")


def _bar(rows: Callable[[], list[str]], *, disable: bool) -> Progress:
    """Make a line on what is trained, below it a bar of at most 80 columns, and rows of studies."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Bar(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            yield from (Text(task.description) for task in self.tasks)
            yield self.make_tasks_table(self.tasks)
            yield from (Text(row, no_wrap=True, overflow="crop") for row in rows())

    return Bar(
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:3.0f} % · {task.fields[speed]} ·"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=Console(stderr=True),
        disable=disable,
    )


def _why_nothing(studies: Sequence[StudyPlan], out: Path, options: SweepOptions) -> str:
    part = options.part
    if part is None:
        return f"{out} holds every trial that was requested"
    blocks = sum(map(len, all_blocks(studies, options)))
    if part.number > blocks:
        return (
            f"the sweep has {counted(blocks, 'block')} of trials for {part.count} slices; "
            "a smaller --block makes more of them"
        )
    return f"{out} holds every trial of slice {part}"
