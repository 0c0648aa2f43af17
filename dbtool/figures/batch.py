"""Figures written as files, many at once on several cores."""

import contextlib
import io
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl
from polars import selectors

from dbtool.core.errors import DbtoolError
from dbtool.core.files import expanded, reason_of, write_whole
from dbtool.figures.points import (
    MANY,
    NoDataError,
    Points,
    Request,
    past,
    read_each,
    require_no_other,
)
from dbtool.figures.specs import DATA_FORMATS, FORMATS, FigureLayout, FigureSpec
from dbtool.store.releases import Releases

CAPTION_FORMAT = "txt"
_MOST_PROCESSES = 4


@dataclass(frozen=True)
class Written:
    """The files of a figure, and what its releases lack.

    Attributes:
        files: the picture and the points, one a format.
        missing: what each release lacks of it, and what is not drawn, a line each.
        stale: files of an earlier run beside them, which show other points.
        reason: why it has no points and no files; None where it has.
    """

    files: Sequence[Path] = ()
    missing: Sequence[str] = ()
    stale: Sequence[Path] = ()
    reason: NoDataError | None = None


def write_figures(
    db: Releases,
    specs: Sequence[FigureSpec],
    request: Request,
    folder: Path,
    formats: Sequence[str],
    layout: FigureLayout | None = None,
) -> Generator[Written, None, None]:
    """Write each figure and its points, in order, in processes where that is worth it.

    The request is one that was `checked`; formats and layout are those of `write_figure`.

    Raises:
        DbtoolError: the folder cannot be written to, or a shard is damaged.
    """
    folder = expanded(folder)
    work = partial(write_figure, folder=folder, formats=formats, layout=layout)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with contextlib.closing(read_each(db, specs, request)) as read, writing(folder):
        found = (
            (spec, _nothing(spec, points, folder) if isinstance(points, NoDataError) else points)
            for spec, points in zip(specs, read, strict=True)
        )
        if len(specs) < MANY or (cores or 1) < 2:
            for spec, points in found:
                yield points if isinstance(points, Written) else work(points, spec)
            return
        # A fork of a process in which DuckDB has threads may wait for ever on a lock of theirs.
        spawn = multiprocessing.get_context("spawn")
        processes = min(cores or 1, _MOST_PROCESSES)
        pool = ProcessPoolExecutor(processes, mp_context=spawn, initializer=_follow_parent)
        try:
            made = [
                points if isinstance(points, Written) else pool.submit(work, points, spec)
                for spec, points in found
            ]
            for each in made:
                yield each if isinstance(each, Written) else each.result()
        finally:
            pool.shutdown(cancel_futures=True)


def write_figure(
    points: Points,
    spec: FigureSpec,
    folder: Path,
    formats: Sequence[str],
    layout: FigureLayout | None = None,
) -> Written:
    """Write a figure and its points in each format; the same points give the same bytes.

    Formats are of specs.FORMATS for pictures, and of specs.DATA_FORMATS for the points alone; in
    json, numbers that are not finite become null. The folder is made where it is not there. Without
    a layout the picture has the one that suits it; a caption that is to be a file is FIGURE.txt,
    and pictures for a column are FIGURE-1, FIGURE-2 and so on where one is not enough.

    Raises:
        UsageError: another file is in the way.
        OSError: the folder cannot be written to.
    """
    lines = []
    for release, missing in points.missing.items():
        ways = f"; to fill: {missing.ways}" if missing.ways else ""
        what = f"{missing.what} in release {release}{past(points.request.goal)}"
        lines.append(f"{spec.name}: {what}: {'; '.join(missing.names)}{ways}")
    stem = folder / spec.name
    files: dict[Path, bytes] = {}
    if kinds := [name for name in formats if name not in DATA_FORMATS]:
        # Matplotlib is imported where it draws.
        from dbtool.figures.caption import caption_text, gaps_of
        from dbtool.figures.drawing import draw_parts
        from dbtool.figures.kinds import panels_of
        from dbtool.figures.plot import pictures

        gaps = gaps_of(points, panels_of(points, spec))
        lines += [f"{spec.name}: {gap[0].lower()}{gap[1:]}" for gap in gaps]
        figures = draw_parts(points, spec, layout)
        for name in kinds:
            files |= pictures(stem.with_suffix(f".{name}"), figures, points, spec)
        if layout is not None and layout.caption == "file":
            files[stem.with_suffix(f".{CAPTION_FORMAT}")] = caption_text(points, spec).encode()
    files |= {stem.with_suffix(f".{n}"): _data(points, n) for n in formats if n in DATA_FORMATS}
    for path in files:
        require_no_other(path)
    earlier, csv = _earlier(spec, folder), stem.with_suffix(".csv")
    if csv not in files or csv not in earlier or csv.read_bytes() == files[csv]:
        earlier = []
    for path, content in files.items():
        write_whole(path, content)
    return Written([*files], lines, [path for path in earlier if path not in files])


def _earlier(spec: FigureSpec, folder: Path) -> list[Path]:
    """Return the files of a figure that are there before it is drawn."""
    kinds = "|".join((*FORMATS, *DATA_FORMATS, CAPTION_FORMAT))
    known = re.compile(rf"{spec.name}(-\d+)?\.({kinds})")
    return [path for path in sorted(folder.glob(f"{spec.name}*")) if known.fullmatch(path.name)]


def _data(points: Points, name: str) -> bytes:
    if name == "csv":
        return points.csv().encode()
    if name == "json":
        # A decimal number would become text, and a count of DuckDB's may come as one.
        return points.rows.cast({selectors.decimal(): pl.Float64}).write_json().encode()
    file = io.BytesIO()
    points.rows.write_parquet(file, compression="zstd")
    return file.getvalue()


def _nothing(spec: FigureSpec, reason: NoDataError, folder: Path) -> Written:
    return Written(stale=_earlier(spec, folder), reason=reason)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Convert errors of the operating system into one sentence that names the folder."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DbtoolError(
            f"cannot write to {str(folder)!r}: {reason_of(error, folder)}; name another folder"
        ) from error


def _follow_parent() -> None:
    """Ignore Ctrl-C, which the parent handles, and end this process when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
