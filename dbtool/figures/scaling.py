"""The figure of how far larger batches help: steps to result with what an analysis found."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from dbtool.figures.drawing import draw
from dbtool.figures.findings import Findings, FoundSize
from dbtool.figures.plot import Plot, require_width
from dbtool.figures.points import NoDataError, Request, read_points
from dbtool.figures.specs import find_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbtool.analysis.answers import Answer
    from dbtool.analysis.critical import Estimate
    from dbtool.analysis.scaling import Scaling, Settings
    from dbtool.figures.points import Points
    from dbtool.store.releases import Releases

STEPS_FIGURE = find_figure("steps")
SCALING = msgspec.structs.replace(
    STEPS_FIGURE, name="scaling", query=STEPS_FIGURE.name, title="How far larger batches help"
)
"""The figure of steps as it is drawn with what was found."""
# A curve is drawn through so many points.
_POINTS = 200
# Critical batch sizes nearer to each other than this are drawn once.
_ALIKE = 0.01


def plot_scaling(
    db: Releases,
    answers: Sequence[Answer],
    settings: Settings,
    width: float | None = None,
    on_left_out: Callable[[str], None] = lambda _reason: None,
) -> Plot:
    """Draw the steps to result of each workload in a panel, with the results of analysis.

    Args:
        db: the database that the answers are of.
        answers: one a workload.
        settings: those they were made with.
        width: in inches; None: as wide as suits its panels.
        on_left_out: called with the reason why a workload has no panel.

    Raises:
        NoDataError: no study has steps to result.
    """
    require_width(width)
    points = scaling_points(db, answers, settings, on_left_out)
    return Plot(draw(points, SCALING, width), points, SCALING)


def scaling_points(
    db: Releases,
    answers: Sequence[Answer],
    settings: Settings,
    on_left_out: Callable[[str], None] = lambda _reason: None,
) -> Points:
    """Return the points of the figure of steps, a panel a workload, with the results of analysis.

    Args:
        db: the database that the answers are of.
        answers: one a workload.
        settings: those they were made with.
        on_left_out: called with the reason why a workload has no panel.

    Raises:
        NoDataError: no study has steps to result.
    """
    panels: list[Points] = []
    for answer in answers:
        try:
            panels.append(_panel(db, answer, settings, len(panels) + 1))
        except NoDataError as error:
            on_left_out(f"left out: {error}")
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
        missing={},
        releases=releases,
        sql=";\n".join(panel.sql for panel in panels),
        findings={order: panel.findings[order] for order, panel in enumerate(panels, 1)},
    )


def _panel(db: Releases, answer: Answer, settings: Settings, order: int) -> Points:
    """Return the points of a workload, with the results of its analysis as columns."""
    request = Request(
        answer.release,
        settings.trials,
        answer.goal,
        (str(answer.workload),),
        metric=answer.metric,
    )
    points = read_points(db, STEPS_FIGURE, request)
    fitted = answer.scaling.curve.at if answer.scaling.curve else None
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
    tradeoff, overhead = scaling.tradeoff, scaling.overhead
    if tradeoff and overhead and _are_alike(tradeoff, overhead):
        overhead = None
    named = [
        ("perfect to", True, scaling.perfect_to),
        ("tradeoff", False, tradeoff),
        ("overhead", False, overhead),
        ("useful to", True, scaling.useful_to),
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
