"""Translates queries over the views and macros of schema/ to the SQL of other engines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import sqlglot
from sqlglot import exp, transforms
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.dialects.dialect import Dialect, rename_func
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.optimizer.pushdown_projections import pushdown_projections
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.simplify import simplify

from dbtool.core.errors import UsageError
from dbtool.core.index import column_types
from dbtool.core.manifest import About
from dbtool.dialects.expansion import SOURCE, definitions, namespace, written_out


class _Arrow(Postgres):
    """The SQL of Polars and DataFusion, which sqlglot lacks: what they have of PostgreSQL's."""

    class Generator(PostgresGenerator):
        TRANSFORMS = {  # noqa: RUF012 (sqlglot's form)
            **PostgresGenerator.TRANSFORMS,
            exp.IsNan: rename_func("ISNAN"),
            exp.Split: rename_func("STRING_TO_ARRAY"),
        }


@dataclass(frozen=True)
class Engine:
    """The SQL of an engine: sqlglot's dialect, files of schema/dialects, and a query's settings.

    Each file comes after those that it overrides.
    """

    generator: type[Dialect]
    files: tuple[str, ...]
    settings: tuple[str, ...] = ()


DIALECTS = {
    "spark": Engine(Spark, ("common", "spark")),
    "polars": Engine(_Arrow, ("common", "json_as_text", "polars")),
    "datafusion": Engine(_Arrow, ("common", "json_as_text", "datafusion")),
    # Without this setting, an outer join fills rows without a partner with zeros.
    "clickhouse": Engine(ClickHouse, ("common", "clickhouse"), ("join_use_nulls = 1",)),
}
"""Name of the dialect to engine; chDB has the dialect of ClickHouse."""


def translated(
    text: str,
    dialect: str,
    releases: Sequence[About],
    values: Mapping[str, int | float | str] | None = None,
) -> str:
    """Return a query in the SQL of another engine, with the same rows.

    Macros and views are expanded, so that the query reads only tables: RELEASE.workloads,
    RELEASE.studies, RELEASE.trials and RELEASE.measurements, which are a release's index and its
    shards. RELEASE is its name, with _ for all but letters, digits and _. Columns of JSON objects
    are text. All else is equal, except for the last digits of decimals.

    Raises:
        UsageError: the text is not a SELECT, lacks a value, or has a part without a counterpart in
            the dialect.
    """
    if dialect not in DIALECTS:
        raise UsageError(f"unknown dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    _refuse_one_namespace([each.release for each in releases])
    try:
        query = _parsed(text).transform(_valued, values or {})
        whole = written_out(
            cast("exp.Query", query), definitions(DIALECTS[dialect].files, releases)
        )
        whole = _resolved(whole, releases)
        whole.set("settings", [exp.maybe_parse(each) for each in DIALECTS[dialect].settings])
        return whole.sql(
            dialect=DIALECTS[dialect].generator,
            pretty=True,
            comments=False,
            unsupported_level=ErrorLevel.RAISE,
        )
    except SqlglotError as error:
        reason = " ".join(str(error).split("\n")[0].split()).rstrip(".")
        raise UsageError(f"the query has no translation to {dialect}: {reason}") from error


def _refuse_one_namespace(names: Sequence[str]) -> None:
    """Raise an error for releases whose tables would have the same names."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(namespace(name), name)
        if other != name:
            raise UsageError(
                f"{other!r} and {name!r} would both have the tables of {namespace(name)!r}: name "
                "one of the two with --db"
            )


def _parsed(text: str) -> exp.Query:
    """Parse the only SELECT of a text."""
    statements = [each for each in sqlglot.parse(text, dialect=SOURCE) if each is not None]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise UsageError("only one SELECT statement at a time has a translation")
    return statements[0]


def _valued(node: exp.Expr, values: Mapping[str, int | float | str]) -> exp.Expr:
    """Replace a parameter by its value."""
    if not isinstance(node, exp.Parameter | exp.Placeholder):
        return node
    name = node.name
    if name not in values:
        raise UsageError(
            f"the query needs a value for ${name}: give it with `--param {name}=VALUE`"
        )
    return exp.convert(values[name])


def _resolved(query: exp.Query, releases: Sequence[About]) -> exp.Query:
    """Return a query with every column qualified by its table, in SQL that all engines have."""
    schema: dict[str, object] = {namespace(each.release): column_types() for each in releases}
    for each in query.find_all(exp.Query):
        _drop_empty_limit(each)
        if isinstance(each, exp.Select):
            transforms.eliminate_window_clause(each)
    # The copy separates nodes that windows of one name share.
    whole = query.copy().transform(_without_own_syntax, copy=False)
    whole = simplify(whole, dialect=SOURCE)
    whole = qualify(whole, dialect=SOURCE, schema=schema, quote_identifiers=False)
    for select in whole.find_all(exp.Select):
        _name_groups(select)
    whole = whole.transform(_without_joined_twins, copy=False)
    whole = whole.transform(_without_qualify, copy=False)
    return cast("exp.Query", pushdown_projections(whole))


def _without_own_syntax(node: exp.Expr) -> exp.Expr:
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


def _drop_empty_limit(query: exp.Query) -> None:
    """Remove a LIMIT of NULL, which limits nothing."""
    limit = query.args.get("limit")
    if limit is not None and isinstance(limit.expression, exp.Null):
        limit.pop()


def _name_groups(select: exp.Select) -> None:
    """Replace GROUP BY ALL by the selected expressions without an aggregate."""
    group = select.args.get("group")
    if group is not None and group.args.get("all"):
        keys = [each.unalias() for each in select.expressions if not each.find(exp.AggFunc)]
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]))


def _without_joined_twins(node: exp.Expr) -> exp.Expr:
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


def _without_qualify(node: exp.Expr) -> exp.Expr:
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
