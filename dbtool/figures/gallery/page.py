"""The gallery's page: figures, captions, queries and points in one HTML text."""

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
from dbtool.figures.gallery.headings import command_of, full_name, heading_of, label_of
from dbtool.figures.names import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dbtool.figures.gallery.picture import Picture
    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec

TITLE = "Figures"


@dataclass(frozen=True)
class Drawn:
    """A figure with data.

    Attributes:
        spec: the figure.
        points: its rows and its query.
        caption: the caption's paragraphs.
        picture: the figure as a file's bytes.
    """

    spec: FigureSpec
    points: Points
    caption: Sequence[str]
    picture: Picture


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


def page_of(
    drawn: Sequence[Drawn], missing: Sequence[Missing], releases: Sequence[ReleaseFacts]
) -> str:
    """The whole page; the same figures give the same text.

    Args:
        drawn: the figures to show, those of one source side by side.
        missing: the figures to name with what would fill them.
        releases: those that the figures are drawn from.
    """
    style, script = _asset("page.css"), _asset("page.js")
    names = ", ".join(facts.release for facts in releases)
    return _template("page.html").substitute(
        title=escape(f"{TITLE} of {names}" if names else TITLE),
        lead=escape(_lead(drawn, missing)),
        version=escape(__version__),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        releases="\n".join(map(_release, releases)),
        contents=_contents(drawn, missing),
        figures="\n".join(_sections(drawn)),
        missing=_missing(missing),
    )


@cache
def _asset(name: str) -> str:
    return files("dbtool.figures.gallery").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> Template:
    return Template(_asset(name))


def _hash(text: str) -> str:
    """What the page's security policy knows its own script or style by."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"


def _lead(drawn: Sequence[Drawn], missing: Sequence[Missing]) -> str:
    shown = f"{len(drawn)} figure{'' if len(drawn) == 1 else 's'}, each with its query and points"
    return f"{shown}; {len(missing)} more have no data here." if missing else f"{shown}."


def _release(facts: ReleaseFacts) -> str:
    counts = (
        f"{facts.workloads:,} workloads · {facts.studies:,} studies · {facts.trials:,} trials · "
        f"{facts.measurements:,} measurements"
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
            f'<li><a href="#{escape(each.spec.name)}">{escape(_entry(each.spec))}</a></li>'
            for each in group
        )
        lines.append(f"<h3>{escape(heading)}</h3>\n<ul>\n{links}\n</ul>")
    if missing:
        link = f'<a href="#without-data">Figures without data ({len(missing)})</a>'
        lines.append(f"<h3>Not drawn</h3>\n<ul>\n<li>{link}</li>\n</ul>")
    return "\n".join(lines)


def _entry(spec: FigureSpec) -> str:
    return f"{spec.number}. {spec.title}" if spec.number else spec.title


def _by_heading(drawn: Iterable[Drawn]) -> list[tuple[str, list[Drawn]]]:
    groups = itertools.groupby(drawn, key=lambda each: heading_of(each.spec))
    return [(heading, list(group)) for heading, group in groups]


def _sections(drawn: Sequence[Drawn]) -> list[str]:
    sections = []
    for heading, group in _by_heading(drawn):
        sections.append(f"<h2>{escape(heading)}</h2>")
        sections.extend(map(_section, group))
    return sections


def _section(each: Drawn) -> str:
    spec, rows = each.spec, each.points.rows
    count = f"{rows.height:,} row{'' if rows.height == 1 else 's'}"
    return _template("figure.html").substitute(
        name=escape(spec.name),
        label=escape(label_of(spec)),
        heading=escape(full_name(spec)),
        command=escape(command_of(spec)),
        picture=each.picture.data_uri(),
        alt=escape(alternative_text(each.points, spec)),
        width=each.picture.width,
        height=each.picture.height,
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
    return f"{spec.title}, {count}: {'; '.join(panels)}{curves}."


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
        f"<dt>{escape(full_name(each.spec))}</dt><dd>{escape(each.reason)}</dd>" for each in missing
    )
    return (
        '<section class="missing" aria-labelledby="without-data">\n'
        f'<h2 id="without-data">Figures without data</h2>\n<dl>\n{lines}\n</dl>\n</section>'
    )
