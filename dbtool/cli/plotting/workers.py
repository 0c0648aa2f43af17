"""Draws figures on several cores, while the next ones' points are read."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from dbtool.figures.gaps import NoDataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec

Made = TypeVar("Made")

# Starting processes takes as long as drawing a few figures.
FEWEST_FOR_PROCESSES = 6
MOST_PROCESSES = 4


def in_order(
    work: Callable[[Points, FigureSpec], Made],
    points: Iterable[tuple[Points | NoDataError, FigureSpec]],
) -> Iterator[Made | NoDataError]:
    """What work makes of each figure's points, in their order; an error stands for itself.

    Args:
        work: a function that can be sent to another process, as can what it returns.
        points: a figure's points or why it has none; read one after the other in this process.
    """
    waiting = iter(points)
    first = list(itertools.islice(waiting, FEWEST_FOR_PROCESSES))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if len(first) < FEWEST_FOR_PROCESSES or (cores or 1) < 2:
        for held, spec in itertools.chain(first, waiting):
            yield held if isinstance(held, NoDataError) else work(held, spec)
        return
    with _pool(min(cores or 1, MOST_PROCESSES)) as pool:
        made = [
            held if isinstance(held, NoDataError) else pool.submit(work, held, spec)
            for held, spec in itertools.chain(first, waiting)
        ]
        for each in made:
            yield each.result() if isinstance(each, Future) else each


@contextlib.contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block, whatever ends it."""
    # A fork of a process in which DuckDB has threads may wait for ever on a lock one of them held.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_follow_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """Leaves Ctrl-C to the parent, and ends this process when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
