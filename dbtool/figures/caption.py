"""The words under a figure: what a point is, where it comes from, what is marked and missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dbtool import __version__
from dbtool.figures import gaps
from dbtool.figures.kinds import RENDERERS
from dbtool.figures.legend import key_of
from dbtool.figures.panels import panels_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.figures.panels import Panel
    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec


def caption_of(points: Points, spec: FigureSpec) -> list[str]:
    """The caption's paragraphs, which can be read without the picture.

    They say what a point is; the release, goal, trials and version; what is marked and how; what
    could not be drawn, what is missing, and the command that would fill it.
    """
    panels = panels_of(points, spec)
    marks = "; ".join(f"{entry.shape}: {entry.text}" for entry in key_of(panels))
    point, facts, *rest = facts_and_gaps(points, panels, spec)
    marked = f"{marks[0].upper()}{marks[1:]}." if marks else ""
    return [part for part in (f"{spec.question} {point}", marked, facts, *rest) if part]


def facts_and_gaps(points: Points, panels: Sequence[Panel], spec: FigureSpec) -> list[str]:
    """The caption's paragraphs under a picture, whose key tells the marks."""
    rows = points.rows
    kinds = dict.fromkeys(panel.kind for panel in panels)
    facts = [
        f"Release: {', '.join(points.releases)}" if points.releases else "",
        _workload(rows),
        _trials(rows),
        _goals(rows),
        f"dbtool\N{NO-BREAK SPACE}{__version__}",
    ]
    notes = [
        note
        for kind in kinds
        for note in RENDERERS[kind].notes(rows.filter(pl.col("kind") == kind))
    ]
    told = " · ".join(fact for fact in facts if fact)
    return [_points(panels), told, *dict.fromkeys(notes), *_left_out(points, spec)]


def _points(panels: Sequence[Panel]) -> str:
    """What a point is; where panels are of several kinds, for each kind."""
    kinds = dict.fromkeys(panel.kind for panel in panels)
    if len(kinds) == 1:
        return _point(panels)
    told = []
    for kind in kinds:
        those = [panel for panel in panels if panel.kind == kind]
        point = _point(those)
        titles = ", ".join(
            f"\N{LEFT DOUBLE QUOTATION MARK}{p.title}\N{RIGHT DOUBLE QUOTATION MARK}" for p in those
        )
        told.append(f"In {titles}, {point[0].lower()}{point[1:]}")
    return " ".join(told)


def _point(panels: Sequence[Panel]) -> str:
    """What a point is in panels of one kind."""
    if all(panel.first("workload") is None for panel in panels):
        return "The curves follow from formulas; no trial is drawn."
    return RENDERERS[panels[0].kind].point


def left_out_names(points: Points) -> list[str]:
    """What no release has data of: whole panels by their titles, else "PANEL (CURVE, …)"."""
    return gaps.left_out_names(points.rows, points.left_out)


def _range(numbers: pl.Series) -> str:
    low, high = (int(str(number)) for number in (numbers.min(), numbers.max()))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _workload(rows: pl.DataFrame) -> str:
    """The workload, where there is but one."""
    names = rows["workload"].drop_nulls().unique()
    return f"workload: {names.item(0)}" if names.len() == 1 else ""


def _trials(rows: pl.DataFrame) -> str:
    """How many trials count, of how many that are asked for; "" where no study is drawn."""
    counted = rows.filter(pl.col("trials").is_not_null())
    if counted.is_empty():
        return ""
    used = _range(counted["trials"])
    fewer = counted.filter(pl.col("trials") < pl.col("asked_trials"))
    noun = "trial" if used == "1" else "trials"
    asked = "" if fewer.is_empty() else f" of the {_range(fewer['asked_trials'])} asked for"
    return f"{used} {noun} a study{asked}"


def _goals(rows: pl.DataFrame) -> str:
    goals = rows["goal_text"].drop_nulls().unique(maintain_order=True).to_list()
    goals = [goal for goal in goals if goal]
    if not goals:
        return ""
    return f"goal: {goals[0]}" if len(goals) == 1 else "goals as in the panels"


def _left_out(points: Points, spec: FigureSpec) -> list[str]:
    """What each release lacks, a paragraph each, and the commands that would fill it."""
    paragraphs = []
    for (release,), missing in points.left_out.group_by("release", maintain_order=True):
        held = points.rows.filter(pl.col("release") == release)
        names = gaps.left_out_names(held, missing)
        commands = gaps.what_fills(
            missing["workload"].drop_nulls(), [str(release)], in_published=spec.in_published
        )
        ways = f" To fill: {commands}." if commands else ""
        told = gaps.few_of(names)
        paragraphs.append(f"No data in release {release}: {told}.{ways}")
    return paragraphs
