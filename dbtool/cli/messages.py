"""Messages and progress bars on standard error; bars only on a terminal."""

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from dbtool.core.errors import printable

if TYPE_CHECKING:
    import duckdb
    from rich.progress import Progress, ProgressColumn, TaskID

OnProgress = Callable[[int, int], None]
OnDownload = Callable[[str, int, int | None], None]
OnRetry = Callable[[str, float], None]
Unit = Literal["bytes", "shards", "files", "measurements", "workloads", "figures", "percent"]

_SECONDS_BEFORE_IT_SHOWS = 0.5
_SECONDS_A_FRAME = 0.2


def tell(line: str) -> None:
    """Print a line on standard error; letters that would move the cursor are escaped."""
    sys.stderr.write(f"{printable(line)}\n")


@contextlib.contextmanager
def bar(description: str, unit: Unit = "shards") -> Iterator[OnProgress]:
    """Yield a function that shows how much of how much is done.

    The bar appears half a second after the first call, so short work shows none. It disappears with
    the last call.
    """
    # Rich treats some environment variables as a sign of a terminal.
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    with contextlib.ExitStack() as stack:
        show: Callable[..., None] | None = None
        began: float | None = None

        def update(done: int, total: int) -> None:
            nonlocal show, began
            began = began or time.monotonic()
            if done >= total:
                stack.close()
                show = began = None
                return
            if show is None and time.monotonic() - began > _SECONDS_BEFORE_IT_SHOWS:
                progress = stack.enter_context(_progress(unit))
                show = functools.partial(progress.update, progress.add_task(description))
            if show is not None:
                show(completed=done, total=total)

        yield update


@contextlib.contextmanager
def query_bar(connection: "duckdb.DuckDBPyConnection") -> Iterator[Callable[[], None]]:
    """Show what share of the block's query is done.

    Args:
        connection: runs the one query of the block.

    Yields:
        A function that ends the bar, at the latest at the end of the block.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    ended = threading.Event()

    def show() -> None:
        with bar("Ctrl-C stops the query", "percent") as update:
            while not ended.wait(_SECONDS_A_FRAME):
                # DuckDB returns -1 while it does not know.
                update(max(0, int(connection.query_progress())), 100)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()

    def end() -> None:
        ended.set()
        thread.join()

    try:
        yield end
    finally:
        end()


@contextlib.contextmanager
def download_bar() -> Iterator[tuple[OnDownload, OnRetry]]:
    """Yield functions that show a download, the check after it, and retries."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None, lambda _reason, _wait: None
        return
    with _progress("bytes") as progress:
        tasks: dict[str, TaskID] = {}

        def on_progress(what: str, done: int, total: int | None) -> None:
            task = tasks.get(what)
            if task is None or done < progress.tasks[task].completed:
                # Bytes from an earlier call tell nothing about the speed.
                for other in tasks.values():
                    progress.update(other, visible=False)
                task = tasks[what] = progress.add_task(what, completed=done, total=total)
            progress.update(task, completed=done, total=total)

        def on_retry(reason: str, wait: float) -> None:
            # A server's message is not markup.
            line = f"{reason}; trying again in {wait:.0f} s"
            progress.console.print(line, markup=False, highlight=False)

        yield on_progress, on_retry


def _progress(unit: Unit) -> "Progress":
    from rich import progress
    from rich.console import Console

    counts: dict[str, tuple[ProgressColumn, ...]] = {
        "bytes": (progress.DownloadColumn(), progress.TransferSpeedColumn()),
        "percent": (progress.TaskProgressColumn(),),
    }
    return progress.Progress(
        "{task.description}",
        progress.BarColumn(),
        *counts.get(unit, (progress.MofNCompleteColumn(),)),
        progress.TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )
