"""A figure for Python users, drawn from a database."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.core.errors import counted
from dbtool.core.files import write_whole
from dbtool.figures.files import saved
from dbtool.figures.points import read_points
from dbtool.figures.render import draw
from dbtool.figures.specs import find_figure, format_of
from dbtool.store.questions import known_release, workload_names

if TYPE_CHECKING:
    import os

    import polars as pl
    from matplotlib.figure import Figure

    from dbtool.figures.points import Points, Request
    from dbtool.figures.specs import FigureSpec
    from dbtool.store.releases import Releases


@dataclass(frozen=True)
class Plot:
    """A figure that was drawn, which a notebook shows.

    Attributes:
        figure: of matplotlib, to be changed or saved as any other.
        drawn: what it was drawn from.
        spec: which figure it is.
    """

    figure: Figure
    drawn: Points
    spec: FigureSpec

    @property
    def points(self) -> pl.DataFrame:
        """The points, a row each, with at least the columns panel, series, x and y."""
        return self.drawn.rows

    @property
    def sql(self) -> str:
        """The query that gave the points."""
        return self.drawn.sql

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Writes the picture.

        Args:
            file: the file, which ends with .png, .pdf or .svg.

        Returns:
            The file.

        Raises:
            UsageError: the name ends otherwise.
            OSError: it cannot be written.
        """
        path = Path(file)
        write_whole(path, saved(self.figure, self.drawn, self.spec, format_of(path)))
        return path

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and how large notebooks show it: an inch of it is one of CSS, 96 pixels."""
        width, height = (round(96 * inches) for inches in self.figure.get_size_inches())
        picture = saved(self.figure, self.drawn, self.spec, "png")
        return picture, {"width": width, "height": height}

    def __repr__(self) -> str:
        return f"<Plot {self.spec.name}: {self.spec.title}, {counted(self.points.height, 'point')}>"


def plot(db: Releases, name: str, request: Request, width: float | None = None) -> Plot:
    """Draws a figure.

    Args:
        db: the database.
        name: of the figure, or its number.
        request: what it is drawn with.
        width: in inches; None: as wide as suits its panels.

    Raises:
        UsageError: there is no such figure, release or workload.
        NoDataError: there are no rows for it.
    """
    spec = find_figure(name)
    points = read_points(db, spec, checked(db, request))
    return Plot(draw(points, spec, width), points, spec)


def checked(db: Releases, request: Request) -> Request:
    """The request with releases trimmed and patterns of workloads replaced.

    Raises:
        UsageError: the database lacks a release or a workload that is named.
    """
    release = request.release
    if release is not None:
        names = list(dict.fromkeys(name.strip() for name in release.split(",")))
        for name in names:
            known_release(db, name)
        release = ",".join(names)
    workloads = request.workloads
    if workloads is not None:
        # With several releases each workload need be in one of them only.
        alone = release if release is None or "," not in release else None
        workloads = tuple(workload_names(db, workloads, alone))
    return replace(request, release=release, workloads=workloads)
