"""The bar of a sweep on a terminal, from what the sweep tells."""

from __future__ import annotations

import contextlib
import io
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from producers.cli.progress import sweep_progress
from producers.configuration import SweepOptions
from producers.training.block_record import BlockRecord
from tests.support.sweeps import small_study

if TYPE_CHECKING:
    from pathlib import Path

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


def trained(trials: int, steps: int) -> BlockRecord:
    record = BlockRecord(trials)
    record.add_losses(np.arange(trials), np.ones(trials, bool), 0, np.zeros((trials, steps)))
    return record


def test_restored_steps_are_done_and_not_in_the_rate(tmp_path: Path) -> None:
    terminal = Terminal()
    with (
        contextlib.redirect_stderr(terminal),
        sweep_progress([STUDY], tmp_path, SweepOptions()) as events,
    ):
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
    assert float(speed.removesuffix(" trial-steps/s").replace(",", "")) <= 40 / at_least


def test_a_block_that_begins_anew_has_nothing_restored(tmp_path: Path) -> None:
    terminal = Terminal()
    with (
        contextlib.redirect_stderr(terminal),
        sweep_progress([STUDY], tmp_path, SweepOptions()) as events,
    ):
        for trial_ids in (range(2), range(2, 4)):
            events.on_block(STUDY, trial_ids)
            events.on_record(BlockRecord(2))
            events.on_steps(50)
    # Of the first round what was left out counts, as of trials that diverged.
    assert terminal.bars()[-1].startswith("62 % · ")
