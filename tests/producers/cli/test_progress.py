"""What a sweep shows of itself: bar, rows of --watch, lines, speed and the trace of --profile."""

import contextlib
import gzip
import io
import json
import math
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dbtool.core.shards import Shard, read_footer
from producers.cli.progress import Watch, sweep_progress
from producers.cli.speed import Pace
from producers.configuration import SweepOptions
from producers.plan import StudyPlan
from producers.sweep.events import SweepEvents
from producers.training.block_record import BlockRecord
from tests.support import made_up
from tests.support.sweeps import TRAINED, WORKLOAD, in_place_of_mnist, produced, small_study

STUDY = replace(small_study(steps=100), least_trials=4)
"""Of 400 trial-steps."""


class Terminal(io.StringIO):
    """A terminal that keeps what was shown."""

    def isatty(self) -> bool:
        """It is one."""
        return True

    def bars(self) -> list[str]:
        """The percentages and speeds that were shown, in order."""
        plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", self.getvalue())
        return re.findall(r"(\d+ % · [^·]*) ·", plain)


@contextlib.contextmanager
def on_terminal(out: Path) -> Iterator[tuple[Terminal, SweepEvents]]:
    """What a terminal shows of the sweep of STUDY, and the events to tell it of."""
    terminal = Terminal()
    with (
        contextlib.redirect_stderr(terminal),
        sweep_progress([STUDY], out, SweepOptions()) as events,
    ):
        yield terminal, events


def trained(trials: int, steps: int) -> BlockRecord:
    record = BlockRecord(trials)
    record.add_losses(np.arange(trials), np.ones(trials, bool), 0, np.zeros((trials, steps)))
    return record


def test_restored_steps_are_done_and_not_in_the_rate(tmp_path):
    with on_terminal(tmp_path) as (terminal, events):
        began = time.monotonic()
        events.on_block(STUDY, range(4))
        events.on_record(trained(4, 50))
        assert terminal.bars()[-1] == "50 % · compiling …"
        time.sleep(0.1)
        at_least = time.monotonic() - began
        # Later records hold what this process has trained, too.
        events.on_steps(40)
        events.on_record(trained(4, 60))
    percentage, speed = terminal.bars()[-1].split(" % · ")
    assert percentage == "60"
    # The speed is shown as a whole number, the nearest one.
    assert float(speed.removesuffix(" trial-steps/s").replace(",", "")) <= 40 / at_least + 0.5


def test_a_block_that_begins_anew_has_nothing_restored(tmp_path):
    with on_terminal(tmp_path) as (terminal, events):
        for trial_ids in (range(2), range(2, 4)):
            events.on_block(STUDY, trial_ids)
            events.on_record(BlockRecord(2))
            events.on_steps(50)
    # Of the first round what was left out counts, as of trials that diverged.
    assert terminal.bars()[-1].startswith("62 % · ")


ERROR = "val_classification_error"
HEADING = "batch size  trials  dropped  diverged      best  past goal    steps  over steps"


def study(batch_size: int = 8, **workload: object) -> StudyPlan:
    plan = small_study()
    changed: Any = {"metric": ERROR, "goal": 0.25} | workload
    return replace(plan, workload=replace(plan.workload, **changed), batch_size=batch_size)


def record(curves: list[list[float]], *, every: int = 10) -> BlockRecord:
    """Trials that took as many steps as their curves say, which end with NaN where they diverge."""
    measured = BlockRecord(len(curves))
    for trial, curve in enumerate(curves):
        for number, value in enumerate(curve):
            metrics = {ERROR: np.array([value]), "val_cross_entropy_error": np.array([value])}
            alive = np.array([True])
            measured.add_evaluation(np.array([trial]), alive, every * number, metrics)
    return measured


def test_a_row_tells_how_a_study_stands():
    watch = Watch()
    assert watch.lines() == []
    watch.on_block(study(), range(4))
    assert watch.lines()[-1].split() == ["8", "4", "0", "0", "-", "0", "-"]
    # The goal is passed after 20 steps and, by another trial, after 30; 0.25 does not pass it.
    curves = [[0.8, 0.4, 0.2], [0.9, 0.5, 0.25, 0.1], [0.8, np.nan], [0.8, 0.7]]
    measured = record(curves)
    measured.drop(np.array([3]))
    watch.on_record(measured)
    heading, workload, row = watch.lines()
    assert (heading, workload) == (HEADING, f"{TRAINED}: {ERROR} < 0.25")
    # Its last number ends where the heading of the steps does.
    assert row[: heading.index("steps") + 5].endswith(" 20")
    assert row.split()[:-1] == ["8", "4", "1", "1", "0.1", "2", "20"]
    # After 0, 3 1/3, … 30 steps: three times 0.8, 0.4 and 0.2, each a third of the way that
    # is left to 0.1, and that once.
    assert row.split()[-1] == "███▆▆▆▃▃▃▁"


def test_blocks_of_a_study_are_one_row_and_its_last_one_stays():
    told: list[str] = []
    watch = Watch(told.append)
    watch.on_block(study(), range(2))
    watch.on_record(record([[0.8, 0.3], [0.8, 0.2]]))
    watch.on_block(study(), range(2, 3))
    watch.on_record(record([[0.7, 0.6, 0.1]]))
    assert watch.lines()[-1].split()[:-1] == ["8", "3", "0", "0", "0.1", "2", "10"]
    assert told == [HEADING, f"{TRAINED}: {ERROR} < 0.25"]
    watch.on_block(study(16), range(5))
    assert told[-1].split()[:2] == ["8", "3"]
    assert [line.split()[0] for line in watch.lines()[2:]] == ["8", "16"]
    watch.on_block(study(8, optimizer="momentum", goal=None), range(1))
    watch.on_record(record([[0.5]]))
    watch.end()
    assert [line.split()[:2] for line in told[2:]] == [
        ["8", "3"],
        ["16", "5"],
        [f"{TRAINED.replace('sgd', 'momentum')}:", ERROR],
        ["8", "1"],
    ]
    # Without a goal nothing is past it.
    assert told[-1].split()[4:7] == ["0.5", "0", "-"]


def test_what_is_odd_about_trials_is_told_at_the_end(tmp_path, capsys):
    studies = [study(batch_size) for batch_size in (8, 16, 32)]
    with sweep_progress(studies, tmp_path, SweepOptions()) as events:
        for batch_size, trial in (
            (8, (0, "INFEASIBLE", 0.1, [0.9, np.nan])),
            (16, (0, "INFEASIBLE", 0.1, [0.9, np.nan])),
            (16, (1, "COMPLETE", 0.1, [0.9, 0.2])),
            (32, (0, "COMPLETE", 0.1, [0.2, 0.3])),
        ):
            path = write_trials(tmp_path, batch_size, trial)
            listed = path.relative_to(tmp_path).as_posix()
            events.on_shard(Shard(listed, "", 0, read_footer(path)))
    passed = f"{TRAINED} at batch size 32"
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"all trials diverged: {TRAINED} at batch size 8; search lower learning rates",
        f"a trial was past the goal before its first step: {passed}; set a harder goal",
    ]


def write_trials(out: Path, batch_size: int, *trials: tuple[int, str, float, list[float]]) -> Path:
    """A shard of trials with these learning rates and errors after 0, 10, … steps."""
    return made_up.write_shard(
        out,
        trials=[
            (trial_id, status, {"learning_rate": rate}, made_up.curve(errors))
            for trial_id, status, rate, errors in trials
        ],
        workload=TRAINED,
        batch_size=batch_size,
        train_steps=10 * max(len(errors) - 1 for *_, errors in trials),
        search_space=study().study().search_space,
    )


def test_without_a_terminal_a_study_is_one_line_at_its_end(tmp_path, capsys):
    with sweep_progress([study()], tmp_path, SweepOptions()) as events:
        # Of the rates from 1e-4 to 1 the outer tenths are those to 2.5e-4 and from 0.4.
        for batch_size, rate, errors in (
            (8, 0.01, [0.9, 0.3, 0.2]),
            (16, 0.5, [0.9, 0.2, 0.1]),
            (32, 2e-4, [0.9, 0.8, 0.26]),
        ):
            write_trials(tmp_path, batch_size, (0, "COMPLETE", 0.02, [0.9, 0.8, 0.7]))
            diverged = (1, "INFEASIBLE", 1.0, [0.9, math.nan])
            write_trials(tmp_path, batch_size, diverged, (2, "COMPLETE", rate, errors))
            events.on_study(study(batch_size))
    told = [f"trained {TRAINED} at batch size {size}: 3 trials, 1 diverged" for size in (8, 16, 32)]
    often = "its first evaluation decided that: evaluate more often, or set a harder goal"
    edge = "; the best trial lies at the edge of learning_rate: better may lie beyond"
    assert capsys.readouterr().err.splitlines() == [
        f"{told[0]}; {ERROR} < 0.25 after 20 steps",
        f"{told[1]}; {ERROR} < 0.25 after 10 steps{edge}; {often}",
        f"{told[2]}; best {ERROR} 0.26{edge}",
    ]


def test_without_a_terminal_a_line_now_and_then_tells_what_is_in_training(tmp_path, capsys):
    plan = replace(study(), train_steps=100, least_trials=4)

    def last_line():
        time.sleep(0.5)
        return capsys.readouterr().err.splitlines()[-1]

    with sweep_progress([plan], tmp_path, SweepOptions(), seconds=0.01) as events:
        assert last_line() == "0 % of the sweep, starting"
        events.on_block(plan, range(2))
        events.on_record(record([[0.9, 0.4], [0.9, math.nan]]))
        events.on_steps(20)
        share, speed, line = re.split(", |; ", last_line(), maxsplit=2)
        assert share == "5 % of the sweep"
        assert speed.endswith(" trial-steps/s")
        assert line == f"{plan.name}: 2 trials at step 10 of 100, 1 diverged, best {ERROR} 0.4"
        # A cluster's workers send shards alone.
        write_trials(tmp_path, 8, (0, "COMPLETE", 0.02, [0.9, 0.8, 0.7]))
        events.on_block(plan, range(2, 4))
        assert last_line().endswith(f"; {plan.name}: 1 trial, 0 diverged; best {ERROR} 0.7")


def test_negative_values_that_rise_and_many_rows_fit():
    watch = Watch()
    for batch_size in range(1, 100):
        watch.on_block(study(batch_size * 10_000, maximize=True), range(100_000))
        watch.on_record(record([[-1.2345, -1.2345e-3]], every=1_000_000))
    assert len(watch.lines()) == 17
    assert max(map(len, watch.lines())) < 80
    row = watch.lines()[-1].split()
    assert (row[:2], row[4]) == (["990,000", "1"], "-0.00123")
    # On a line, since it has no logarithm.
    assert row[-1] == "▁▁▁▁▁▁▁▁▁█"


# Several calls, each of which is at most 1,024 steps.
LONG = (WORKLOAD, "--batch-sizes", "8", "--trials", "2", "--steps", "4000")


def test_pace_is_of_all_calls_but_the_first():
    pace = Pace()
    pace.on_waited(9.0)
    assert pace.line() is None
    pace.on_steps(1)
    assert pace.line() is None
    began = time.monotonic()
    time.sleep(0.2)
    pace.on_waited(0.1)
    pace.on_steps(2)
    elapsed = time.monotonic() - began
    found = re.fullmatch(
        r"([\d.]+) ms a trial-step, (\d+)% of it waiting for examples", pace.line() or ""
    )
    assert found
    assert 99 <= float(found[1]) <= 1000 * elapsed / 2 + 1
    assert 100 * 0.1 / elapsed - 1 <= int(found[2]) <= 50


@pytest.mark.slow
def test_a_trace_has_calls_and_no_compilation(made_up_mnist, tmp_path):
    words = (*LONG, *in_place_of_mnist(made_up_mnist), "--out", tmp_path / "out")
    folder = tmp_path / "new" / "trace"
    said = produced(*words, "--watch", "--profile", folder)
    assert f"wrote a trace into {folder}\n" in said
    assert re.search(r"\n +[\d.]+ ms a trial-step, 0% of it waiting for examples\n", said)
    (file,) = folder.rglob("*.trace.json.gz")
    names = Counter(
        str(event.get("name"))
        for event in json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    )
    calls = [count for name, count in names.items() if re.fullmatch(r"\$run.py:\d+ advance", name)]
    assert calls == [2]
    assert names["PjitFunction(_advance_device)"] > 0
    assert not [name for name in names if "backend_compile" in name]


def test_a_trace_that_cannot_be_written_is_refused_first(call, made_up_mnist, tmp_path):
    file = tmp_path / "file"
    file.touch()
    words = (*LONG, *in_place_of_mnist(made_up_mnist), "--out", str(tmp_path / "out"))
    profile = ("produce", *words, "--profile", str(file))
    assert call(*profile).sentence(2) == (
        f"dbtool: cannot write into {file}: it is a file; choose another folder with --profile\n"
    )
    assert not (tmp_path / "out").exists()
    assert "leave out one of --profile and --on" in call(*profile, "--on", "ray").sentence(2)
