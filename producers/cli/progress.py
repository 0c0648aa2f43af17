"""The progress of a sweep: a bar on a terminal, a line a minute and a study elsewhere.

With --watch, there is a row for each study, too.
"""

import contextlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from dbtool.cli.messages import tell
from dbtool.core.errors import counted, few_of
from dbtool.core.shards import Shard
from producers.cli.speed import Pace, hearing_of_waits
from producers.cli.standing import Standing, study_line
from producers.configuration import SweepOptions
from producers.plan import StudyPlan
from producers.sweep.events import SweepEvents, together
from producers.sweep.outcome import values_of
from producers.sweep.run import all_blocks, held_index, next_blocks
from producers.training.block_record import BlockRecord
from producers.training.stopping import Goal

_FEW = 3


class Remarks:
    """Collects what is odd about the trials of a sweep, shard by shard."""

    def __init__(self, studies: Sequence[StudyPlan], out: Path) -> None:
        self._studies = {study.key: study for study in studies}
        self._out = out
        self._trained: dict[str, StudyPlan] = {}
        self._passed: dict[str, None] = {}

    def on_shard(self, shard: Shard) -> None:
        """Note the study of a shard, and whether a trial began past the goal."""
        footer = shard.footer
        study = self._studies[footer.study.workload.workload, footer.study.batch_size]
        self._trained[study.name] = study
        if study.workload.goal is not None:
            goal = Goal.of(study.workload)
            _, steps, values = values_of([self._out / shard.path], goal.metric)
            if goal.reached(values[steps == 0]).any():
                self._passed[study.name] = None

    def tell(self) -> None:
        """Print a sentence for each oddity, with the studies that have it."""
        index = held_index(self._out)
        diverged = [
            name
            for name, study in self._trained.items()
            if study.branch is None  # of which rates that are too high are the answer
            and {row["status"] for row in index.trials_of(*study.key).values()} == {"INFEASIBLE"}
        ]
        if diverged:
            tell(f"all trials diverged: {few_of(diverged, _FEW)}; search lower learning rates")
        if self._passed:
            tell(
                f"a trial was past the goal before its first step: {few_of([*self._passed], _FEW)};"
                " set a harder goal"
            )


_HEADING = "batch size  trials  dropped  diverged      best  past goal    steps  over steps"
_MOST_ROWS = 16


class Watch:
    """The rows of the studies that a run trains; `on_line` takes each line once it is final."""

    def __init__(self, on_line: Callable[[str], None] = lambda _: None) -> None:
        self._on_line = on_line
        self._ended: list[str] = []
        self._study: StudyPlan | None = None
        self._before = self._now = Standing()
        self._pace = Pace()

    def lines(self) -> list[str]:
        """Return a heading, and the last of the rows."""
        rows = [*self._ended, *self._row()][-_MOST_ROWS:]
        return [_HEADING, *rows] if rows else []

    def on_block(self, study: StudyPlan, trial_ids: Sequence[int]) -> None:
        """Begin a block of trials, and the row of its study unless that is the last one."""
        if self._study is None or self._study.key != study.key:
            workload = study.workload
            is_other = self._study is None or self._study.workload.name != workload.name
            self.end()
            if is_other:
                self._add(f"{workload.name}: {workload.stated_goal}")
            self._study, self._before, self._now = study, Standing(), Standing()
        self._before += self._now
        self._now = Standing(Counter(trials=len(trial_ids)))
        self._pace = Pace()

    def on_steps(self, trial_steps: int) -> None:
        """Count the steps of a call of the block."""
        self._pace.on_steps(trial_steps)

    def on_waited(self, seconds: float) -> None:
        """Count seconds in which the block waited for examples."""
        self._pace.on_waited(seconds)

    def on_record(self, record: BlockRecord) -> None:
        """Show what the block has measured so far."""
        if self._study is not None:
            self._now = Standing.of(record, self._study.workload)

    def end(self) -> None:
        """End the row of the study, which changes no more."""
        for row in self._row():
            self._add(row)
        self._study = None

    def _row(self) -> list[str]:
        # Read once: the bar asks from a thread of its own.
        study, pace = self._study, self._pace.line()
        if study is None:
            return []
        return [(self._before + self._now).row(study), *([f"{'':>10}  {pace}"] if pace else [])]

    def _add(self, line: str) -> None:
        if not self._ended:
            self._on_line(_HEADING)
        self._ended.append(line)
        self._on_line(line)


@contextlib.contextmanager
def sweep_progress(
    studies: Sequence[StudyPlan],
    out: Path,
    options: SweepOptions,
    *,
    watch: bool = False,
    seconds: float = 60.0,
) -> Iterator[SweepEvents]:
    """Show the events of a sweep on standard error.

    With `watch`, also how each study comes along: on a terminal all the time, elsewhere a line at
    its end. Where there is no terminal, a line tells every so many seconds what is in training.
    """
    left = next_blocks(studies, out, held_index(out), options)
    planned = sum(
        sum(map(len, blocks)) * study.train_steps
        for study, blocks in zip(studies, left, strict=True)
    )
    # Rich takes some variables of the environment for a terminal.
    on_terminal = sys.stderr.isatty()
    rows = Watch() if on_terminal else Watch(tell)
    remarks = Remarks(studies, out)

    def on_study(study: StudyPlan) -> None:
        if not on_terminal:
            tell(f"trained {study_line(study, out)}")

    with (
        _bar(rows.lines, disable=not on_terminal) as bar,
        hearing_of_waits(rows.on_waited),
    ):
        shown = _Shown(bar, planned)
        heard = [
            SweepEvents(shown.on_block, shown.on_steps, shown.on_shard, on_record=shown.on_record),
            SweepEvents(on_shard=remarks.on_shard, on_study=on_study, on_choice=tell),
        ]
        if watch:
            heard.append(SweepEvents(rows.on_block, rows.on_steps, on_record=rows.on_record))
        with contextlib.nullcontext() if on_terminal else _told(partial(shown.line, out), seconds):
            yield together(*heard)
        rows.end()
    remarks.tell()
    if not planned:
        tell(f"nothing to train: {_why_nothing(studies, out, options)}")


class _Shown:
    """A bar on the trial-steps of a sweep, moved by its events."""

    def __init__(self, bar: Progress, planned: int) -> None:
        self._bar, self._planned = bar, planned
        self._task = bar.add_task("starting", total=planned, speed="")
        self._started = time.monotonic()
        self._done = self._block_steps = self._passed = 0
        self._begun = True
        # Replaced as a whole: a thread reads it at any time.
        self._training: tuple[StudyPlan, BlockRecord | None] | None = None

    def on_block(self, study: StudyPlan, trial_ids: Sequence[int]) -> None:
        self._begun, self._training = False, (study, None)
        # Rounds of a search have no shards of their own.
        self._passed += self._block_steps
        self._block_steps = len(trial_ids) * study.train_steps
        self._bar.update(
            self._task,
            description=f"{study.name}, {counted(len(trial_ids), 'trial')}",
            completed=self._passed,
            # Trials that are added to reach a number of feasible ones were not planned.
            total=max(self._planned, self._passed + self._block_steps),
            # The first steps come with the programs that make them.
            speed="compiling …",
        )

    def on_record(self, record: BlockRecord) -> None:
        if self._training is not None:
            self._training = self._training[0], record
        restored = 0 if self._begun else sum(map(record.steps, range(record.trials)))
        if restored:
            # They were done at another time, and say nothing about the speed.
            self._bar.reset(self._task, completed=self._passed + restored)
        self._begun = True

    def on_steps(self, trial_steps: int) -> None:
        self._done += trial_steps
        rate = self._done / (time.monotonic() - self._started)
        self._bar.update(self._task, advance=trial_steps, speed=f"{rate:,.0f} trial-steps/s")

    def on_shard(self, _: Shard) -> None:
        # Diverged trials left out some of the steps that were planned.
        self._passed += self._block_steps
        self._block_steps = 0
        self._bar.update(self._task, completed=self._passed)

    def line(self, out: Path) -> str:
        (task,) = self._bar.tasks
        line = f"{task.percentage:.0f} % of the sweep, {task.fields['speed'] or 'starting'}"
        if self._training is None:
            return line
        study, record = self._training
        if record is None:
            # The workers of a cluster tell nothing before a block has ended.
            return f"{line}; {study_line(study, out)}"
        return f"{line}; {study.name}: {Standing.of(record, study.workload).words(study)}"


@contextlib.contextmanager
def _told(line: Callable[[], str], seconds: float) -> Iterator[None]:
    """Print a line every so many seconds of the block.

    A thread does, since compiling and waiting for a cluster's workers take minutes.
    """
    ended = threading.Event()

    def tell_until_the_end() -> None:
        while not ended.wait(seconds):
            tell(line())

    thread = threading.Thread(target=tell_until_the_end, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _bar(rows: Callable[[], list[str]], *, disable: bool) -> Progress:
    """Make a line on what is trained, below it a bar of at most 80 columns, and rows of studies."""

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
        found = f"{out} holds every trial that was requested"
        if options.measure:
            return f"{found}; what was trained without --measure is measured in another --out alone"
        return found
    blocks = sum(map(len, all_blocks(studies, options)))
    if part.number > blocks:
        return (
            f"the sweep has {counted(blocks, 'block')} of trials for {part.count} slices; "
            "a smaller --block makes more of them"
        )
    return f"{out} holds every trial of slice {part}"
