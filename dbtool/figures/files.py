"""Figures and points as files, which appear whole or not at all and say how they were made."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib import rc_context

from dbtool import __version__
from dbtool.figures.look import Look
from dbtool.figures.render import draw
from dbtool.figures.style import DOTS_PER_INCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec


def write_figure(
    points: Points,
    spec: FigureSpec,
    folder: Path,
    formats: Sequence[str],
    look: Look | None = None,
) -> list[Path]:
    """Writes the points as CSV and the figure in each format; the same points give the same bytes.

    Args:
        points: what the figure's query returned.
        spec: the figure.
        folder: where the files go; made where it is not there.
        formats: of specs.FORMATS.
        look: the figure's width and style; None: as for print, as wide as suits it.

    Returns:
        The files, the figure's first, the CSV last.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    look = look or Look()
    figure = draw(points, spec, look)
    written = [folder / f"{spec.name}.{name}" for name in (*formats, "csv")]
    # Beside their targets, because only a rename within one file system is atomic.
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{spec.name}-") as scratch:
        for name in formats:
            with rc_context(look.rc()):
                figure.savefig(
                    Path(scratch, name),
                    format=name,
                    dpi=DOTS_PER_INCH,
                    metadata=_metadata(points, spec, name),
                )
        Path(scratch, "csv").write_text(points.csv(), encoding="utf-8", newline="")
        for path in written:
            Path(scratch, path.suffix[1:]).replace(path)
    return written


def _metadata(points: Points, spec: FigureSpec, name: str) -> Mapping[str, str | list[str] | None]:
    """What a file of that format says about itself: query, release, rows, version, and no date."""
    maker = f"dbtool {__version__}"
    facts = {"Release": points.release, "Rows": str(points.rows.height), "Version": maker}
    if name == "png":
        return {
            "Title": spec.title,
            "Description": spec.question,
            "Source": spec.source,
            "Software": maker,
            "SQL": points.sql,
            **facts,
        }
    listed = [f"{key}: {value}" for key, value in facts.items()]
    if name == "pdf":
        return {
            "Title": spec.title,
            "Subject": points.sql,
            "Keywords": "; ".join(listed),
            "Creator": maker,
            "CreationDate": None,
        }
    return {
        "Title": spec.title,
        "Description": points.sql,
        "Source": spec.source,
        "Keywords": listed,
        "Creator": maker,
        "Date": None,
    }
