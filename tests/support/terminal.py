"""A command on a real terminal, and what it shows there."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

PATIENCE = 120.0
"""Seconds after which a command that has not ended is killed."""


def run_on_terminal(
    words: Sequence[str | Path],
    *,
    columns: int,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    output: IO[bytes] | None = None,
    interrupt_at: str | Sequence[str] = (),
    interrupt_with: int = signal.SIGINT,
) -> tuple[int, str]:
    """The exit code of a command, and all that it showed.

    Args:
        words: the program and what follows it.
        columns: how wide the terminal is.
        environment: variables beside those of this process.
        folder: where the command runs.
        output: takes what the command prints on standard output instead of the terminal.
        interrupt_at: press Ctrl-C once this is shown, or once each of these is.
        interrupt_with: another signal in its place.
    """
    waited_for = [interrupt_at] if isinstance(interrupt_at, str) else list(interrupt_at)
    terminal, end = pty.openpty()
    with subprocess.Popen(
        list(map(str, words)),
        cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns), **(environment or {})},
        stdin=end,
        stdout=output or end,
        stderr=end,
    ) as process:
        os.close(end)
        try:
            shown = _shown(terminal, process, waited_for, interrupt_with)
        finally:
            process.kill()
    os.close(terminal)
    return process.returncode, shown


def _shown(
    terminal: int, process: subprocess.Popen[bytes], waited_for: list[str], number: int
) -> str:
    """What a process writes to a terminal until it ends, or until patience does."""
    shown = b""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if waited_for and waited_for[0].encode() in shown:
            # Nobody presses it twice in the same moment.
            time.sleep(0.2)
            process.send_signal(number)
            del waited_for[0]
        if select.select([terminal], [], [], 0.1)[0]:
            more = _read(terminal)
            if not more:
                process.wait(PATIENCE)
                break
            shown += more
    return shown.decode()


def _read(terminal: int) -> bytes:
    """What came next; nothing once the other end is closed, which Linux tells by an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
