"""Stop a sweep on Ctrl-C or on a scheduler's signal, and say what was kept."""

import contextlib
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from dbtool.cli.messages import tell
from dbtool.core.errors import counted
from producers.configuration import SweepOptions
from producers.plan import StudyPlan
from producers.sweep.events import SweepEvents
from producers.sweep.run import held_index, next_blocks, work_folders
from producers.training.checkpoints import Interrupted
from producers.training.mesh import is_first, on_any
from producers.training.saved import NotSavedWarning, saved_blocks

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SECONDS_TO_HEAR = 1.0
# Some senders signal a process and then its group, which is one signal all the same.
_SECONDS_OF_ONE = 0.1


class Stop:
    """Whether a signal has come, and whether there is anything to save.

    Python handles a signal between two of its own instructions, which a compilation and a compiled
    call put off. A thread that reads signals as they come answers them meanwhile.

    The number is that of the signal, the study the name of the one in training.
    """

    def __init__(self) -> None:
        self.number: int = signal.SIGINT
        self.study = ""
        self.wanted = False
        self._training = False
        self._heard = threading.Event()

    @property
    def events(self) -> SweepEvents:
        """What it hears of a sweep, which then stops at the next step that can be saved."""

        def on_block(study: StudyPlan, _: Sequence[int]) -> None:
            if any(on_any(self.wanted)):
                raise KeyboardInterrupt
            self.study = study.name

        def is_training(what: bool) -> None:
            self._training = what

        return SweepEvents(
            on_block,
            on_steps=lambda _: is_training(True),
            on_shard=lambda _: is_training(False),
            stopping=lambda: self.wanted,
        )

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals of the process in the block."""
        reader, writer = socket.socketpair()
        writer.setblocking(False)
        before = {number: signal.signal(number, self._hear) for number in _SIGNALS}
        descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._answer, args=(reader,), daemon=True).start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(descriptor)
            for number, handler in before.items():
                signal.signal(number, handler)
            writer.close()

    @contextlib.contextmanager
    def listening_beside_ray(self) -> Iterator[None]:
        """Have SIGTERM interrupt the block as Ctrl-C does; whatever comes after it is ignored."""

        def hear(number: int, frame: object) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self._hear(number, frame)

        before = signal.signal(signal.SIGTERM, hear)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)

    def _hear(self, number: int, _: object) -> None:
        self.number, self.wanted = number, True
        self._heard.set()
        if not self._training:
            raise KeyboardInterrupt

    def _answer(self, reader: socket.socket) -> None:
        came = None
        with reader:
            while received := reader.recv(1):
                if received[0] not in _SIGNALS:
                    continue
                now = time.monotonic()
                if came is not None:
                    if now - came > _SECONDS_OF_ONE:
                        self._end("interrupted; the same command goes on from what was saved")
                    continue
                came = now
                self.number, self.wanted = received[0], True
                if self._training:
                    tell("dbtool: saving after the current steps; a second Ctrl-C stops at once")
                elif not self._heard.wait(_SECONDS_TO_HEAR):
                    self._end("interrupted while compiling; the same command goes on")

    def _end(self, sentence: str) -> NoReturn:
        from rich.console import Console

        # The bar is still there, hides the cursor, and may wait for what is compiled.
        console = Console(stderr=True, soft_wrap=True)
        console.show_cursor()
        below = "\n" if console.is_terminal else ""
        console.print(f"{below}dbtool: {sentence}", markup=False, highlight=False)
        os._exit(128 + self.number)


@contextlib.contextmanager
def telling_of_warnings() -> Iterator[None]:
    """Have what training goes on without be a line like all others, with no place in the code."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def tell_or_show(
            message: Warning | str, category: type[Warning], *where: Any, **to: Any
        ) -> None:
            if issubclass(category, NotSavedWarning):
                tell(f"dbtool: {message}")
            else:
                show(message, category, *where, **to)

        warnings.showwarning = tell_or_show
        yield


@contextlib.contextmanager
def interruptible(studies: Sequence[StudyPlan], out: Path, options: SweepOptions) -> Iterator[Stop]:
    """End the process when it is interrupted, with a sentence on what was kept.

    It ends at once: otherwise Python would wait, at its end, for a compiled call that may take
    minutes yet. Blocks that Ray trains have nothing to save.
    """
    stop = Stop()
    with stop.listening_beside_ray() if options.on else stop.listening():
        try:
            yield stop
        except (KeyboardInterrupt, ImportError) as error:
            # A compiled module that was being imported makes another error of it.
            if isinstance(error, ImportError) and not stop.wanted:
                raise
            # The command that has Ray train does not start JAX itself.
            if options.on or is_first():
                left = next_blocks(studies, out, held_index(out), options)
                finished = sum(not blocks for blocks in left)
                kept = f"{out} holds {finished:,} of {counted(len(studies), 'study', 'studies')}"
                if isinstance(error, Interrupted):
                    kept += f", and {stop.study} is saved at step {error.step:,}"
                elif finished < len(studies):
                    folders = (folder for study in studies for folder in work_folders(study, out))
                    saved = any(True for folder in folders for _ in saved_blocks(folder))
                    what = "steps since the last save are" if saved else "what was in training is"
                    kept += f", and {what} trained again"
                tell(f"dbtool: interrupted; {kept}; the same command goes on")
            os._exit(128 + stop.number)
