"""What a download shows while it runs: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from dbtool.archive.download.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import TaskID


@contextlib.contextmanager
def fetch_watch() -> Iterator[Watch]:
    """What shows a download and the check after it on standard error."""
    # Rich takes some variables of the environment for a terminal.
    if not sys.stderr.isatty():
        yield Watch()
        return
    with contextlib.ExitStack() as stack:
        shown: Watch | None = None

        def show() -> Watch:
            """The bar, which a file that is there already never needs."""
            nonlocal shown
            if shown is None:
                shown = stack.enter_context(_bar())
            return shown

        yield Watch(
            on_progress=lambda what, done, total: show().on_progress(what, done, total),
            on_retry=lambda reason, wait: show().on_retry(reason, wait),
        )


@contextlib.contextmanager
def _bar() -> Iterator[Watch]:
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

        yield Watch(on_progress, on_retry)
