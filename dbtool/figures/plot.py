"""Drawn figures: for Python users, as files, and for the explorer's page."""

import contextlib
import gzip
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib import rc_context
from matplotlib.figure import Figure

from dbtool import __version__
from dbtool.core.errors import counted
from dbtool.core.files import expanded, write_whole
from dbtool.figures.caption import alternative_text, caption_of, caption_text
from dbtool.figures.drawing import draw, draw_parts
from dbtool.figures.kinds import panels_of
from dbtool.figures.legend import names_of, shared_names
from dbtool.figures.names import readable
from dbtool.figures.panels import Curve, Panel
from dbtool.figures.points import (
    NoDataError,
    Points,
    Request,
    read_each,
    read_points,
    require_no_other,
)
from dbtool.figures.scaling import BY_GOAL, SCALING_FIGURE, goal_points, scaling_points
from dbtool.figures.specs import FigureLayout, FigureSpec, find_figure, format_of
from dbtool.figures.style import ACCENT, DOTS_PER_INCH, RC, Mark, page_colour
from dbtool.store.questions import chosen_workloads, known_release
from dbtool.store.releases import Releases

if TYPE_CHECKING:
    from dbtool.analysis.answers import Answer
    from dbtool.analysis.scaling import Settings


@dataclass(frozen=True)
class Plot:
    """A drawn figure, which notebooks display.

    Attributes:
        drawn: what it is drawn from.
        spec: which figure it is.
        layout: its layout.
    """

    drawn: Points
    spec: FigureSpec
    layout: FigureLayout | None = None

    @cached_property
    def figure(self) -> Figure:
        """The figure of matplotlib with all panels, to be changed or saved as any other."""
        return draw(self.drawn, self.spec, self.layout)

    @property
    def points(self) -> pl.DataFrame:
        """The points, a row each, with at least the columns panel, series, x and y."""
        return self.drawn.rows

    @property
    def sql(self) -> str:
        """The query that gave the points."""
        return self.drawn.sql

    @property
    def caption(self) -> str:
        """The full caption, as `dbtool plot --caption file` writes it."""
        return caption_text(self.drawn, self.spec)

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Write the picture, all panels in one, and return its file.

        Raises:
            UsageError: the name does not end with .png, .pdf or .svg, or another file is there.
            OSError: it cannot be written.
        """
        path = expanded(file)
        require_no_other(path)
        write_whole(path, saved(self.figure, self.drawn, self.spec, format_of(path)))
        return path

    def save_with_points(self, file: Path) -> list[Path]:
        """Write the picture, or those for a column, and its points as CSV; return the files.

        Raises:
            UsageError: the name ends otherwise than a picture's, or another file is there.
            OSError: they cannot be written.
        """
        file = expanded(file)
        format_of(file)
        points = file.with_suffix(".csv")
        figures = draw_parts(self.drawn, self.spec, self.layout)
        files = pictures(file, figures, self.drawn, self.spec)
        files[points] = self.drawn.csv().encode()
        for path in files:
            require_no_other(path)
        for path, content in files.items():
            write_whole(path, content)
        return [*files]

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture and its size in notebooks, at 96 pixels an inch."""
        width, height = (round(96 * inches) for inches in self.figure.get_size_inches())
        picture = saved(self.figure, self.drawn, self.spec, "png")
        return picture, {"width": width, "height": height}

    def __repr__(self) -> str:
        return f"<Plot {self.spec.name}: {self.spec.title}, {counted(self.points.height, 'point')}>"


def plot(db: Releases, name: str, request: Request, layout: FigureLayout | None = None) -> Plot:
    """Draw the figure of a name or number; without a layout, with that which suits it.

    Raises:
        UsageError: there is no such figure, release or workload.
        NoDataError: there are no rows for it.
    """
    spec = find_figure(name)
    points = read_points(db, spec, checked(db, request))
    return Plot(points, spec, layout)


def plot_scaling(
    db: Releases | None,
    answers: "Sequence[Answer]",
    settings: "Settings",
    width: float | None = None,
    on_left_out: Callable[[str], None] = lambda _reason: None,
) -> Plot:
    """Draw what `ScalingReport.plot` says; db is None for steps of a table.

    Raises:
        UsageError: no picture is so wide.
        NoDataError: no study has steps to result.
    """
    layout = FigureLayout(width)
    if len({(each.release, each.workload) for each in answers}) < len(answers):
        spec, points = BY_GOAL, goal_points(answers, settings)
    else:
        spec, points = SCALING_FIGURE, scaling_points(db, answers, settings, on_left_out)
    return Plot(points, spec, layout)


def checked(db: Releases, request: Request) -> Request:
    """Return the request with known names of releases, and workloads in place of patterns.

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
        workloads = tuple(chosen_workloads(db, workloads, alone))
    return replace(request, release=release, workloads=workloads)


def pictures(
    file: Path, figures: Sequence[Figure], points: Points, spec: FigureSpec
) -> dict[Path, bytes]:
    """Return what `draw_parts` made of points by its files, which are numbered if several."""
    stems = [f"{file.stem}-{n}" for n in range(1, len(figures) + 1)] if figures[1:] else [file.stem]
    return {
        file.with_stem(stem): saved(figure, points, spec, format_of(file))
        for stem, figure in zip(stems, figures, strict=True)
    }


def saved(figure: Figure, points: Points, spec: FigureSpec, name: str) -> bytes:
    """Return a figure that `draw` made of points as the bytes of a file, in one of FORMATS."""
    file = io.BytesIO()
    with rc_context(RC):
        figure.savefig(file, format=name, dpi=DOTS_PER_INCH, metadata=_metadata(points, spec, name))
    return file.getvalue()


def _metadata(points: Points, spec: FigureSpec, name: str) -> Mapping[str, str | list[str] | None]:
    """Return the metadata of a file: query, release, rows and version, without a date."""
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


def packed_figures(
    db: Releases,
    specs: Sequence[FigureSpec],
    request: Request,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> bytes:
    """Return the figures as gzipped JSON, with the reason where one has no data.

    The request is one that was `checked`; on_progress is called with how many figures are done, and
    of how many.

    Raises:
        DbtoolError: a shard is damaged.
    """
    made, missing = [], []
    with contextlib.closing(read_each(db, specs, request)) as read:
        for done, (spec, points) in enumerate(zip(specs, read, strict=True), 1):
            if isinstance(points, NoDataError):
                missing.append({"full_name": spec.full_name, "reason": str(points)})
            else:
                made.append(_figure(points, spec))
            on_progress(done, len(specs))
    text = json.dumps({"figures": made, "missing": missing}, ensure_ascii=False, allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def _figure(points: Points, spec: FigureSpec) -> dict[str, Any]:
    panels = panels_of(points, spec)
    shared = shared_names([names_of(panel) for panel in panels])
    copied = ("name", "label", "full_name", "heading", "question", "command")
    return {
        **{name: getattr(spec, name) for name in copied},
        "caption": caption_of(points, spec),
        "alternative": alternative_text(points, spec),
        "sql": points.sql,
        "types": [
            "number" if kind.is_numeric() else "boolean" if kind == pl.Boolean else "string"
            for kind in points.rows.dtypes
        ],
        "csv": points.csv(),
        "legend": [_named(mark) for mark in shared],
        "panels": [_panel(panel, [] if shared else names_of(panel)) for panel in panels],
    }


def _panel(panel: Panel, legend: Sequence[Mark]) -> dict[str, Any]:
    """Return how a panel is drawn; its rows are those with its panel_order."""
    (x_label, y_label), (x_scale, y_scale) = panel.labels, panel.scales
    return {
        "number": panel.first("panel_order"),
        "kind": panel.kind,
        "title": panel.title,
        "goal": panel.goal,
        "x": {"label": x_label, "scale": x_scale},
        "y": {"label": y_label, "scale": y_scale},
        "series": {curve.name: _named(_mark(panel, curve)) for curve in reversed(panel.curves)},
        "legend": [_named(mark) for mark in legend],
        "names": {
            name: readable(name)
            for curve in panel.curves
            for name in curve.column("workload")
            if panel.kind == "forest"
        },
    }


def _mark(panel: Panel, curve: Curve) -> Mark:
    """Return how a curve looks; of the trials of a study the first alone has a colour."""
    colour = curve.colour
    if panel.kind == "curves" and not panel.renderer.names_curves(panel):
        colour = ACCENT if any(curve.column("best")) else ""
    return Mark(curve.label, {**panel.renderer.sample(curve), "color": colour})


def _named(mark: Mark) -> dict[str, str]:
    """Return a series by its name, colour and marker; "" where it has none."""
    colour = mark.look["color"]
    return {
        "label": mark.text,
        "colour": page_colour(colour) if colour else "",
        "marker": mark.look.get("marker", ""),
    }
