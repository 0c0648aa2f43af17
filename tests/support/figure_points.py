"""What the queries of figures and analyses return, and whether it is what was expected."""

from collections.abc import Sequence
from typing import Any

import pytest

from dbtool.database import Database
from dbtool.figures.points import Request, filled_query
from dbtool.figures.specs import find_figure
from dbtool.store.questions import query_text

from .figure_rules import Point

PROMISED = (
    "panel", "series", "x", "y", "panel_order", "series_order", "release", "release_order",
    "workload", "metric", "goal", "goal_inclusive", "trials", "asked_trials",
)  # fmt: skip


def figure_points(db: Database, figure: str, **request: Any) -> list[Point]:
    """The rows of a figure in their order, a mapping each; the promised columns are there."""
    found = db.sql(filled_query(find_figure(figure), Request(**request)))
    assert set(PROMISED) <= set(found.columns)
    return [dict(zip(found.columns, row, strict=True)) for row in found]


def figure_rows(db: Database, figure: str, columns: str, **request: Any) -> list[tuple[Any, ...]]:
    """Columns of a figure's rows, in their order."""
    query = filled_query(find_figure(figure), Request(**request)).rstrip().rstrip(";")
    return db.sql(f"SELECT {columns} FROM ({query})").rows()


def analysis_rows(db: Database, name: str, columns: str) -> list[tuple[Any, ...]]:
    """Columns of an analysis's rows, in their order."""
    query = query_text(name).rstrip().rstrip(";")
    return db.sql(f"SELECT {columns} FROM ({query})").rows()


def agree(found: Sequence[Point], expected: Sequence[Point]) -> None:
    """Asserts that the rows are the expected ones, in that order, in all columns these have.

    Lines to compare with are rounded quotients, and everything else is equal to the last digit.
    """
    rounded = {"perfect", "linear", "square_root", "low", "high"}
    assert [_place(point) for point in found] == [_place(point) for point in expected]
    for point, other in zip(found, expected, strict=True):
        for name, value in other.items():
            wanted = pytest.approx(value) if name in rounded and value is not None else value
            assert point[name] == wanted, (name, point, other)


def _place(point: Point) -> tuple[Any, ...]:
    return point["panel_order"], point["series"], point["release"], point["x"]
