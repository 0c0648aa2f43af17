"""Writes docs/figures.md: every figure with its question, its query and, where possible, a picture.

Run `make docs`, or `python -m dbtool.figures.gallery.docs --db FILE` with a database of the
measured release alone. The same release gives the same bytes.
"""

from __future__ import annotations

import argparse
import io
import itertools
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from PIL import Image

from dbtool.figures.gallery.headings import command_of, full_name, heading_of
from dbtool.figures.gallery.page import alternative_text
from dbtool.figures.gallery.picture import drawn_as
from dbtool.figures.look import Look
from dbtool.figures.points import NoDataError, Request, read_points
from dbtool.figures.specs import FIGURES
from dbtool.store.database import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec

PAGE = "figures.md"
PICTURES = "figures"
# A clone of the repository carries every version of every picture.
MOST_BYTES = 2_000_000
LARGE_PICTURE = 100_000
COLOURS = 256


@dataclass(frozen=True)
class Entry:
    """A figure of the document.

    Attributes:
        spec: the figure.
        text: its part of the document, as Markdown.
        picture: the picture's file name and bytes; None where the release has no data.
    """

    spec: FigureSpec
    text: str
    picture: tuple[str, bytes] | None


def main() -> None:
    """Writes the document and its pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--db", type=Path, required=True, help="a database of the release")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="the folder; default: docs")
    arguments = parser.parse_args()
    with open_for_reading(arguments.db) as connection:
        entries = [_entry(connection, spec) for spec in FIGURES]
    write_document(arguments.out, entries)


def write_document(folder: Path, entries: Sequence[Entry]) -> None:
    """Writes the document, and its pictures in place of all that were there.

    Args:
        folder: where the document goes; made where it is not there.
        entries: the figures, those of one source side by side.

    Raises:
        ValueError: the pictures are too large for a repository.
    """
    pictures = dict(entry.picture for entry in entries if entry.picture is not None)
    total = sum(map(len, pictures.values()))
    if total > MOST_BYTES:
        raise ValueError(f"the pictures have {total:,} bytes, more than {MOST_BYTES:,}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{PICTURES}-") as scratch:
        for name, data in pictures.items():
            Path(scratch, name).write_bytes(data)
        Path(scratch, PAGE).write_text(_document(entries), encoding="utf-8", newline="")
        shutil.rmtree(folder / PICTURES, ignore_errors=True)
        (folder / PICTURES).mkdir()
        for name in pictures:
            Path(scratch, name).replace(folder / PICTURES / name)
        Path(scratch, PAGE).replace(folder / PAGE)


@cache
def _template(name: str) -> Template:
    asset = files("dbtool.figures.gallery").joinpath("assets", name)
    return Template(asset.read_text(encoding="utf-8"))


def _document(entries: Sequence[Entry]) -> str:
    parts, links = [], []
    for heading, group in itertools.groupby(entries, key=lambda entry: heading_of(entry.spec)):
        parts.append(f"## {heading}\n")
        links.append(f"\n{heading}:\n")
        for entry in group:
            parts.append(entry.text)
            without = "" if entry.picture else " (no data in the measured release)"
            links.append(f"- [{full_name(entry.spec)}](#{entry.spec.name}){without}")
    return _template("document.md").substitute(
        count=len(entries),
        drawn=sum(entry.picture is not None for entry in entries),
        contents="\n".join(links).strip(),
        figures="\n".join(parts),
    )


def _entry(connection: duckdb.DuckDBPyConnection, spec: FigureSpec) -> Entry:
    """One figure of the document, drawn from whatever the database holds."""
    picture = None
    try:
        points = read_points(connection, spec, Request())
    except NoDataError as error:
        shown = f"Not drawn here: {error}."
    else:
        picture = _small_picture(points, spec)
        shown = f"![{alternative_text(points, spec)}]({PICTURES}/{picture[0]})"
    text = _template("document_figure.md").substitute(
        name=spec.name,
        heading=full_name(spec),
        question=spec.question,
        source=spec.source,
        command=command_of(spec),
        file=f"queries/figures/{spec.query}",
        shown=shown,
        sql=spec.query_path.read_text(encoding="utf-8").strip(),
    )
    return Entry(spec, text, picture)


def _small_picture(points: Points, spec: FigureSpec) -> tuple[str, bytes]:
    """A picture's file name and bytes: shapes where they are few, else dots of few colours."""
    svg = drawn_as(points, spec, Look(), "svg")
    if len(svg) <= LARGE_PICTURE:
        return f"{spec.name}.svg", svg
    small = io.BytesIO()
    with Image.open(io.BytesIO(drawn_as(points, spec, Look(), "png"))) as image:
        few_colours = image.convert("RGB").quantize(COLOURS).convert("RGB")
        # Without losses, two thirds of what the same dots need as PNG.
        few_colours.save(small, format="webp", lossless=True, quality=100)
    return f"{spec.name}.webp", small.getvalue()


if __name__ == "__main__":
    main()
