"""Figures as files, as rows or as a page; what has no data is told on standard error."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dbtool.cli.plotting.data import write_data
from dbtool.cli.plotting.workers import in_order
from dbtool.errors import DbtoolError
from dbtool.figures.caption import left_out_names
from dbtool.figures.points import NoDataError, read_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import duckdb

    from dbtool.figures.look import Look
    from dbtool.figures.points import Points, Request
    from dbtool.figures.specs import FigureSpec

Made = TypeVar("Made")


@dataclass(frozen=True)
class Job:
    """What to draw, and from where.

    Attributes:
        connection: the database.
        specs: the figures.
        request: what they are drawn with, checked.
        skip_empty: whether figures without data are left out, as long as one has some.
    """

    connection: duckdb.DuckDBPyConnection
    specs: Sequence[FigureSpec]
    request: Request
    skip_empty: bool


def draw_files(job: Job, folder: Path, formats: Sequence[str], look: Look) -> None:
    """Draws the figures, writes their points beside them, and prints the files' names.

    Raises:
        NoDataError: none was drawn, or one that was named has no data.
        DbtoolError: the folder cannot be written to.
    """
    _print_files(job, folder, partial(_draw, folder=folder, formats=formats, look=look))


def write_rows(job: Job, folder: Path, formats: Sequence[str]) -> None:
    """Writes the figures' points alone, and prints the files' names.

    Raises:
        NoDataError: no figure has data, or one that was named has none.
        DbtoolError: the folder cannot be written to.
    """
    _print_files(job, folder, partial(_write_rows, folder=folder, formats=formats))


def write_gallery(job: Job, folder: Path) -> None:
    """Writes the figures as one page, and prints its name.

    Raises:
        NoDataError: no figure has data.
        DbtoolError: the folder cannot be written to.
    """
    from dbtool.figures.gallery.build import drawn_of, release_facts, write_page
    from dbtool.figures.gallery.page import Missing

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
        facts = release_facts(job.connection, drawn)
        sys.stdout.write(f"{write_page(folder, drawn, missing, facts)}\n")
    _tell([f"left out: {each.reason}" for each in missing])


def _draw(
    points: Points, spec: FigureSpec, *, folder: Path, formats: Sequence[str], look: Look
) -> tuple[list[Path], str]:
    from dbtool.figures.files import write_figure

    return write_figure(points, spec, folder, formats, look), _absent(points, spec)


def _write_rows(
    points: Points, spec: FigureSpec, *, folder: Path, formats: Sequence[str]
) -> tuple[list[Path], str]:
    return write_data(points, spec.name, folder, formats), _absent(points, spec)


def _absent(points: Points, spec: FigureSpec) -> str:
    """Which parts of a figure have no data, as a sentence; "" if none."""
    missing = left_out_names(points)
    if not missing:
        return ""
    return f"{spec.name}: no data in release {points.release}: {'; '.join(missing)}"


def _print_files(
    job: Job,
    folder: Path,
    work: Callable[[Points, FigureSpec], tuple[list[Path], str]],
) -> None:
    empty: list[NoDataError] = []
    with _writing(folder):
        for _, made in _made(job, work):
            if isinstance(made, NoDataError):
                empty.append(made)
                continue
            paths, absent = made
            sys.stdout.writelines(f"{path}\n" for path in paths)
            _tell([absent] if absent else [])
    reported = empty if job.skip_empty and len(empty) < len(job.specs) else empty[:-1]
    _tell([f"left out: {each}" for each in reported])
    if len(reported) < len(empty):
        raise empty[-1]


def _made(
    job: Job, work: Callable[[Points, FigureSpec], Made]
) -> Iterator[tuple[FigureSpec, Made | NoDataError]]:
    """What work makes of each figure's points, in order, or why it has none."""

    def read(spec: FigureSpec) -> Points | NoDataError:
        try:
            return read_points(job.connection, spec, job.request)
        except NoDataError as error:
            return error

    read_all = ((read(spec), spec) for spec in job.specs)
    yield from zip(job.specs, in_order(work, read_all), strict=True)


def _tell(sentences: Sequence[str]) -> None:
    sys.stderr.writelines(f"{sentence}\n" for sentence in sentences)


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
