"""Sweeps: what they have still to train, and what trains it."""

from producers.sweep.run import SweepEvents, run_sweep
from producers.sweep.tasks import SweepOptions, finished_trials, missing_trials

__all__ = ["SweepEvents", "SweepOptions", "finished_trials", "missing_trials", "run_sweep"]
