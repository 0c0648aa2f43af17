"""What a download shows while it runs: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import TaskID

    OnProgress = Callable[[str, int, int | None], None]
    OnRetry = Callable[[str, float], None]


@contextlib.contextmanager
def download_progress() -> Iterator[tuple[OnProgress, OnRetry]]:
    """What shows a download, the check after it and retries on standard error."""
    # Rich takes some variables of the environment for a terminal.
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None, lambda _reason, _wait: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        "{task.description}",
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def on_progress(what: str, done: int, total: int | None) -> None:
            task = tasks.get(what)
            if task is None or done < progress.tasks[task].completed:
                # Bytes that were there before say nothing about the speed.
                for other in tasks.values():
                    progress.update(other, visible=False)
                task = tasks[what] = progress.add_task(what, completed=done, total=total)
            progress.update(task, completed=done, total=total)

        def on_retry(reason: str, wait: float) -> None:
            # What a server says is no markup.
            console.print(f"{reason}; trying again in {wait:.0f} s", markup=False, highlight=False)

        yield on_progress, on_retry
