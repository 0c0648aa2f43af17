"""How fast a sweep trains and what it waits for: a line of --watch, and the trace of --profile."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jax

from dbtool.cli.messages import tell
from dbtool.core.errors import UsageError
from dbtool.core.files import expanded, reason_of
from producers.sweep.events import UNHEARD, SweepEvents
from producers.training.stream import WAITED

_TRACED_CALLS = 2


class Pace:
    """The time of a block's trial-steps, from the end of its first call, which compiles."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._ended = self._waited = 0.0
        self._trial_steps = 0

    def on_steps(self, trial_steps: int) -> None:
        """Count the steps of a call that has ended."""
        self._ended = time.monotonic()
        if self._began is None:
            self._began, self._waited = self._ended, 0.0
        else:
            self._trial_steps += trial_steps

    def on_waited(self, seconds: float) -> None:
        """Count seconds in which training waited for examples."""
        self._waited += seconds

    def line(self) -> str | None:
        """Return a line on the block; None before its second call has ended."""
        if self._began is None or not self._trial_steps:
            return None
        seconds = self._ended - self._began
        return (
            f"{1e3 * seconds / self._trial_steps:.3g} ms a trial-step, "
            f"{self._waited / seconds:.0%} of it waiting for examples"
        )


@contextlib.contextmanager
def hearing_of_waits(on_waited: Callable[[float], None]) -> Iterator[None]:
    """Call a function with the seconds of each wait for examples in the block."""

    def on_duration(event: str, duration_secs: float, **_: str | int) -> None:
        if event == WAITED:
            on_waited(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(on_duration)
    try:
        yield
    finally:
        jax.monitoring.unregister_event_duration_listener(on_duration)


@contextlib.contextmanager
def profiled(folder: Path | None) -> Iterator[SweepEvents]:
    """Yield events of a sweep by which some of its calls are traced into a folder, if given.

    The first call is not, since it compiles, nor are those after the first few.
    """
    if folder is None:
        yield UNHEARD
        return
    folder = expanded(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write into {folder}: {reason_of(error, folder)}; choose another folder with "
            "--profile"
        ) from error
    calls = 0
    with contextlib.ExitStack() as trace:

        def on_steps(_: int) -> None:
            nonlocal calls
            calls += 1
            if calls == 1:
                trace.callback(tell, f"wrote a trace into {folder}")
                trace.enter_context(jax.profiler.trace(str(folder)))
            elif calls == 1 + _TRACED_CALLS:
                trace.close()

        yield SweepEvents(on_steps=on_steps)
