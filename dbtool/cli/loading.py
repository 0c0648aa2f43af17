"""A progress bar on standard error while shards are loaded, on a terminal alone."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def loading_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """A function that shows how many shards of how many are done.

    The bar appears with the first call, so that work that turns out not to be needed shows none.

    Args:
        description: what stands before the bar.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    with contextlib.ExitStack() as stack:
        show: Callable[[int, int], None] | None = None

        def update(done: int, total: int) -> None:
            nonlocal show
            if show is None:
                show = stack.enter_context(_bar(description))
            show(done, total)

        yield update


@contextlib.contextmanager
def _bar(description: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
