"""What a figure's query returns, and whether it is what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dbtool.figures.points import Request, filled_query
from dbtool.figures.specs import find_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from .figure_rules import Point

PROMISED = (
    "panel", "series", "x", "y", "panel_order", "series_order", "kind", "release", "release_order",
    "workload", "metric", "goal", "goal_text", "trials", "asked_trials",
)  # fmt: skip


def figure_points(
    connection: duckdb.DuckDBPyConnection, figure: str, **request: Any
) -> list[Point]:
    """The rows of a figure in their order, a mapping each; the promised columns are there."""
    query = filled_query(find_figure(figure), Request(**request))
    found = connection.execute(query)
    names = [column for column, *_ in found.description]
    assert set(PROMISED) <= set(names)
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def agree(found: Sequence[Point], expected: Sequence[Point], *, kind: str) -> None:
    """Asserts that the rows are the expected ones, in that order, in all columns these have.

    Lines to compare with are rounded quotients, and everything else is equal to the last digit.
    """
    rounded = {"perfect", "linear", "square_root", "low", "high"}
    assert [_place(point) for point in found] == [_place(point) for point in expected]
    for point, other in zip(found, expected, strict=True):
        assert point["kind"] == kind
        for name, value in other.items():
            wanted = pytest.approx(value) if name in rounded and value is not None else value
            assert point[name] == wanted, (name, point, other)


def _place(point: Point) -> tuple[Any, ...]:
    return point["panel_order"], point["series"], point["release"], point["x"]
