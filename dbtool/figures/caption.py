"""The caption of a figure: what a point is, where it comes from, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dbtool import __version__
from dbtool.core.errors import counted
from dbtool.figures.kinds import RENDERERS, goal_of, panels_of
from dbtool.figures.names import readable, sentence
from dbtool.figures.points import names_in_short, past

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.figures.panels import Panel
    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec

# The legend names more releases than this, and the terminal what they lack.
MOST_RELEASES = 3


def caption_of(points: Points, spec: FigureSpec) -> list[str]:
    """Return the paragraphs of the caption, which can be read without the picture.

    They say what a point is; the release, goal, trials and version; what could not be drawn, what
    is missing, and the commands that would fill it.
    """
    point, *rest = facts_and_gaps(points, panels_of(points, spec), commands=True)
    return [f"{spec.question} {point}", *rest]


def title_of(points: Points, spec: FigureSpec) -> str:
    """Return the heading, with the subject of all panels where the rows have one."""
    subject = points.first("subject")
    return f"{spec.title}: {readable(subject)}" if subject else spec.title


def alternative_text(points: Points, spec: FigureSpec) -> str:
    """Return what the picture shows, for readers who cannot see it."""
    panels = [readable(name) for name in points.rows["panel"].unique(maintain_order=True)]
    series = points.rows["series"].unique(maintain_order=True).to_list()
    count = "one panel" if len(panels) == 1 else f"{len(panels)} panels"
    curves = f"; series: {', '.join(map(readable, series))}" if 1 < len(series) <= 12 else ""
    return f"{title_of(points, spec)}, {count}: {'; '.join(panels)}{curves}."


def facts_and_gaps(points: Points, panels: Sequence[Panel], *, commands: bool) -> list[str]:
    """Return the caption of points without the figure's question.

    With `commands` it names those that would fill what is missing.
    """
    rows = points.rows
    facts = [
        _releases(points),
        _workload(rows),
        _trials(rows),
        _goals(points),
        f"dbtool\N{NO-BREAK SPACE}{__version__}",
    ]
    notes = [
        note
        for (kind,), of_kind in rows.group_by("kind", maintain_order=True)
        for note in RENDERERS[kind].notes(of_kind)
    ]
    origin = "\N{NO-BREAK SPACE}· ".join(fact for fact in facts if fact)
    choice = points.first("choice") or ""
    paragraphs = [_points(panels), origin, choice, *dict.fromkeys(notes)]
    if len(points.missing) > MOST_RELEASES:
        names = sum(len(missing.names) for missing in points.missing.values())
        what = next(iter(points.missing.values())).what
        where = f"{what} of {counted(names, 'curve')} of {counted(len(points.missing), 'release')}."
        return [*filter(None, paragraphs), sentence(where)]
    for release, missing in points.missing.items():
        ways = f" To fill: {missing.ways}." if commands and missing.ways else ""
        what = sentence(f"{missing.what} in release {release}{past(points.goal)}")
        paragraphs.append(f"{what}: {names_in_short(missing.names)}.{ways}")
    return [part for part in paragraphs if part]


def _points(panels: Sequence[Panel]) -> str:
    """Return the meaning of a point, for each kind of panel."""
    if all(panel.first("workload") is None for panel in panels):
        return "The curves follow from formulas; no trial is drawn."
    titles: dict[str, list[str]] = {}
    for panel in panels:
        titles.setdefault(panel.renderer.point, []).append(
            f"\N{LEFT DOUBLE QUOTATION MARK}{panel.title}\N{RIGHT DOUBLE QUOTATION MARK}"
        )
    if len(titles) == 1:
        return next(iter(titles))
    return " ".join(
        f"In {', '.join(where)}, {point[0].lower()}{point[1:]}" for point, where in titles.items()
    )


def _range(numbers: pl.Series) -> str:
    low, high = (int(str(number)) for number in (numbers.min(), numbers.max()))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _releases(points: Points) -> str:
    """Return the releases; of so many that the legend alone names them, their number."""
    if len(points.releases) > MOST_RELEASES:
        return counted(len(points.releases), "release")
    return f"Release: {', '.join(points.releases)}" if points.releases else ""


def _workload(rows: pl.DataFrame) -> str:
    names = rows["workload"].drop_nulls().unique()
    return f"workload: {names.item(0)}" if names.len() == 1 else ""


def _trials(rows: pl.DataFrame) -> str:
    """Return the numbers of trials that count and that were requested; "" without a study."""
    counted = rows.filter(pl.col("trials").is_not_null())
    if counted.is_empty():
        return ""
    used = _range(counted["trials"])
    fewer = counted.filter(pl.col("trials") < pl.col("asked_trials"))
    noun = "trial" if used == "1" else "trials"
    wanted = "" if fewer.is_empty() else f" of the {_range(fewer['asked_trials'])} asked for"
    return f"n = {used} {noun} a study{wanted}"


def _goals(points: Points) -> str:
    rows = points.rows
    columns = pl.selectors.by_name(
        "metric", "goal_metric", "goal", "goal_inclusive", require_all=False
    )
    goals = {goal_of(row) for row in rows.select(columns).unique().iter_rows(named=True)} - {""}
    if not goals:
        return ""
    often = f", at {points.sustained} evaluations in a row" if points.sustained > 1 else ""
    return (f"goal: {goals.pop()}" if len(goals) == 1 else "goals as in the panels") + often
