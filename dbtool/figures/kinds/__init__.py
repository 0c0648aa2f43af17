"""The renderers, one a kind of points. None of them computes a result: the SQL has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.figures.kinds.curves import CurveRenderer
from dbtool.figures.kinds.lines import LineRenderer
from dbtool.figures.kinds.trials import GridRenderer, ScatterRenderer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbtool.figures.kinds.renderer import Renderer
    from dbtool.figures.specs import Kind

__all__ = ["RENDERERS"]

_FEWEST = "the fewest steps to the goal of any trial"

RENDERERS: Mapping[Kind, Renderer] = {
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
        "A point is the metaparameter of the trial that reached the goal first, of the search at "
        "one batch size.",
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
    "scatter": ScatterRenderer(),
    "grid": GridRenderer(),
    "curves": CurveRenderer(),
}
