"""Many figures written at once, on several cores."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dbtool.core.errors import DbtoolError
from dbtool.figures.points import NoDataError, keep_crossings, past, read_points
from dbtool.figures.specs import DATA_FORMATS, FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from dbtool.figures.points import Points, Request
    from dbtool.figures.specs import FigureSpec
    from dbtool.store.releases import Releases

Made = TypeVar("Made")

# Starting processes takes as long as drawing a few figures.
_FEWEST_FOR_PROCESSES = 6
_MOST_PROCESSES = 4


@dataclass(frozen=True)
class Written:
    """The files of a figure, and what its releases lack.

    Attributes:
        files: the picture and the points, one a format.
        missing: what each release lacks of it, a line a release.
        stale: files of an earlier run beside them, which show other points.
    """

    files: Sequence[Path]
    missing: Sequence[str]
    stale: Sequence[Path] = ()


def write_figures(
    db: Releases,
    specs: Sequence[FigureSpec],
    request: Request,
    folder: Path,
    formats: Sequence[str],
    width: float | None = None,
) -> Generator[Written | NoDataError, None, None]:
    """Write each figure and its points, in order, in processes where that is worth it.

    Args:
        db: the database.
        specs: the figures.
        request: what they are drawn with, checked.
        folder: where the files go.
        formats: their kinds; see `write_figure`.
        width: of the pictures in inches; None: as wide as suits each.

    Yields:
        What was written of a figure, or why it has no points.

    Raises:
        DbtoolError: the folder cannot be written to, or a shard is damaged.
    """
    work = partial(_write, folder=folder, formats=formats, width=width)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if len(specs) >= _FEWEST_FOR_PROCESSES:
        keep_crossings(db, request)
    with writing(folder):
        if len(specs) < _FEWEST_FOR_PROCESSES or (cores or 1) < 2:
            yield from _each(db, specs, request, work)
            return
        with _pool(min(cores or 1, _MOST_PROCESSES)) as pool:
            submit = partial(pool.submit, work)
            for made in list(_each(db, specs, request, submit)):
                yield made.result() if isinstance(made, Future) else made


def _write(
    points: Points,
    spec: FigureSpec,
    folder: Path,
    formats: Sequence[str],
    width: float | None,
) -> Written:
    # Matplotlib is imported where it draws.
    from dbtool.figures.plot import write_figure

    lines = []
    for release, missing in points.missing.items():
        ways = f"; to fill: {missing.ways}" if missing.ways else ""
        what = f"no data in release {release}{past(points.goal)}"
        lines.append(f"{spec.name}: {what}: {'; '.join(missing.names)}{ways}")
    csv = folder / f"{spec.name}.csv"
    before = csv.read_bytes() if csv.is_file() else None
    files = write_figure(points, spec, folder, formats, width)
    stale: list[Path] = []
    if before is not None and csv in files and csv.read_bytes() != before:
        every = (folder / f"{spec.name}.{kind}" for kind in (*FORMATS, *DATA_FORMATS))
        stale = [path for path in every if path not in files and path.is_file()]
    return Written(files, lines, stale)


def _each(
    db: Releases,
    specs: Sequence[FigureSpec],
    request: Request,
    work: Callable[[Points, FigureSpec], Made],
) -> Iterator[Made | NoDataError]:
    """Yield the result of `work` for the points of each figure, or the reason why it has none."""
    for spec in specs:
        try:
            points = read_points(db, spec, request)
        except NoDataError as error:
            yield error
        else:
            yield work(points, spec)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Convert errors of the operating system into one sentence that names the folder."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        is_file = isinstance(error, FileExistsError)
        reason = "it is not a folder" if is_file else error.strerror or str(error)
        raise DbtoolError(
            f"cannot write to {str(folder)!r}: {reason}; name another folder"
        ) from error


@contextlib.contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, which end with the block."""
    # A fork of a process in which DuckDB has threads may wait for ever on a lock one of them held.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_follow_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """Ignore Ctrl-C, which the parent handles, and end this process when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
