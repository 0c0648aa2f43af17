"""The renderers, one a kind of points. None of them computes a result: the SQL has."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from dbtool.figures.kinds.against import AgainstRenderer
from dbtool.figures.kinds.best import BestRenderer
from dbtool.figures.kinds.curves import CurvesRenderer
from dbtool.figures.kinds.grid import GridRenderer
from dbtool.figures.kinds.metaparameter import MetaparameterRenderer
from dbtool.figures.kinds.renderer import KeyEntry, Renderer
from dbtool.figures.kinds.scatter import ScatterRenderer
from dbtool.figures.kinds.steps import StepsRenderer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbtool.figures.specs import Kind

__all__ = ["RENDERERS", "KeyEntry", "Renderer"]

RENDERERS: Mapping[Kind, Renderer] = MappingProxyType(
    {
        "steps_to_result": StepsRenderer(),
        "normalised": StepsRenderer(normalised=True),
        "metaparameter": MetaparameterRenderer(),
        "best": BestRenderer(),
        "against": AgainstRenderer(),
        "scatter": ScatterRenderer(),
        "grid": GridRenderer(),
        "curves": CurvesRenderer(),
    }
)
