"""Figures and points as files, which appear whole or not at all and say how they were made."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl
from matplotlib import rc_context
from polars import selectors

from dbtool import __version__
from dbtool.core.files import write_whole
from dbtool.figures.render import draw
from dbtool.figures.specs import DATA_FORMATS
from dbtool.figures.style import DOTS_PER_INCH, RC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec


def write_figure(
    points: Points,
    spec: FigureSpec,
    folder: Path,
    formats: Sequence[str],
    width: float | None = None,
) -> list[Path]:
    """Writes a figure and its points in each format; the same points give the same bytes.

    Args:
        points: what the figure's query returned.
        spec: the figure.
        folder: where the files go; made where it is not there.
        formats: of specs.FORMATS for pictures, and of specs.DATA_FORMATS for the points alone. In
            json, numbers that are not finite become null.
        width: of the pictures in inches; None: as wide as suits the figure.

    Returns:
        The files, one a format.

    Raises:
        OSError: the folder cannot be written to.
    """
    contents = {name: _data(points, name) for name in formats if name in DATA_FORMATS}
    pictures = [name for name in formats if name not in contents]
    if pictures:
        figure = draw(points, spec, width)
        contents |= {name: saved(figure, points, spec, name) for name in pictures}
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{spec.name}.{name}" for name in formats}
    for name, path in paths.items():
        write_whole(path, contents[name])
    return list(paths.values())


def _data(points: Points, name: str) -> bytes:
    if name == "csv":
        return points.csv().encode()
    if name == "json":
        # A decimal number would become text, and a count of DuckDB's may come as one.
        return points.rows.cast({selectors.decimal(): pl.Float64}).write_json().encode()
    file = io.BytesIO()
    points.rows.write_parquet(file, compression="zstd")
    return file.getvalue()


def saved(figure: Figure, points: Points, spec: FigureSpec, name: str) -> bytes:
    """A drawn figure as the bytes of a file of one of specs.FORMATS.

    Args:
        figure: that `draw` made.
        points: what it was drawn from.
        spec: the figure.
        name: the format.
    """
    file = io.BytesIO()
    with rc_context(RC):
        figure.savefig(file, format=name, dpi=DOTS_PER_INCH, metadata=_metadata(points, spec, name))
    return file.getvalue()


def _metadata(points: Points, spec: FigureSpec, name: str) -> Mapping[str, str | list[str] | None]:
    """What a file of that format says about itself: query, release, rows, version, and no date."""
    maker = f"dbtool {__version__}"
    title = {"Title": spec.title}
    facts = {"Release": points.release, "Rows": str(points.rows.height), "Version": maker}
    keywords = [f"{key}: {value}" for key, value in facts.items()]
    if name == "png":
        about = {"Description": spec.question, "Source": spec.source, "Software": maker}
        return title | about | facts | {"SQL": points.sql}
    if name == "pdf":
        about = {"Subject": points.sql, "Keywords": "; ".join(keywords), "Creator": maker}
        return title | about | {"CreationDate": None}
    about = {"Description": points.sql, "Source": spec.source, "Creator": maker}
    return title | about | {"Keywords": keywords, "Date": None}
