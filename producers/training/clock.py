"""The time that training takes, without that in which JAX compiles."""

from __future__ import annotations

import time
from functools import cache

import jax.monitoring

_COMPILING = "/jax/core/compile/"


class Clock:
    """Seconds of training and evaluating, since its first step.

    What JAX takes to trace and to compile a program is left out: it is taken once, however long
    the training, and not at all where a cache has the program.

    Args:
        before: seconds that had passed when a checkpoint was saved, with which this goes on.
    """

    def __init__(self, before: float = 0.0) -> None:
        self._began = _seconds_without_compiling() - before

    @property
    def seconds(self) -> float:
        """Return the seconds that have passed."""
        return _seconds_without_compiling() - self._began


def _seconds_without_compiling() -> float:
    return time.monotonic() - sum(_compiling())


@cache
def _compiling() -> list[float]:
    """Return the seconds of all that has been compiled since this was first asked for."""
    durations: list[float] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if event.startswith(_COMPILING):
            durations.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return durations
