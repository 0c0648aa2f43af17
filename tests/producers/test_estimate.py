"""Estimates: what a dry run tells of steps, measurements, time and disk."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from support.sweeps import small_study, sweep

from producers.estimate import estimate
from producers.sweep import SweepOptions
from producers.workloads.registry import WORKLOADS

if TYPE_CHECKING:
    from pathlib import Path


def options(trials: int) -> SweepOptions:
    return SweepOptions(trials=trials, feasible=0, block=100, datasets=None)


def seconds(line: str) -> float:
    number, unit = re.search(r"about ([\d.]+) (s|min|h)", line).groups()  # type: ignore[union-attr] # always there
    return float(number) * {"s": 1, "min": 60, "h": 3600}[unit]


def test_lines_count_steps_and_measurements(tmp_path: Path) -> None:
    first, total = estimate([small_study()], tmp_path / "out", options(7))
    # Each of 7 trials has 30 steps and the row of step 0.
    assert first.startswith(
        "mnist/fc_64_64_64/sgd at batch size 8: 7 trials of 30 steps, 217 measurements, about "
    )
    assert total.endswith(f" in {tmp_path / 'out'}, 217 measurements")
    assert not (tmp_path / "out").exists()


def test_finished_trials_are_left_out(mnist_folder: Path, tmp_path: Path) -> None:
    sweep(small_study(steps=2), tmp_path, mnist_folder, trials=2)
    first, total = estimate([small_study(steps=2)], tmp_path, options(3))
    assert ": 1 trials of 2 steps, 3 measurements" in first
    assert total.endswith("3 measurements")
    first, _ = estimate([small_study(steps=2)], tmp_path, options(2))
    assert ": 0 trials of 2 steps, 0 measurements, about 0 s" in first


def test_time_grows_with_the_work(tmp_path: Path) -> None:
    small = replace(small_study(), train_steps=100_000)
    wide = replace(small, workload=WORKLOADS["mnist/fc_2048_2048_2048/sgd"])
    larger = replace(wide, batch_size=512)
    # The same machine's rate stands behind the three, so that only their ratio is known.
    few, more, most, _ = estimate([small, wide, larger], tmp_path, options(100))
    assert 0 < 10 * seconds(few) < seconds(more)
    assert seconds(most) > 10 * seconds(more)
