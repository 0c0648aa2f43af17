"""What a sweep tells where there is no terminal: a line a minute, and one a study at its end."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from typing import TYPE_CHECKING

from dbtool.cli.messages import tell
from dbtool.core.contract import study_path
from dbtool.core.errors import counted, joined
from dbtool.core.shards import read_footer
from dbtool.core.walk import files_matching
from producers.cli.standing import Standing
from producers.search import ranges
from producers.sweep.outcome import best_of, values_of
from producers.training.stopping import Goal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from producers.plan import StudyPlan
    from producers.sweep.run import SweepEvents
    from producers.training.block_record import BlockRecord


def study_line(study: StudyPlan, out: Path) -> str:
    """Return a line on the trials of a study that a folder holds.

    It says how many diverged and what the best one came to, whether that lies at the edge of a
    range that was searched, and whether its first evaluation was past the goal already.
    """
    paths = sorted(files_matching(out / study_path(*study.key), "*.parquet"))
    footers = [read_footer(path) for path in paths]
    trials = {trial.trial_id: trial for footer in footers for trial in footer.trials}
    diverged = sum(trial.status == "INFEASIBLE" for trial in trials.values())
    line = f"{study.name}: {counted(len(trials), 'trial')}, {diverged:,} diverged"
    goal = Goal.of(study.workload)
    values = values_of(paths, goal.metric)
    if not len(values[0]):
        return line
    row = best_of(values, goal)
    trial, step, value = (column[row] for column in values)
    is_past = bool(goal.reached(value))
    if is_past:
        line += f"; {study.workload.stated_goal} after {counted(int(step), 'step')}"
    else:
        line += f"; best {goal.metric} {value:.3g}"
    searched = ranges(footers[-1].study.search_space)
    best = trials[int(trial)].metaparameters
    edges = [name for name, each in searched.items() if each.is_at_edge(float(best[name]))]
    if edges:
        line += f"; the best trial lies at the edge of {joined(edges)}: better may lie beyond"
    first = values[1][values[1] > 0].min(initial=study.train_steps)
    if is_past and 0 < step <= first:
        line += "; its first evaluation decided that: evaluate more often, or set a harder goal"
    return line


@contextlib.contextmanager
def told_in_lines(
    events: SweepEvents, out: Path, state: Callable[[], str], seconds: float
) -> Iterator[SweepEvents]:
    """Have the events of a sweep print a line now and then, and one of each study at its end.

    Args:
        events: of the sweep.
        out: its folder.
        state: returns how far the sweep is.
        seconds: from one line to the next. A thread prints them, since compiling and waiting for a
            cluster's workers take minutes.
    """
    ended = threading.Event()
    # Replaced as a whole: the thread reads it at any time.
    training: tuple[StudyPlan, BlockRecord | None] | None = None

    def on_block(study: StudyPlan, trial_ids: Sequence[int]) -> None:
        nonlocal training
        training = study, None
        events.on_block(study, trial_ids)

    def on_record(record: BlockRecord) -> None:
        nonlocal training
        if training is not None:
            training = training[0], record
        events.on_record(record)

    def on_study(study: StudyPlan) -> None:
        tell(f"trained {study_line(study, out)}")

    def tell_now_and_then() -> None:
        while not ended.wait(seconds):
            tell("; ".join([state(), *_in_training(training, out)]))

    thread = threading.Thread(target=tell_now_and_then, daemon=True)
    thread.start()
    try:
        yield dataclasses.replace(events, on_block=on_block, on_record=on_record, on_study=on_study)
    finally:
        ended.set()
        thread.join()


def _in_training(training: tuple[StudyPlan, BlockRecord | None] | None, out: Path) -> Iterator[str]:
    if training is not None:
        study, record = training
        if record is None:
            # The workers of a cluster tell nothing before a block has ended.
            yield study_line(study, out)
        else:
            yield f"{study.name}: {Standing.of(record, study.workload).words(study)}"
