"""Replaces SQL that only DuckDB has by SQL that all engines have."""

from __future__ import annotations

from sqlglot import exp


def without_own_syntax(node: exp.Expr) -> exp.Expr:
    """Return an expression without types and functions that only DuckDB has."""
    if isinstance(node, exp.Cast) and node.is_type("JSON"):
        inner: exp.Expr = node.this
        return inner
    if isinstance(node, exp.Log) and node.expression:
        # Engines disagree on which of the two arguments is the base.
        return exp.paren(exp.Ln(this=node.expression) / exp.Ln(this=node.this), copy=False)
    if isinstance(node, exp.Columns) and isinstance(node.this, exp.Lambda):
        return exp.column(node.this.this.expression.name)
    return node


def drop_empty_limit(query: exp.Query) -> None:
    """Remove a LIMIT of NULL, which limits nothing."""
    limit = query.args.get("limit")
    if limit is not None and isinstance(limit.expression, exp.Null):
        limit.pop()


def name_groups(select: exp.Select) -> None:
    """Replace GROUP BY ALL by the selected expressions without an aggregate."""
    group = select.args.get("group")
    if group is not None and group.args.get("all"):
        keys = [each.unalias() for each in select.expressions if not each.find(exp.AggFunc)]
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]))


def without_joined_twins(node: exp.Expr) -> exp.Expr:
    """Replace COALESCE of two columns that a join equates by the left column.

    USING makes such pairs, and few engines use a filter on the COALESCE to prune a table's files.
    """
    if not isinstance(node, exp.Coalesce) or len(node.expressions) != 1:
        return node
    left: exp.Expr = node.this
    pair = {left, node.expressions[0]}
    select = node.find_ancestor(exp.Select)
    for join in (select.args.get("joins") or ()) if select else ():
        if join.side in {"", "LEFT"} and join.alias_or_name == node.expressions[0].text("table"):
            condition = join.args.get("on")
            parts = condition.flatten() if isinstance(condition, exp.And) else (condition,)
            equal = [each for each in parts if isinstance(each, exp.EQ)]
            if any({each.this, each.expression} == pair for each in equal):
                return left
    return node


def without_qualify(node: exp.Expr) -> exp.Expr:
    """Return QUALIFY as a WHERE around the rows, with its condition as one of their columns."""
    if not isinstance(node, exp.Select) or not node.args.get("qualify"):
        return node
    outer = exp.select(*(exp.column(each.alias_or_name, "kept") for each in node.expressions))
    for clause in ("with_", "order", "limit", "distinct"):
        outer.set(clause, node.args.get(clause))
        node.set(clause, None)
    condition = node.args["qualify"].this
    node.set("qualify", None)
    rows = node.select(exp.alias_(condition, "is_kept"), copy=False).subquery("kept")
    return outer.from_(rows, copy=False).where(exp.column("is_kept", "kept"), copy=False)
