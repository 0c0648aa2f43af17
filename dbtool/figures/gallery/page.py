"""The gallery: figures with their captions, queries and points as one HTML file."""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

import polars as pl

from dbtool import __version__
from dbtool.core.errors import counted
from dbtool.core.files import write_whole
from dbtool.figures.caption import caption_of, title_of
from dbtool.figures.files import saved
from dbtool.figures.names import readable
from dbtool.figures.render import draw
from dbtool.store.questions import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec
    from dbtool.store.database import Database

PAGE = "index.html"
TITLE = "Figures"
# On a screen a figure is seen from further away than in print.
CSS_PIXELS_PER_INCH = 130
# Beyond this many bytes the same figure as dots may be smaller than as shapes.
LARGE = 400_000


@dataclass(frozen=True)
class Drawn:
    """A figure with data.

    Attributes:
        spec: the figure.
        points: its rows and its query.
        caption: the caption's paragraphs.
        picture: an address that holds the picture itself.
        width: of the picture in CSS pixels, where there is room.
        height: likewise.
    """

    spec: FigureSpec
    points: Points
    caption: Sequence[str]
    picture: str
    width: int
    height: int


@dataclass(frozen=True)
class Missing:
    """A figure without data, and the sentence that says what would fill it."""

    spec: FigureSpec
    reason: str


@dataclass(frozen=True)
class ReleaseFacts:
    """What the page says of a release that its figures are drawn from; counts are of all of it."""

    release: str
    title: str | None
    licence: str | None
    workloads: int
    studies: int
    trials: int
    measurements: int


def drawn_of(points: Points, spec: FigureSpec) -> Drawn:
    """A figure with its picture, for the page: as SVG, or as PNG where that is much smaller."""
    figure = draw(points, spec)
    kind, data = "svg+xml", saved(figure, points, spec, "svg")
    if len(data) > LARGE:
        png = saved(figure, points, spec, "png")
        kind, data = min((kind, data), ("png", png), key=lambda each: len(each[1]))
    picture = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    width, height = (round(inches * CSS_PIXELS_PER_INCH) for inches in figure.get_size_inches())
    return Drawn(spec, points, caption_of(points, spec, figure), picture, width, height)


def release_facts(db: Database, drawn: Sequence[Drawn]) -> list[ReleaseFacts]:
    """Facts of the releases that figures are drawn from, in the database's order."""
    used = {name for each in drawn for name in each.points.rows["release"]}
    return [ReleaseFacts(*row) for row in db.result(listed("releases")) if row[0] in used]


def write_page(
    folder: Path,
    drawn: Sequence[Drawn],
    missing: Sequence[Missing],
    releases: Sequence[ReleaseFacts],
) -> Path:
    """Writes the page, whole or not at all; returns its file. The same figures give the same bytes.

    Args:
        folder: made where it is not there.
        drawn: the figures to show, those of one source side by side.
        missing: the figures to name with what would fill them.
        releases: those that the figures are drawn from.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / PAGE, _page(drawn, missing, releases).encode())
    return folder / PAGE


def _page(
    drawn: Sequence[Drawn], missing: Sequence[Missing], releases: Sequence[ReleaseFacts]
) -> str:
    style, script = _asset("page.css"), _asset("page.js")
    names = ", ".join(facts.release for facts in releases)
    return Template(_asset("page.html")).substitute(
        title=escape(f"{TITLE} of {names}" if names else TITLE),
        lead=escape(_lead(drawn, missing)),
        version=escape(__version__),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        releases="\n".join(map(_release, releases)),
        contents=_contents(drawn, missing),
        figures="\n".join(
            part
            for heading, group in _by_heading(drawn)
            for part in (f"<h2>{escape(heading)}</h2>", *map(_section, group))
        ),
        missing=_missing(missing),
    )


@cache
def _asset(name: str) -> str:
    return files("dbtool.figures.gallery").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the page's security policy knows its own script or style by."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"


def _lead(drawn: Sequence[Drawn], missing: Sequence[Missing]) -> str:
    shown = f"{len(drawn)} figure{'' if len(drawn) == 1 else 's'}, each with its query and points"
    return f"{shown}; {len(missing)} more have no data here." if missing else f"{shown}."


def _release(facts: ReleaseFacts) -> str:
    counts = " · ".join(
        (
            counted(facts.workloads, "workload"),
            counted(facts.studies, "study", "studies"),
            counted(facts.trials, "trial"),
            counted(facts.measurements, "measurement"),
        )
    )
    title = f": {escape(facts.title)}" if facts.title else ""
    licence = f" · {escape(facts.licence)}" if facts.licence else ""
    return (
        f'<section class="release" aria-label="Release {escape(facts.release)}">'
        f"<p><strong>{escape(facts.release)}</strong>{title}</p>"
        f'<p class="facts">{counts}{licence}</p></section>'
    )


def _contents(drawn: Sequence[Drawn], missing: Sequence[Missing]) -> str:
    lines = []
    for heading, group in _by_heading(drawn):
        links = "\n".join(
            f'<li><a href="#{escape(each.spec.name)}">{escape(each.spec.full_name)}</a></li>'
            for each in group
        )
        lines.append(f"<h3>{escape(heading)}</h3>\n<ul>\n{links}\n</ul>")
    if missing:
        link = f'<a href="#without-data">Figures without data ({len(missing)})</a>'
        lines.append(f"<h3>Not drawn</h3>\n<ul>\n<li>{link}</li>\n</ul>")
    return "\n".join(lines)


def _by_heading(drawn: Iterable[Drawn]) -> list[tuple[str, list[Drawn]]]:
    groups = itertools.groupby(drawn, key=lambda each: each.spec.heading)
    return [(heading, list(group)) for heading, group in groups]


def _section(each: Drawn) -> str:
    spec, rows = each.spec, each.points.rows
    count = f"{rows.height:,} row{'' if rows.height == 1 else 's'}"
    return Template(_asset("figure.html")).substitute(
        name=escape(spec.name),
        label=escape(spec.label),
        heading=escape(spec.full_name),
        command=escape(spec.command),
        picture=each.picture,
        alt=escape(alternative_text(each.points, spec)),
        width=each.width,
        height=each.height,
        caption="\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in each.caption),
        sql=escape(each.points.sql),
        types=" ".join(_types(rows)),
        count=count,
        points=_packed(each.points.csv()),
    )


def alternative_text(points: Points, spec: FigureSpec) -> str:
    """What the picture shows, for those who cannot see it; the numbers are in its table."""
    panels = [readable(name) for name in points.rows["panel"].unique(maintain_order=True)]
    series = points.rows["series"].unique(maintain_order=True).to_list()
    count = "one panel" if len(panels) == 1 else f"{len(panels)} panels"
    curves = f"; series: {', '.join(map(readable, series))}" if 1 < len(series) <= 12 else ""
    return f"{title_of(points, spec)}, {count}: {'; '.join(panels)}{curves}."


def _types(rows: pl.DataFrame) -> list[str]:
    """What kind of value each column holds, in the words of JSON."""
    return [
        "number" if kind.is_numeric() else "boolean" if kind == pl.Boolean else "string"
        for kind in rows.dtypes
    ]


def _packed(csv: str) -> str:
    """Text in a form that no HTML can be mistaken for, and a twentieth as long."""
    return base64.b64encode(gzip.compress(csv.encode(), mtime=0)).decode()


def _missing(missing: Sequence[Missing]) -> str:
    if not missing:
        return ""
    lines = "\n".join(
        f"<dt>{escape(each.spec.full_name)}</dt><dd>{escape(each.reason)}</dd>" for each in missing
    )
    return (
        '<section class="missing" aria-labelledby="without-data">\n'
        f'<h2 id="without-data">Figures without data</h2>\n<dl>\n{lines}\n</dl>\n</section>'
    )
