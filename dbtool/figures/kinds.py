"""The kinds of panels: which renderer draws each, and the panels that points make.

A renderer computes no result: the SQL has.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dbtool.figures.forest import ForestRenderer, UnitsRenderer
from dbtool.figures.lines import LineRenderer
from dbtool.figures.names import goal_words, readable, sentence
from dbtool.figures.panels import Curve, Panel, Renderer
from dbtool.figures.points import Points, first_of
from dbtool.figures.specs import FigureSpec, PanelKind
from dbtool.figures.style import MARKERS, colours, sequence
from dbtool.figures.trials import CurveRenderer, GridRenderer, ScatterRenderer

# In braces is the trial, or the setting where there are replicates.
_FEWEST = "the fewest steps to the goal of any {}"

RENDERERS: Mapping[PanelKind, Renderer] = {
    "steps_to_result": LineRenderer(
        f"A point is {_FEWEST} of a study, which is the search at one batch size.",
        guides=("perfect",),
    ),
    "normalised": LineRenderer(
        f"A point is {_FEWEST} of a study, divided by those at the batch size named above the "
        "panel.",
        labels=("batch size", "relative steps to result"),
        guides=("perfect",),
        band="The median of the best of {} divided likewise, lies in the band with a chance of "
        "95 %, by order statistics. An end at the point itself is no bound.",
    ),
    "metaparameter": LineRenderer(
        "A point is the metaparameter of the {} that reached the goal first, of the search at one "
        "batch size.",
        labels=("batch size", "value"),
        scales=("log2", "log10"),
        guides=("linear", "square_root"),
        band="The band is the range among the trials between which, by their steps, the median of "
        "the best of {} lies with a chance of 95 %.",
        more="",
        room_below=0.3,
    ),
    "best": LineRenderer(
        "A point is the best value measured by any trial of the search at one batch size.",
        labels=("batch size", "best {}"),
        scales=("log2", "linear"),
        counts_steps=False,
        equal=False,
        aspects=(0.62, 0.64, 0.8),
    ),
    "against": LineRenderer(
        f"A point is {_FEWEST} of the search at one sparsity and batch size.",
        labels=("sparsity (%)", "steps to result"),
        scales=("linear", "log2"),
        # Percentages are read against the whole, also where few of them have been measured.
        whole=(0.0, 100.0),
        equal=False,
        aspects=(0.76, 0.82, 0.95),
    ),
    "table": LineRenderer(
        "A point is the steps of a table; the median, where a batch size has replicates.",
        guides=("perfect",),
    ),
    "critical": LineRenderer(
        "A point is the critical batch size (tradeoff) of the searches for one goal, the band its "
        "interval.",
        labels=("goal of {}", "critical batch size"),
        scales=("log10", "log10"),
        counts_steps=False,
        equal=False,
    ),
    "scatter": ScatterRenderer(),
    "grid": GridRenderer(),
    "curves": CurveRenderer(),
    "forest": ForestRenderer(),
    "units": UnitsRenderer(),
}


MOST_GOALS = 4  # goals of more curves than this would be a paragraph over the panel


def panels_of(points: Points, spec: FigureSpec) -> list[Panel]:
    """Return the panels to draw, in the order of the query.

    That is those with data, and where some have curves not those of a single point.
    """
    drawn = points.rows.filter(~pl.col("panel_order").is_in(points.lone))
    columns = ("panel_order", "series", "series_order")
    every = pl.concat([points.rows.select(columns), points.left_out.select(columns)])
    names: dict[int, dict[str, int]] = {}
    for panel, series, order in every.iter_rows():
        names.setdefault(panel, {})[series] = order
    # In the order of the figure, so that a series has one shape in all panels, and its own in each.
    places: dict[str, int] = {}
    for place, name in enumerate(dict.fromkeys(itertools.chain(*names.values()))):
        beside = {places.get(other, -1) for own in names.values() if name in own for other in own}
        shapes = (each % len(MARKERS) for each in range(place, place + len(MARKERS)))
        places[name] = next((each for each in shapes if each not in beside), place % len(MARKERS))
    return [
        _panel(frame, spec, points, _colours(frame, names), places)
        for frame in drawn.partition_by("panel_order", maintain_order=True)
    ]


def _panel(
    frame: pl.DataFrame,
    spec: FigureSpec,
    points: Points,
    colour_of: Mapping[str, str],
    places: Mapping[str, int],
) -> Panel:
    curves = []
    for part in frame.partition_by("series_order", "release_order", maintain_order=True):
        name, release, order = part.select("series", "release", "release_order").row(0)
        look = readable(name), colour_of[name], places[name]
        curves.append(Curve(name, *look, release, order - 1, part))
    renderer = RENDERERS[frame.item(0, "kind")]
    later = [curves[place:] for place in range(1, len(curves) + 1)]
    pairs = zip(curves, later, strict=True)
    hidden = [curve for curve, others in pairs if any(_covers(curve, each) for each in others)]
    curves = [curve for curve in curves if curve not in hidden]
    title = sentence(readable(frame.item(0, "panel")))
    optimizer = _optimizer(frame, f"{title} {points.first('subject') or ''}")
    x_label, y_label = (
        label.format(readable(first_of(frame, "metric") or "")) for label in renderer.labels
    )
    x_scale, y_scale = renderer.scales
    if first_of(frame, "scale") == "linear":
        y_scale = "linear"
    return Panel(
        kind=frame.item(0, "kind"),
        renderer=renderer,
        title=title,
        goal="; ".join(filter(None, (optimizer, _goals(curves)))),
        labels=(
            sentence(first_of(frame, "x_label") or spec.x_label or x_label),
            sentence(first_of(frame, "y_label") or spec.y_label or y_label),
        ),
        scales=(spec.x_scale or x_scale, spec.y_scale or y_scale),
        curves=curves,
        releases=len(points.releases),
        hidden=[curve.label for curve in hidden],
        findings=points.findings.get(frame.item(0, "panel_order")),
    )


def _covers(curve: Curve, other: Curve) -> bool:
    """Whether a later curve, of more trials of the same studies, has the same points."""
    same, asked = ("release", "workload", "x", "y"), "asked_trials"
    more = curve.column(asked) != other.column(asked)
    return more and curve.columns(*same) == other.columns(*same)


def _optimizer(frame: pl.DataFrame, title: str) -> str:
    """Return the optimizer of all workloads of a panel, unless its title has it or they differ."""
    found = {name.rpartition("/")[2] for name in frame["workload"].drop_nulls()}
    called = readable(found.pop()) if len(found) == 1 else ""
    return "" if called.casefold() in readable(title).casefold() else sentence(called)


def _colours(frame: pl.DataFrame, names: Mapping[int, Mapping[str, int]]) -> dict[str, str]:
    """Return the colours of the series of a panel; `names` are the series of every panel.

    Curves that are left out keep their colours, so that two releases' figures agree; and where
    another panel has all of its series and more, those of that panel hold.
    """
    panel, kind = frame.select("panel_order", "kind").row(0)
    known = max((other for other in names.values() if names[panel].keys() <= other.keys()), key=len)
    ordered = sorted(known, key=lambda name: known[name])
    # Lines without markers are told apart in grey by their lightness alone.
    shades = dict(zip(ordered, sequence(len(ordered)), strict=True))
    return shades if kind == "curves" else colours(ordered)


def goal_of(row: Mapping[str, Any]) -> str:
    """Return the goal of a row in words; "" where it has none."""
    if row["goal"] is None:
        return ""
    metric = row.get("goal_metric") or row["metric"]
    return goal_words(metric, row["goal"], inclusive=bool(row["goal_inclusive"]))


def _goals(curves: Sequence[Curve]) -> str:
    if any(curve.rows["goal"].n_unique() > 1 for curve in curves):
        return "each workload's own goal"
    goals = {curve.label: goal_of(curve.rows.row(0, named=True)) for curve in curves}
    texts = set(goals.values())
    if len(texts) == 1:
        return texts.pop()
    named = any(goal.rpartition(" ")[2] in label.split(" ") for label, goal in goals.items())
    if len(texts) <= MOST_GOALS and not named:
        return "; ".join(f"{label}: {goal}" for label, goal in goals.items())
    # The curves are named by their goals, so that only what they have in common is named.
    shared = {text.rpartition(" ")[0] for text in texts}
    return f"{shared.pop()} the goal" if len(shared) == 1 else ""
