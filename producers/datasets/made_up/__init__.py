"""Writes small made-up data in the native format of every data set, to try workloads out with."""

from producers.datasets.made_up.write import write_made_up

__all__ = ["write_made_up"]
