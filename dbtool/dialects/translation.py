"""Translates queries over the views and macros of schema/ to the SQL of other engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import sqlglot
from sqlglot import exp, transforms
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.optimizer.pushdown_projections import pushdown_projections
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.simplify import simplify

from dbtool.core.contract import shard_schema, sql_type
from dbtool.core.errors import UsageError
from dbtool.core.index import SCHEMAS
from dbtool.dialects import plain
from dbtool.dialects.definitions import SOURCE, definitions, namespace
from dbtool.dialects.engines import DIALECTS
from dbtool.dialects.expansion import written_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbtool.core.manifest import About


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

    Args:
        text: one SELECT of DuckDB over the views and macros.
        dialect: one of `DIALECTS`.
        releases: releases of the views.
        values: values of the query's parameters, by name.

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
    schema: dict[str, object] = {namespace(each.release): _tables() for each in releases}
    for each in query.find_all(exp.Query):
        plain.drop_empty_limit(each)
        if isinstance(each, exp.Select):
            transforms.eliminate_window_clause(each)
    # The copy separates nodes that windows of one name share.
    whole = query.copy().transform(plain.without_own_syntax, copy=False)
    whole = simplify(whole, dialect=SOURCE)
    whole = qualify(whole, dialect=SOURCE, schema=schema, quote_identifiers=False)
    for select in whole.find_all(exp.Select):
        plain.name_groups(select)
    whole = whole.transform(plain.without_joined_twins, copy=False)
    whole = whole.transform(plain.without_qualify, copy=False)
    return cast("exp.Query", pushdown_projections(whole))


def _tables() -> dict[str, dict[str, str]]:
    """Return the columns of the index's tables and of shards, with their types."""
    tables = {name.removesuffix(".parquet"): each for name, each in SCHEMAS.items()}
    return {
        name: {field.name: sql_type(field.type) for field in schema}
        for name, schema in (*tables.items(), ("measurements", shard_schema()))
    }
