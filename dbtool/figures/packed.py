"""Figures for a page that draws them itself: their points, queries, captions, labels and scales."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl

from dbtool.figures.caption import alternative_text, caption_of, title_of
from dbtool.figures.panels import panels_of
from dbtool.figures.points import NoDataError, read_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbtool.figures.panel import Panel
    from dbtool.figures.points import Points, Request
    from dbtool.figures.specs import FigureSpec
    from dbtool.store.releases import Releases


def packed_figures(
    db: Releases,
    specs: Sequence[FigureSpec],
    request: Request,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> bytes:
    """The figures as JSON, gzipped, with why those without data have none.

    Args:
        db: the database.
        specs: the figures.
        request: what they are drawn with, checked.
        on_progress: called with how many figures are done and how many there are.

    Raises:
        DbtoolError: a shard is damaged.
    """
    made, missing = [], []
    for done, spec in enumerate(specs, 1):
        try:
            made.append(_figure(read_points(db, spec, request), spec))
        except NoDataError as error:
            missing.append({"full_name": spec.full_name, "reason": str(error)})
        on_progress(done, len(specs))
    text = json.dumps({"figures": made, "missing": missing}, ensure_ascii=False, allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def _figure(points: Points, spec: FigureSpec) -> dict[str, Any]:
    panels = [_panel(panel) for panel in panels_of(points, spec)]
    return {
        "name": spec.name,
        "label": spec.label,
        "full_name": spec.full_name,
        "heading": spec.heading,
        "title": title_of(points, spec),
        "command": spec.command,
        "caption": caption_of(points, spec),
        "alternative": alternative_text(points, spec),
        "kind": spec.kind,
        "sql": points.sql,
        "types": [_type(kind) for kind in points.rows.dtypes],
        "csv": points.csv(),
        "x": panels[0]["x"],
        "y": panels[0]["y"],
        "panels": panels,
    }


def _panel(panel: Panel) -> dict[str, Any]:
    """How a panel is drawn; its rows are those whose panel_order is its number."""
    (x_label, y_label), (x_scale, y_scale) = panel.labels, panel.scales
    return {
        "number": panel.first("panel_order"),
        "kind": panel.kind,
        "title": panel.title,
        "goal": panel.goal,
        "x": {"label": x_label, "scale": x_scale},
        "y": {"label": y_label, "scale": y_scale},
    }


def _type(kind: pl.DataType) -> str:
    """What kind of value a column holds, in the words of JSON."""
    if kind.is_numeric():
        return "number"
    return "boolean" if kind == pl.Boolean else "string"
