"""Sweeps: what they have still to train, and what trains it."""

from producers.sweep.run import SweepEvents, run_sweep
from producers.sweep.slices import Slice
from producers.sweep.tasks import (
    SweepOptions,
    all_blocks,
    finished_trials,
    missing_trials,
    next_blocks,
)

__all__ = [
    "Slice",
    "SweepEvents",
    "SweepOptions",
    "all_blocks",
    "finished_trials",
    "missing_trials",
    "next_blocks",
    "run_sweep",
]
