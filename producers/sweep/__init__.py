"""Sweeps: the trials that are still to be trained, and what trains them."""
