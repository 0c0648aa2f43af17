"""The points of the figures of curves by the authors' rules, from the files of an archive.

What the figures' SQL is compared with; shares nothing with the project's code.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from . import rules
from .rules import StudyFrames

Point: TypeAlias = dict[str, Any]
Releases: TypeAlias = Mapping[str, Iterable[StudyFrames]]


@dataclass(frozen=True)
class Curve:
    """A curve that a figure asks for.

    Attributes:
        panel: its panel's place, from 1.
        series: its place in the panel, from 1.
        name: the series' name.
        workload: the path in the archive.
        metric: as the files name it, such as val/classification_error.
        goal: a decimal; None for figures without one.
        trials: how many COMPLETE ones count; None: all.
        normalise_at: the batch size whose steps are 1.
        smoothing: the label smoothing of the trials that are looked at; None: of any.
        most_steps: the budget of steps.
        most_examples: the budget of steps times batch size.
        inclusive: whether a value equal to the goal reaches it.
    """

    panel: int
    series: int
    name: str
    workload: str
    metric: str
    goal: str | None = None
    trials: int | None = 100
    normalise_at: int | None = None
    smoothing: float | None = None
    most_steps: int | None = None
    most_examples: float | None = None
    inclusive: bool = False

    @property
    def first(self) -> int:
        """A number of trials that no study has more of than count."""
        return 10**9 if self.trials is None else self.trials

    def takes(self, parameters: Mapping[str, float]) -> bool:
        """Whether the curve looks at a trial with these metaparameters."""
        return self.smoothing is None or parameters.get("label_smoothing") == self.smoothing


def steps_points(curves: Sequence[Curve], releases: Releases) -> list[Point]:
    """Steps to result, a point a curve, release and batch size."""
    points = _points(curves, releases, _steps_point)
    for curve in _curves_of(points):
        first = next((point for point in curve if point["y"] is not None), None)
        for point in curve:
            point["perfect"] = first and first["y"] * first["x"] / point["x"]
    return _without_study(points)


def normalised_points(curves: Sequence[Curve], releases: Releases) -> list[Point]:
    """Steps to result divided by the curve's own at one batch size."""
    points = _points(curves, releases, _steps_point)
    for curve in _curves_of(points):
        named = curve[0]["curve"].normalise_at
        at = _shared(points, curve[0]["panel_order"], named) or named
        own = next((point["steps"] for point in curve if point["x"] == at), None)
        for point in curve:
            point |= {
                "y": point["steps"] / own if own and point["steps"] is not None else None,
                "perfect": at and at / point["x"],
                "normalise_at": at,
            }
    return _without_study(points)


def metaparameter_points(curves: Sequence[Curve], releases: Releases, name: str) -> list[Point]:
    """A metaparameter of the trial that reached the goal first, and the rules of scaling."""
    points = _points(curves, releases, _steps_point)
    for point in points:
        if point["x"] is not None:
            point.update(_metaparameter(point, name))
    for curve in _curves_of(points):
        first = next((point for point in curve if point["y"] is not None), None)
        for point in curve:
            ratio = point["x"] / first["x"] if first and name != "momentum" else None
            point["linear"] = ratio and first and first["y"] * ratio
            point["square_root"] = ratio and first and first["y"] * math.sqrt(ratio)
    return _without_study(points)


def best_points(curves: Sequence[Curve], releases: Releases) -> list[Point]:
    """The best values within budgets; a curve without a study that counts has one without x."""
    return _without_study(_points(curves, releases, _best_point, _counts))


def _points(
    curves: Sequence[Curve],
    releases: Releases,
    measure: Callable[[Curve, StudyFrames], Point],
    counts: Callable[[Curve, StudyFrames], bool] = lambda _curve, _study: True,
) -> list[Point]:
    points: list[Point] = []
    for curve in sorted(curves, key=lambda curve: (curve.panel, curve.series)):
        for order, (release, studies) in enumerate(releases.items(), 1):
            shared = {
                "curve": curve,
                "panel_order": curve.panel,
                "series_order": curve.series,
                "series": curve.name,
                "release": release,
                "release_order": order,
                "workload": curve.workload,
                "metric": curve.metric.replace("/", "_"),
                "asked_trials": curve.trials,
            }
            held = [
                study
                for study in studies
                if study.workload == curve.workload and counts(curve, study)
            ]
            held.sort(key=lambda study: int(study.study["batch_size"]))
            if not held:
                points.append({**shared, "x": None, "y": None, "trials": None})
            for study in held:
                complete = study.trials[study.trials["status"] == "COMPLETE"]
                points.append(
                    shared
                    | {"x": study.study["batch_size"], "study": study}
                    | {"trials": min(curve.first, len(complete))}
                    | measure(curve, study)
                )
    return points


def _steps_point(curve: Curve, study: StudyFrames) -> Point:
    goal = Decimal(curve.goal or 0) + (Decimal("1e-12") if curve.inclusive else 0)
    found = rules.steps_to_result(
        study, curve.metric, str(goal), first=curve.first, taken=curve.takes
    )
    step, trial_id = found or (None, None)
    return {"y": step, "steps": step, "trial_id": trial_id, **_parameters(study, trial_id)}


def _best_point(curve: Curve, study: StudyFrames) -> Point:
    found = rules.best_row(
        study, curve.metric, first=curve.first, taken=curve.takes,
        most_steps=curve.most_steps, most_examples=curve.most_examples,
    )  # fmt: skip
    best, step, trial_id = found or (None, None, None)
    value = None if best is None else float(best)
    return {"y": value, "step": step, "trial_id": trial_id, **_parameters(study, trial_id)}


def _counts(curve: Curve, study: StudyFrames) -> bool:
    """Whether a study trains long enough to count toward a budget's curve."""
    steps, examples = curve.most_steps or 0, curve.most_examples or 0
    enough: bool = study.study["train_steps"] >= max(steps, examples / study.study["batch_size"])
    return enough


def _parameters(study: StudyFrames, trial_id: int | None) -> Point:
    if trial_id is None:
        return {"learning_rate": None, "momentum": None}
    (parameters,) = study.trials[study.trials["trial_id"] == trial_id]["parameters"]
    return {name: parameters.get(name) for name in ("learning_rate", "momentum")}


def _metaparameter(point: Point, name: str) -> Point:
    rate, momentum = point["learning_rate"], point["momentum"]
    space = point["study"].study["parameter_configs"]
    config = space.get("momentum" if name == "momentum" else "learning_rate")
    low: float | None = config["min_value"] if config else None
    high: float | None = config["max_value"] if config else None
    effective = None if rate is None else rate / (1 - (momentum or 0))
    if name == "momentum":
        value = None if momentum is None else 1 - momentum
        low, high = (None if end is None else 1 - end for end in (high, low))
        border = _at_border(momentum, config)
    elif name == "learning_rate":
        value, border = rate, _at_border(rate, config)
    else:
        value, low, high = effective, None, None
        border = _at_border(rate, config) or _at_border(momentum, space.get("momentum"))
    return {"y": value, "low": low, "high": high, "at_border": border}


def _at_border(value: float | None, config: Mapping[str, Any] | None) -> bool:
    """Whether less than a tenth of the searched range lies on one side of the value."""
    if value is None or config is None:
        return False

    def place(at: float) -> float:
        if config["scale"].startswith("REVERSE_LOG"):
            return -math.log(1 - at)
        return math.log(at) if config["scale"].startswith("LOG") else at

    low, high = place(config["min_value"]), place(config["max_value"])
    return not low + (high - low) / 10 <= place(value) <= high - (high - low) / 10


def _curves_of(points: Sequence[Point]) -> list[list[Point]]:
    """The points that have a batch size, a list a curve and release."""
    curves: dict[tuple[int, int, int], list[Point]] = {}
    for point in points:
        if point["x"] is not None:
            key = (point["panel_order"], point["series_order"], point["release_order"])
            curves.setdefault(key, []).append(point)
    return list(curves.values())


def _shared(points: Sequence[Point], panel: int, named: int | None) -> int | None:
    """Where most curves have steps; of several the named, else by points, else the smallest."""
    in_panel = [point for point in points if point["panel_order"] == panel]
    curves = [
        [point["x"] for point in curve if point.get("steps")] for curve in _curves_of(in_panel)
    ]

    def order(size: int) -> tuple[int, bool, int, int]:
        there = [sizes for sizes in curves if size in sizes]
        return -len(there), size != named, -sum(map(len, there)), size

    return min((size for sizes in curves for size in sizes), key=order, default=None)


def _without_study(points: Iterable[Point]) -> list[Point]:
    return [
        {name: value for name, value in point.items() if name not in {"curve", "study"}}
        for point in points
    ]
