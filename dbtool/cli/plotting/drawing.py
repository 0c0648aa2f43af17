"""Figures as files or as a page; what has no data is named on standard error."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dbtool.cli.plotting.workers import in_order
from dbtool.core.errors import DbtoolError
from dbtool.figures.gaps import NoDataError, left_out_names
from dbtool.figures.points import read_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dbtool.figures.points import Points, Request
    from dbtool.figures.specs import FigureSpec
    from dbtool.store.database import Database

    Work: TypeAlias = Callable[[Points, FigureSpec], list[Path]]

Made = TypeVar("Made")


@dataclass(frozen=True)
class Job:
    """What to draw, and from where.

    Attributes:
        db: the releases.
        specs: the figures.
        request: what they are drawn with, checked.
        skip_empty: whether figures without data are left out, as long as one has some.
    """

    db: Database
    specs: Sequence[FigureSpec]
    request: Request
    skip_empty: bool


def write_files(
    job: Job, folder: Path, formats: Sequence[str], width: float | None, *, data: bool
) -> None:
    """Writes each figure with its points, or its points alone, and prints the files' names.

    Args:
        job: the figures.
        folder: where the files go.
        formats: their kinds.
        width: of the pictures in inches; None: as wide as suits each.
        data: whether the points are written alone.

    Raises:
        NoDataError: no figure has data, or one that was named has none.
        DbtoolError: the folder cannot be written to.
    """
    from dbtool.figures.files import write_data, write_figure

    if data:
        work: Work = partial(write_data, folder=folder, formats=formats)
    else:
        work = partial(write_figure, folder=folder, formats=formats, width=width)
    empty: list[NoDataError] = []
    with _writing(folder):
        for _, made in _made(job, partial(_work_and_gaps, work=work)):
            if isinstance(made, NoDataError):
                empty.append(made)
                continue
            paths, gaps = made
            sys.stdout.writelines(f"{path}\n" for path in paths)
            sys.stderr.write(gaps)
    reported = empty if job.skip_empty and len(empty) < len(job.specs) else empty[:-1]
    sys.stderr.writelines(f"left out: {each}\n" for each in reported)
    if len(reported) < len(empty):
        raise empty[-1]


def write_gallery(job: Job, folder: Path) -> None:
    """Writes the figures as one page, and prints its name.

    Raises:
        NoDataError: no figure has data.
        DbtoolError: the folder cannot be written to.
    """
    from dbtool.figures.gallery.page import Missing, drawn_of, release_facts, write_page

    drawn, missing = [], []
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for spec, made in _made(job, drawn_of):
            if isinstance(made, NoDataError):
                missing.append(Missing(spec, str(made)))
            else:
                drawn.append(made)
        if not drawn:
            raise NoDataError(missing[-1].reason)
        facts = release_facts(job.db, drawn)
        sys.stdout.write(f"{write_page(folder, drawn, missing, facts)}\n")
    sys.stderr.writelines(f"left out: {each.reason}\n" for each in missing)


def _work_and_gaps(points: Points, spec: FigureSpec, work: Work) -> tuple[list[Path], str]:
    """The files of a figure, and a line that names its parts without data; "" if none."""
    missing = "; ".join(left_out_names(points.rows, points.left_out))
    gaps = f"{spec.name}: no data in release {points.release}: {missing}\n" if missing else ""
    return work(points, spec), gaps


def _made(
    job: Job, work: Callable[[Points, FigureSpec], Made]
) -> Iterator[tuple[FigureSpec, Made | NoDataError]]:
    """What work makes of each figure's points, in order, or why it has none."""

    def read(spec: FigureSpec) -> Points | NoDataError:
        try:
            return read_points(job.db, spec, job.request)
        except NoDataError as error:
            return error

    read_all = ((read(spec), spec) for spec in job.specs)
    yield from zip(job.specs, in_order(work, read_all), strict=True)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turns the system's errors into one sentence that names the folder."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise DbtoolError(f"cannot write to {str(folder)!r}: {reason}") from error
