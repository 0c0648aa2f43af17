"""The caption of a figure: what a point is, where it comes from, and what is missing."""

from collections.abc import Iterator, Sequence

import polars as pl

from dbtool import __version__
from dbtool.core.errors import counted
from dbtool.figures.kinds import RENDERERS, goal_of, panels_of
from dbtool.figures.names import readable, sentence
from dbtool.figures.panels import Panel, Renderer
from dbtool.figures.points import Points, past
from dbtool.figures.specs import FigureSpec

MOST_RELEASES = 3  # the legend names more releases than this, and the terminal what they lack
MOST_NAMED = 10  # the CSV of points has the names of more missing panels than this
_VERSION = f"dbtool\N{NO-BREAK SPACE}{__version__}"


def caption_of(points: Points, spec: FigureSpec) -> list[str]:
    """Return the paragraphs of the full caption, which can be read without the picture.

    They say what a point is; the release, goal, trials and version; what bands mean, what could not
    be drawn, what is missing, and the commands that would fill it.
    """
    panels, rows = panels_of(points, spec), points.rows
    workloads = rows["workload"].drop_nulls().unique()
    workload = f"workload: {workloads.item(0)}" if len(workloads) == 1 else ""
    trials = _trials(points)
    if trials:
        is_counted = any(renderer.counts_diverged for renderer, _ in _kinds(rows))
        trials += f", diverged ones {'' if is_counted else 'not '}counted"
    facts = [_releases(points), workload, trials, _goals(points), _VERSION]
    first = " ".join([spec.question, *_points(points, panels)])
    unit = "setting" if points.has_replicates else "trial"
    notes = [note for kind, of_kind in _kinds(rows) for note in kind.meanings(of_kind, unit)]
    paragraphs = [first, _joined(facts), spec.note, points.first("choice")]
    paragraphs += [*dict.fromkeys(notes), *gaps_of(points, panels)]
    if len(points.missing) <= MOST_RELEASES:
        for release, missing in points.missing.items():
            ways = f" To fill: {missing.ways}." if missing.ways else ""
            what = sentence(f"{missing.what} in release {release}{past(points.request.goal)}")
            more = len(missing.names) - MOST_NAMED
            names = [*missing.names[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])]
            paragraphs.append(f"{what}: {'; '.join(names)}.{ways}")
    return [part for part in paragraphs if part]


def caption_text(points: Points, spec: FigureSpec) -> str:
    """Return the full caption as the text of a file."""
    return "\n\n".join(caption_of(points, spec)) + "\n"


def short_caption(points: Points, spec: FigureSpec, panels: Sequence[Panel]) -> list[str]:
    """Return the sentences of the caption in the picture, the most important first."""
    missing, in_a_row = points.missing or gaps_of(points, panels), points.request.sustained
    often = f"{in_a_row} evaluations in a row past the goal" if in_a_row > 1 else ""
    searched = points.searches[0] if len(points.searches) == 1 else ""
    facts = [_releases(points), searched, _trials(points), often, _VERSION]
    pointer = "The CSV beside it says what is missing." if missing else ""
    meanings = _points(points, panels)
    parts = [f"{_joined(facts)}.", pointer, spec.note, points.first("choice")]
    # Those of several kinds take many words.
    parts = [*meanings, *parts] if len(meanings) == 1 else [*parts, *meanings]
    return [part for part in parts if part]


def gaps_of(points: Points, panels: Sequence[Panel]) -> list[str]:
    """Return sentences on what of the points is not drawn, and why."""
    found = [note for renderer, rows in _kinds(points.rows) for note in renderer.gaps(rows)]
    if points.lone:
        lone = points.rows.filter(pl.col("panel_order").is_in(points.lone))["panel"]
        names = "; ".join(map(readable, lone.unique(maintain_order=True)))
        found.append(f"Not drawn, for want of a second point: {names}.")
    hidden = dict.fromkeys(label for panel in panels for label in panel.hidden)
    if hidden:
        found.append(f"Drawn once where points are those of more trials: {', '.join(hidden)}.")
    if len(points.missing) > MOST_RELEASES:
        what = next(iter(points.missing.values())).what
        curves = counted(sum(len(missing.names) for missing in points.missing.values()), "curve")
        releases = counted(len(points.missing), "release")
        found.append(sentence(f"{what} of {curves} of {releases}."))
    return list(dict.fromkeys(found))


def _kinds(rows: pl.DataFrame) -> Iterator[tuple[Renderer, pl.DataFrame]]:
    for (kind,), of_kind in rows.group_by("kind", maintain_order=True):
        yield RENDERERS[kind], of_kind


def _joined(facts: Sequence[str]) -> str:
    return "\N{NO-BREAK SPACE}· ".join(fact for fact in facts if fact)


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


def _points(points: Points, panels: Sequence[Panel]) -> list[str]:
    """Return a sentence on the meaning of a point for each kind of panel."""
    if all(panel.first("workload") is None for panel in panels):
        return ["The curves follow from formulas; no trial is drawn."]
    unit = "setting (by the median of its replicates)" if points.has_replicates else "trial"
    titles: dict[str, list[str]] = {}
    for panel in panels:
        titles.setdefault(panel.renderer.point.format(unit), []).append(
            f"\N{LEFT DOUBLE QUOTATION MARK}{panel.title}\N{RIGHT DOUBLE QUOTATION MARK}"
        )
    if len(titles) == 1:
        return [*titles]
    return [
        f"In {', '.join(where)}, {point[0].lower()}{point[1:]}" for point, where in titles.items()
    ]


def _releases(points: Points) -> str:
    """Return the releases; of so many that the legend alone names them, their number."""
    if len(points.releases) > MOST_RELEASES:
        return counted(len(points.releases), "release")
    return f"Release: {', '.join(points.releases)}" if points.releases else ""


def _trials(points: Points) -> str:
    """Return the numbers of trials of a study; "" without a study."""
    trials = points.rows["trials"].drop_nulls()
    if trials.is_empty():
        return ""
    least, most = (int(str(number)) for number in (trials.min(), trials.max()))
    return f"{'' if least == most else f'{least:,} to '}{counted(most, 'trial')} a study"


def _goals(points: Points) -> str:
    rows = points.rows
    columns = pl.selectors.by_name(
        "metric", "goal_metric", "goal", "goal_inclusive", require_all=False
    )
    goals = {goal_of(row) for row in rows.select(columns).unique().iter_rows(named=True)} - {""}
    if not goals:
        return ""
    in_a_row = points.request.sustained
    often = f", at {in_a_row} evaluations in a row" if in_a_row > 1 else ""
    return (f"goal: {goals.pop()}" if len(goals) == 1 else "goals as in the panels") + often
