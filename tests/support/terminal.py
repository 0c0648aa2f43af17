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
    interrupt_at: str | None = None,
    interrupt_with: int = signal.SIGINT,
) -> tuple[int, str]:
    """The exit code of a command, and all that it showed.

    Args:
        words: the program and what follows it.
        columns: how wide the terminal is.
        environment: variables beside those of this process.
        folder: where the command runs.
        output: takes what the command prints on standard output instead of the terminal.
        interrupt_at: press Ctrl-C once this is shown.
        interrupt_with: another signal in its place.
    """
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
            shown = _shown(terminal, process, interrupt_at, interrupt_with)
        finally:
            process.kill()
    os.close(terminal)
    return process.returncode, shown


def _shown(
    terminal: int, process: subprocess.Popen[bytes], interrupt_at: str | None, number: int
) -> str:
    """What a process writes to a terminal until it ends, or until patience does."""
    shown = b""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if interrupt_at and interrupt_at.encode() in shown:
            process.send_signal(number)
            interrupt_at = None
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
