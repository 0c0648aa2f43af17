"""Filters of Polars as SQL, as far as DuckDB can use them to read less.

What cannot be said here is left out, and so is what could mean something else in SQL: whoever calls
filters the rows again. The filter is read from its JSON form, which Polars does not promise; what
has another form tomorrow is not understood, and then no filter is used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import polars as pl

_COMPARISONS = {"Eq": "=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
# Numbers of 32 bits are left out: the two libraries compare them with others differently.
_TYPES = frozenset({"Int8", "Int16", "Int32", "Int64", "Float64", "String", "StringOwned"})


class Condition(NamedTuple):
    """A condition that holds of every row that a filter keeps, and perhaps of others.

    Attributes:
        sql: with a ? for each value.
        values: as many.
    """

    sql: str
    values: tuple[int | float | str, ...]


def condition_of(predicate: pl.Expr) -> Condition | None:
    """A condition that holds of every row that the filter keeps; None where there is none to tell.

    Args:
        predicate: a filter as Polars hands it to a source of rows.
    """
    try:
        return _condition(json.loads(predicate.meta.serialize(format="json")))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None


def _condition(tree: Any) -> Condition | None:
    match tree:
        case {"BinaryExpr": {"op": "And", "left": left, "right": right}}:
            both = [found for side in (left, right) if (found := _condition(side)) is not None]
            return _joined("AND", both) if both else None
        case {"BinaryExpr": {"op": "Or", "left": left, "right": right}}:
            first, second = _condition(left), _condition(right)
            return None if first is None or second is None else _joined("OR", [first, second])
        case {"BinaryExpr": {"op": str(op), "left": {"Column": str(column)}, "right": right}} if (
            op in _COMPARISONS
        ):
            return _compared(column, f"{_COMPARISONS[op]} ?", right)
        case {"Function": {"input": [{"Column": str(column)}, *literals], "function": function}}:
            match function:
                # Where an end does not belong to it, a few rows more are read.
                case {"Boolean": {"IsBetween": _}}:
                    return _compared(column, "BETWEEN ? AND ?", *literals)
                case {"Boolean": "IsNotNull"}:
                    return _compared(column, "IS NOT NULL")
    return None


def _compared(column: str, how: str, *literals: Any) -> Condition | None:
    """A condition on a column; None where a literal is none that can be handed to SQL."""
    values = [value for literal in literals if (value := _value(literal)) is not None]
    if len(values) < len(literals):
        return None
    name = column.replace('"', '""')
    return Condition(f'("{name}" {how})', tuple(values))


def _joined(word: str, conditions: list[Condition]) -> Condition:
    sql = f" {word} ".join(condition.sql for condition in conditions)
    return Condition(f"({sql})", tuple(value for each in conditions for value in each.values))


def _value(tree: Any) -> int | float | str | None:
    """The value of a literal; None for one of another type, or that JSON cannot hold."""
    match tree:
        case {"Literal": {"Scalar": {**scalar}}} if len(scalar) == 1:
            [(kind, value)] = scalar.items()
            if kind in _TYPES and isinstance(value, int | float | str):
                return value
    return None
