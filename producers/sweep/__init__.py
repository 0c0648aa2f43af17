"""Sweeps: what they have still to train, and what trains it."""
