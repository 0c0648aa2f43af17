"""What the command that draws figures does: checks its words, draws on several cores, writes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from dbtool.cli.completion import trainable_workloads
from dbtool.cli.messages import tell
from dbtool.core.errors import DbtoolError, UsageError, counted, unknown
from dbtool.figures.points import NoDataError, left_out_of, past, read_points
from dbtool.figures.specs import FIGURES, find_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dbtool.database import Database
    from dbtool.figures.points import Points, Request
    from dbtool.figures.specs import FigureSpec

Made = TypeVar("Made")

ALL = "all"
# Starting processes takes as long as drawing a few figures.
_FEWEST_FOR_PROCESSES = 6
_MOST_PROCESSES = 4


def chosen_specs(names: Sequence[str], *, any_workloads: bool) -> list[FigureSpec]:
    """The figures of these names, each once, in the registry's order.

    Args:
        names: names and numbers, or "all".
        any_workloads: whether "all" are those that take any workloads.

    Raises:
        UsageError: one names no figure, or there is none.
    """
    if not names:
        raise UsageError("name a figure, or `all` (list them with `dbtool plot --list`)")
    if ALL in names:
        return [spec for spec in FIGURES if spec.takes_workloads or not any_workloads]
    chosen = {find_figure(name) for name in names}
    return [spec for spec in FIGURES if spec in chosen]


def chosen_formats(kind: str, listed: str, known: Sequence[str]) -> list[str]:
    """The names in a list joined by commas, each once.

    Args:
        kind: what a name is, such as "format".
        listed: the list.
        known: the names there are.

    Raises:
        UsageError: one of them is not known.
    """
    names = list(dict.fromkeys(name.strip().lower() for name in listed.split(",")))
    for name in names:
        if name not in known:
            raise unknown(kind, name, known, "dbtool plot --help")
    return names


def checked(db: Database, request: Request) -> Request:
    """The request with releases trimmed, patterns of workloads replaced, and what can be trained.

    Raises:
        UsageError: the database lacks a release or a workload that is named.
    """
    # Drawing takes a while to import.
    from dbtool.figures.plot import checked as checked_names

    return replace(checked_names(db, request), trainable=frozenset(trainable_workloads()))


def tell_other_releases(db: Database, request: Request) -> None:
    """Tells where workloads are in several releases, of which one is drawn."""
    if request.release is None and request.workloads:
        held = db.studies(request.workloads)["release"].unique(maintain_order=True)
        if len(held) > 1:
            tell(
                f"{', '.join(held)} hold workloads of these names, and the one with most studies "
                f"is drawn: --release {','.join(held)} draws them over each other"
            )


@dataclass(frozen=True)
class Job:
    """What to draw, and from where.

    Attributes:
        db: the releases.
        specs: the figures.
        request: what they are drawn with, checked.
        skip_empty: whether figures without data are left out, as long as one has some.
        verbose: whether what is left out then is named, and not only counted.
    """

    db: Database
    specs: Sequence[FigureSpec]
    request: Request
    skip_empty: bool
    verbose: bool = True


def write_files(job: Job, folder: Path, formats: Sequence[str], width: float | None) -> None:
    """Writes each figure and its points, and prints the files' names.

    Args:
        job: the figures.
        folder: where the files go.
        formats: their kinds.
        width: of the pictures in inches; None: as wide as suits each.

    Raises:
        NoDataError: no figure has data, or one that was named has none.
        DbtoolError: the folder cannot be written to.
    """
    work = partial(_files_and_gaps, folder=folder, formats=formats, width=width)
    brief = job.skip_empty and not job.verbose
    empty: list[NoDataError] = []
    incomplete = 0
    with writing(folder):
        for _, made in _made(job, work):
            if isinstance(made, NoDataError):
                empty.append(made)
                continue
            paths, gaps = made
            typer.echo("\n".join(map(str, paths)))
            incomplete += bool(gaps)
            if not brief:
                for line in gaps.splitlines():
                    tell(line)
    reported = empty if job.skip_empty and len(empty) < len(job.specs) else empty[:-1]
    if brief and (reported or incomplete):
        tell(
            f"left out, for want of data: {counted(len(reported), 'figure')}, and parts of "
            f"{incomplete:,}; --verbose names them and what would fill them"
        )
    elif not brief:
        for each in reported:
            tell(f"left out: {each}")
    if len(reported) < len(empty):
        raise empty[-1]


def _files_and_gaps(points: Points, spec: FigureSpec, **options: Any) -> tuple[list[Path], str]:
    """The files of a figure, and what it lacks, a line a release."""
    from dbtool.figures.plot import write_figure

    gaps = []
    for release, missing in left_out_of(points, spec).items():
        ways = f"; to fill: {missing.ways}" if missing.ways else ""
        what = f"no data in release {release}{past(points.goal)}"
        gaps.append(f"{spec.name}: {what}: {'; '.join(missing.names)}{ways}")
    return write_figure(points, spec, **options), "\n".join(gaps)


def _made(
    job: Job, work: Callable[[Points, FigureSpec], Made]
) -> Iterator[tuple[FigureSpec, Made | NoDataError]]:
    """What work makes of each figure's points, in processes where that is worth it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if len(job.specs) < _FEWEST_FOR_PROCESSES or (cores or 1) < 2:
        yield from _each(job, work)
        return
    with _pool(min(cores or 1, _MOST_PROCESSES)) as pool:
        started = list(_each(job, lambda points, spec: pool.submit(work, points, spec)))
        for spec, made in started:
            yield spec, made.result() if isinstance(made, Future) else made


def _each(
    job: Job, work: Callable[[Points, FigureSpec], Made]
) -> Iterator[tuple[FigureSpec, Made | NoDataError]]:
    """What work makes of each figure's points, in order, or why it has none."""
    for spec in job.specs:
        try:
            points = read_points(job.db, spec, job.request)
        except NoDataError as error:
            yield spec, error
        else:
            yield spec, work(points, spec)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turns the system's errors into one sentence that names the folder."""
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
