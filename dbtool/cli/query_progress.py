"""How far a long query has come, on standard error, on a terminal alone."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

_SECONDS_BEFORE_IT_SHOWS = 1.0
_SECONDS_BETWEEN_LOOKS = 0.2


@contextlib.contextmanager
def watched(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Shows what share of the query in the block is done, once it has run for a second.

    Args:
        connection: from `open_for_reading`; the block runs one query on it.
    """
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_show, args=(connection, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _show(connection: duckdb.DuckDBPyConnection, ended: threading.Event) -> None:
    if ended.wait(_SECONDS_BEFORE_IT_SHOWS):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn

    columns = ("{task.description}", BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Ctrl-C stops the query", total=100)
        while not ended.wait(_SECONDS_BETWEEN_LOOKS):
            # DuckDB says -1 while it cannot tell.
            progress.update(task, completed=max(0.0, connection.query_progress()))
