"""Draws figures and writes them as one page."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.figures.caption import caption_of
from dbtool.figures.gallery.page import Drawn, Missing, ReleaseFacts, page_of
from dbtool.figures.gallery.picture import picture_of
from dbtool.figures.look import Look
from dbtool.resources import queries_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec

PAGE = "index.html"
LOOK = Look(style="screen")


def drawn_of(points: Points, spec: FigureSpec) -> Drawn:
    """A figure with its picture, for the page."""
    return Drawn(spec, points, caption_of(points, spec), picture_of(points, spec, LOOK))


def release_facts(
    connection: duckdb.DuckDBPyConnection, drawn: Sequence[Drawn]
) -> list[ReleaseFacts]:
    """Facts of the releases that figures are drawn from, in the database's order."""
    used = {name for each in drawn for name in each.points.rows["release"]}
    query = (queries_folder() / "browse" / "releases.sql").read_text(encoding="utf-8")
    return [ReleaseFacts(*row) for row in connection.execute(query).fetchall() if row[0] in used]


def write_page(
    folder: Path,
    drawn: Sequence[Drawn],
    missing: Sequence[Missing],
    releases: Sequence[ReleaseFacts],
) -> Path:
    """Writes the page, whole or not at all; returns its file.

    Args:
        folder: made where it is not there.
        drawn: the figures to show.
        missing: the figures to name with what would fill them.
        releases: those that the figures are drawn from.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = page_of(drawn, missing, releases)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{PAGE}-") as scratch:
        made = Path(scratch, PAGE)
        made.write_text(text, encoding="utf-8", newline="")
        return made.replace(folder / PAGE)
