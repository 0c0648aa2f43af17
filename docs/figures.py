"""Writes docs/figures.md: every figure with its question, its query and, where possible, a picture.

Run `make docs`, or `python docs/figures.py docs/figures.md --db data/replication`. The same release
gives the same bytes.
"""

from __future__ import annotations

import itertools
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from commands import document_and_database
from small_pictures import LARGE_PICTURE, as_webp

from dbtool.core.catalog import figure_curves
from dbtool.database import open_database
from dbtool.figures.caption import alternative_text
from dbtool.figures.drawing import draw
from dbtool.figures.plot import saved
from dbtool.figures.points import NoDataError, Request, read_points
from dbtool.figures.specs import FIGURES
from producers.workloads.registry import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.database import Database
    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec

_TEMPLATES = Path(__file__).parent / "templates"
# A clone of the repository carries every version of every picture.
MOST_BYTES = 2_500_000


@dataclass(frozen=True)
class Entry:
    """A figure of the document.

    Attributes:
        spec: the figure.
        shown: what stands under its question: the picture, or why there is none.
        picture: the picture's file name and bytes; None where the release has no data.
    """

    spec: FigureSpec
    shown: str
    picture: tuple[str, bytes] | None = None


def main() -> None:
    """Writes the document and, in a folder beside it, its pictures in place of all there were."""
    document, database = document_and_database(__doc__.splitlines()[0])
    with open_database(database) as db:
        entries = [_entry(db, spec) for spec in FIGURES]
    pictures = dict(entry.picture for entry in entries if entry.picture)
    total = sum(map(len, pictures.values()))
    if total > MOST_BYTES:
        sys.exit(f"the pictures have {total:,} bytes, more than {MOST_BYTES:,}")
    folder = document.parent / document.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in pictures.items():
        (folder / name).write_bytes(data)
    document.write_text(_document(entries), encoding="utf-8", newline="")


def _template(name: str) -> Template:
    return Template((_TEMPLATES / name).read_text(encoding="utf-8"))


def _document(entries: Sequence[Entry]) -> str:
    parts, links = [], []
    first: dict[Path, FigureSpec] = {}
    for heading, group in itertools.groupby(entries, key=lambda entry: entry.spec.heading):
        parts.append(f"## {heading}\n")
        links.append(f"\n{heading}:\n")
        for entry in group:
            parts.append(_part(entry, first.setdefault(entry.spec.query_path, entry.spec)))
            without = "" if entry.picture else " (no data in the bundled release)"
            links.append(f"- [{entry.spec.full_name}](#{entry.spec.name}){without}")
    return _template("figures.md").substitute(
        count=len(entries),
        drawn=sum(entry.picture is not None for entry in entries),
        contents="\n".join(links).strip(),
        figures="\n".join(parts),
    )


def _part(entry: Entry, first: FigureSpec) -> str:
    """A figure's part of the document; a query stands where the first figure has it."""
    spec = entry.spec
    sql = spec.query_path.read_text(encoding="utf-8").strip()
    return _template("figure.md").substitute(
        name=spec.name,
        heading=spec.full_name,
        question=spec.question,
        note=f"{spec.note}\n\n" if spec.note else "",
        source=spec.source,
        command=spec.command,
        file=f"queries/figures/{spec.query_path.name}",
        curves=_curves(spec),
        shown=entry.shown,
        sql=f"```sql\n{sql}\n```" if first is spec else f"As of [{first.label}](#{first.name}).",
    )


def _curves(spec: FigureSpec) -> str:
    """How to see which curves a figure has, where it has a list of them."""
    name = spec.curves or spec.name
    if all(curve["figure"] != name for curve in figure_curves()):
        return ""
    return f" Its curves: `dbtool sql \"FROM figure_curves WHERE figure = '{name}'\"`."


def _entry(db: Database, spec: FigureSpec) -> Entry:
    """One figure of the document, drawn from whatever the database holds."""
    try:
        points = read_points(db, spec, Request(trainable=frozenset(WORKLOADS)))
    except NoDataError as error:
        return Entry(spec, f"Not drawn here: {error}.")
    name, data = _small_picture(points, spec)
    return Entry(spec, f"![{alternative_text(points, spec)}](figures/{name})", (name, data))


def _small_picture(points: Points, spec: FigureSpec) -> tuple[str, bytes]:
    """A picture's file name and bytes: shapes where they are few, else dots of few colours."""
    figure = draw(points, spec)
    svg = saved(figure, points, spec, "svg")
    if len(svg) <= LARGE_PICTURE:
        return f"{spec.name}.svg", svg
    return f"{spec.name}.webp", as_webp(saved(figure, points, spec, "png"))


if __name__ == "__main__":
    main()
