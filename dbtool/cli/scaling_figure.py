"""The figure of what the command about scaling found."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from dbtool.cli.messages import tell
from dbtool.cli.plotting import writing
from dbtool.figures.findings import Findings, FoundSize
from dbtool.figures.plot import write_figure
from dbtool.figures.points import NoDataError, Request, read_points
from dbtool.figures.specs import find_figure, format_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dbtool.analysis.answers import Answer
    from dbtool.analysis.critical import Estimate
    from dbtool.analysis.scaling import Scaling, Settings
    from dbtool.analysis.tables import ScalingReport
    from dbtool.figures.points import Points
    from dbtool.store.releases import Releases

STEPS = find_figure("steps")
TITLE = "How far larger batches help"
# A curve is drawn through so many points.
_POINTS = 200
# Critical batch sizes nearer to each other than this are drawn once.
_ALIKE = 0.01


def write_scaling(found: ScalingReport, file: Path) -> None:
    """Draws the steps to result of each workload, a panel each, with what was found of them.

    Writes the points beside the picture, as CSV, and tells both files' names.

    Args:
        found: see `points_of`.
        file: see `dbtool.figures.specs.format_of`.

    Raises:
        NoDataError: no study has steps to result.
        DbtoolError: the file cannot be written.
    """
    spec = msgspec.structs.replace(STEPS, name=file.stem, query=STEPS.name, title=TITLE)
    points = points_of(found)
    with writing(file.parent):
        for path in write_figure(points, spec, file.parent, [format_of(file), "csv"]):
            tell(str(path))


def points_of(found: ScalingReport) -> Points:
    """The points of the figure of steps, a panel a workload, and what was found of each.

    Args:
        found: of a database.

    Raises:
        ValueError: it is of a table.
        NoDataError: no study has steps to result.
    """
    if found.db is None:
        raise ValueError("a table of steps has no points")
    panels: list[Points] = []
    for answer in found.answers:
        try:
            panels.append(_panel(found.db, answer, found.settings, len(panels) + 1))
        except NoDataError as error:
            tell(f"left out: {error}")
    if not panels:
        raise NoDataError("no study has steps to result to draw")
    releases = list(dict.fromkeys(panel.release for panel in panels))
    orders = {name: order for order, name in enumerate(releases, 1)}
    rows = pl.concat([panel.rows for panel in panels], how="diagonal_relaxed")
    rows = rows.with_columns(pl.col("release").replace_strict(orders).alias("release_order"))
    return replace(
        panels[0],
        rows=rows,
        left_out=rows.clear(),
        releases=releases,
        sql=";\n".join(panel.sql for panel in panels),
        findings={order: panel.findings[order] for order, panel in enumerate(panels, 1)},
    )


def _panel(db: Releases, answer: Answer, settings: Settings, order: int) -> Points:
    """The points of a workload, with what was found of it beside each."""
    request = Request(
        answer.release,
        settings.trials,
        answer.goal,
        (str(answer.workload),),
        metric=answer.metric,
    )
    points = read_points(db, STEPS, request)
    fitted = _fitted(answer.scaling)
    findings = _findings(answer.scaling, fitted)
    columns = findings.columns() | {"fitted": None, "level": settings.level}
    rows = points.rows.with_columns(
        pl.lit(order).alias("panel_order"),
        *(pl.lit(value, pl.Float64).alias(name) for name, value in columns.items()),
    )
    if fitted:
        steps = [fitted(float(size)) for size in rows["x"]]
        rows = rows.with_columns(pl.Series("fitted", steps, pl.Float64))
    return replace(points, rows=rows, findings={order: findings})


def _findings(scaling: Scaling, fitted: Callable[[float], float] | None) -> Findings:
    curve: list[tuple[float, float]] = []
    if fitted:
        ends = scaling.steps[0].batch_size, scaling.steps[-1].batch_size
        curve = [(size, fitted(size)) for size in np.geomspace(*ends, _POINTS).tolist()]
    tradeoff, overhead, regimes = scaling.tradeoff, scaling.overhead, scaling.regimes
    if tradeoff and overhead and _are_alike(tradeoff, overhead):
        overhead = None
    named = [
        ("perfect to", True, regimes.perfect_to if regimes else None),
        ("tradeoff", False, tradeoff),
        ("overhead", False, overhead),
        ("useful to", True, regimes.useful_to if regimes else None),
    ]
    sizes = [
        FoundSize(
            name,
            is_knee,
            found.value if found.verdict == "identified" else None,
            found.low,
            found.high,
        )
        for name, is_knee, found in named
        if found and found.verdict != "not_identified"
    ]
    known = [(each.batch_size, each.lower, each.upper) for each in scaling.steps]
    return Findings(curve, known, sizes)


def _are_alike(one: Estimate, other: Estimate) -> bool:
    pairs = zip(
        (one.value or 0.0, one.low, one.high),
        (other.value or 0.0, other.low, other.high),
        strict=True,
    )
    return all(math.isclose(first, second, rel_tol=_ALIKE) for first, second in pairs)


def _fitted(scaling: Scaling) -> Callable[[float], float] | None:
    """The steps that a batch size needs by the curve of most weight; None where none was fitted."""
    if scaling.regimes and scaling.regimes.pieces:
        return scaling.regimes.pieces.at
    return scaling.curve.at if scaling.curve else None
