"""Points made up by hand, a few of every kind, with each kind of gap."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dbtool.figures.points import Points, Request, as_points
from dbtool.figures.specs import PanelKind, find_figure
from producers.workloads.registry import WORKLOADS

# A figure of each kind, whose words the points are drawn with.
FIGURE_OF: dict[PanelKind, str] = {
    "steps_to_result": "figure_01",
    "normalised": "figure_03",
    "metaparameter": "figure_08",
    "best": "figure_11",
    "against": "sparsity-against",
    "scatter": "figure_09a",
    "grid": "search-space-transformer",
    "curves": "learning-curves",
}


def point(kind: PanelKind, x: float | None, y: float | None, **more: Any) -> dict[str, Any]:
    """A row with the columns of every figure; `more` replaces and adds."""
    return {
        "panel": "Simple CNN on MNIST", "series": "simple_cnn_base", "x": x, "y": y,
        "panel_order": 1, "series_order": 1, "kind": kind, "release": "made-up", "release_order": 1,
        "workload": "mnist/simple_cnn_base/nesterov_momentum", "goal": 0.01,
        "metric": "val_classification_error", "goal_inclusive": False,
        "trials": 100, "asked_trials": 100,
    } | more  # fmt: skip


def _steps(x: int, y: float | None, **more: Any) -> dict[str, Any]:
    return point("steps_to_result", x, y, steps=y, perfect=640 / x, **more)


def steps_rows(**more: Any) -> list[dict[str, Any]]:
    """Batch size 4 has fewer trials than asked for, and at 16 no trial reached the goal."""
    steps = {1: 640, 2: 320, 4: 200, 8: 180, 16: None}
    return [_steps(x, y, **more | ({"trials": 7} if x == 4 else {})) for x, y in steps.items()]


def banded_rows() -> list[dict[str, Any]]:
    """The third batch size has no bound, the second none below, the fourth both."""
    bounds = {1: (500, 700), 2: (None, 400), 4: (None, None), 8: (150, 200), 16: (None, None)}
    return [
        row | {"best_of": 30, "band_low": low, "band_high": high}
        for row in steps_rows()
        for low, high in [bounds[row["x"]]]
    ]


def series_rows(
    kind: PanelKind, xs: Sequence[float], ys: Mapping[str, Sequence[float | None]], **more: Any
) -> list[dict[str, Any]]:
    """Series over the same x; a value of `more` may be a function of x and y."""
    return [
        point(kind, x, y, series=name, series_order=order)
        | {key: value(x, y) if callable(value) else value for key, value in more.items()}
        for order, (name, values) in enumerate(ys.items(), start=1)
        for x, y in zip(xs, values, strict=True)
    ]


def normalised_rows() -> list[dict[str, Any]]:
    """Two models, relative to batch size 2."""
    ys = {"fc_1024": (2.0, 1.0, 0.5), "simple_cnn_base": (1.9, 1.0, 0.8)}
    steps, perfect = lambda _, y: round(100 * y), lambda x, _: 2 / x
    return series_rows("normalised", (1, 2, 4), ys, steps=steps, perfect=perfect, normalise_at=2)


def metaparameter_rows() -> list[dict[str, Any]]:
    """Batch size 4's learning rate lies at the border of its range, which ends at 10."""
    return [
        point(
            "metaparameter", x, y, steps=None if y is None else 10, linear=0.1 * x,
            square_root=0.1 * x**0.5, low=1e-4, high=10.0, at_border=x == 4,
        )
        for x, y in ((1, 0.1), (2, 0.3), (4, 9.0), (8, None))
    ]  # fmt: skip


def best_rows() -> list[dict[str, Any]]:
    """Two budgets; the larger one has no finite value at batch size 8."""
    ys = {"10k steps": (0.02, 0.03, 0.05), "100k steps": (0.01, 0.01, None)}
    return series_rows("best", (2, 4, 8), ys, goal=None)


def against_rows() -> list[dict[str, Any]]:
    """Two batch sizes at three sparsities; nothing reached the goal at 90 % with the larger one."""
    ys = {"batch size 16": (400, 500, 900), "batch size 256": (50, 60, None)}
    return series_rows("against", (0, 50, 90), ys, steps=lambda _, y: y)


def _trial(kind: PanelKind, outcome: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    order = ["goal achieved", "goal not achieved", "infeasible"].index(outcome) + 1
    named = {"series": outcome, "series_order": order, "best": False, "trials": 5}
    return point(kind, x, y, **named | {"asked_trials": None} | more)


def scatter_rows(**more: Any) -> list[dict[str, Any]]:
    """Five trials in the space of learning rates to 10 and momenta from 0.9."""
    space = {"x_low": 1e-4, "x_high": 10.0, "y_low": 1e-4, "y_high": 0.1, "most_steps": 2000}
    return [
        _trial("scatter", outcome, x, y, **space | {"best": best} | more)
        for outcome, x, y, best in (
            ("goal achieved", 0.1, 0.01, True),
            ("goal achieved", 0.2, 0.05, False),
            ("goal not achieved", 1e-3, 0.02, False),
            ("infeasible", 5.0, 1e-3, False),
            ("infeasible", 8.0, 2e-4, False),
        )
    ]


def grid_rows() -> list[dict[str, Any]]:
    """Learning rates and momenta of four trials at two batch sizes."""
    rows = []
    for order, (name, scale, low, high) in enumerate(
        (("learning rate", "log", 1e-4, 10.0), ("1 - momentum", "reverse_log", 1e-4, 0.1)), start=1
    ):
        shared = {
            "panel": name, "panel_order": order, "y_label": name, "scale": scale,
            "low": low, "high": high,
        }  # fmt: skip
        rows += [
            _trial("grid", "goal achieved", 64, 0.05, **shared | {"best": True}),
            _trial("grid", "goal achieved", 128, 0.02, **shared | {"best": True}),
            _trial("grid", "goal not achieved", 64, 0.001, **shared),
            _trial("grid", "infeasible", 128, 0.08, **shared),
        ]
    return sorted(rows, key=lambda row: (row["panel_order"], row["series_order"]))


def curve_rows() -> list[dict[str, Any]]:
    """Two batch sizes' curves; each is read off at its last point."""
    ys = {"Batch size 64": (0.5, 0.1, 0.009), "Batch size 256": (0.4, 0.05, 0.008)}
    return series_rows("curves", (1, 16, 256), ys, read_off=lambda _, y: y < 0.01)


def study_rows() -> list[dict[str, Any]]:
    """Three trials of a study; the second reached the goal first."""
    ys = {"Trial 1": (0.5, 0.1), "Trial 2": (0.4, 0.009), "Trial 3": (0.9, 0.3)}
    rows = series_rows("curves", (1, 16), ys, read_off=lambda _, y: y == 0.009)
    return [row | {"best": row["series"] == "Trial 2"} for row in rows]


ROWS_OF = {
    "steps_to_result": steps_rows(),
    "normalised": normalised_rows(),
    "metaparameter": metaparameter_rows(),
    "best": best_rows(),
    "against": against_rows(),
    "scatter": scatter_rows(),
    "grid": grid_rows(),
    "curves": curve_rows(),
}


def points_of(
    rows: Sequence[dict[str, Any]], kind: PanelKind | None = None, release: str | None = None
) -> Points:
    """The rows as a figure's query would return them."""
    spec = find_figure(FIGURE_OF[kind or rows[0]["kind"]])
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return as_points(frame, spec, Request(release, trainable=frozenset(WORKLOADS)), "SELECT 1")
