"""Writes queries out: their macros, views and common table expressions in one list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from sqlglot import exp

from dbtool.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PASSED_ON = "query_table"
_IS_RESOLVED = "is_resolved"


@dataclass(frozen=True)
class Macro:
    """What CREATE MACRO makes.

    Attributes:
        parameters: their names.
        body: an expression or, of a macro that returns rows, a query.
    """

    parameters: tuple[str, ...]
    body: exp.Expr

    def called_with(self, values: Sequence[exp.Expr]) -> exp.Expr:
        """The body with values in place of the parameters.

        Raises:
            UsageError: there are more or fewer values than parameters.
        """
        if len(values) != len(self.parameters):
            raise UsageError(
                f"a macro of ({', '.join(self.parameters)}) is called with {len(values)} values"
            )
        named = dict(zip(self.parameters, values, strict=True))

        def replaced(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not node.table and node.name in named:
                value = named[node.name].copy()
                return exp.Paren(this=value) if isinstance(value, exp.Binary) else value
            return node

        return self.body.copy().transform(replaced)


@dataclass(frozen=True)
class Definitions:
    """What queries stand on.

    Attributes:
        macros: by name.
        views: by name; one of another schema as SCHEMA.NAME.
    """

    macros: Mapping[str, Macro]
    views: Mapping[str, exp.Query]

    def macro_of(self, call: exp.Func) -> Macro | None:
        """The macro that is called; a function of DuckDB gives way to one of its name."""
        if isinstance(call, exp.Anonymous):
            return self.macros.get(call.name.lower())
        names = [name.lower() for name in call.sql_names()]
        return next((self.macros[name] for name in names if name in self.macros), None)


def written_out(query: exp.Query, definitions: Definitions) -> exp.Query:
    """The same query without calls of macros and without views.

    Args:
        query: a query; it stays as it is.
        definitions: the macros and views. A macro may have the name of a function of DuckDB and
            takes its place.

    Raises:
        UsageError: a macro is called with another number of values than it takes.
    """
    expansion = _Expansion(definitions)
    whole = expansion.expanded(query, {})
    for name, each in expansion.parts.items():
        whole = whole.with_(exp.to_identifier(name), as_=each, copy=False)
    return whole


class _Expansion:
    """One query's; `parts` are its common table expressions, each after those that it reads."""

    def __init__(self, definitions: Definitions) -> None:
        self.parts: dict[str, exp.Query] = {}
        self._definitions = definitions
        self._views: dict[str, str] = {}

    def expanded(self, query: exp.Query, scope: Mapping[str, str]) -> exp.Query:
        """A copy of a query that reads parts and tables alone.

        Args:
            query: the query.
            scope: the names of parts by the names of the common table expressions around it.
        """
        holder = exp.Subquery(this=query.copy())
        scope = dict(scope)
        self._hoist(holder.this, scope)
        for inner in list(holder.this.find_all(exp.With)):
            nested = inner.parent
            nested.replace(self.expanded(nested, scope))
        holder.transform(self._without_calls, copy=False)
        for table in list(holder.find_all(exp.Table)):
            if not table.meta.get(_IS_RESOLVED):
                table.replace(self._resolved(table, scope))
        return cast("exp.Query", holder.this)

    def _hoist(self, query: exp.Query, scope: dict[str, str]) -> None:
        """Makes a query's common table expressions parts, and its scope know them."""
        clause = query.args.get("with_")
        if clause is None:
            return
        clause.pop()
        if clause.args.get("recursive"):
            raise UsageError("WITH RECURSIVE has no counterpart in other dialects")
        for each in clause.expressions:
            body = _named(each.this, each.args["alias"].columns)
            name = each.alias
            scope[name] = self._add(name, self.expanded(body, scope))

    def _add(self, name: str, query: exp.Query) -> str:
        """Makes a query a part, and gives its name."""
        unique, number = name, 1
        while unique in self.parts:
            number += 1
            unique = f"{name}_{number}"
        self.parts[unique] = query
        return unique

    def _without_calls(self, node: exp.Expr) -> exp.Expr:
        """An expression with a macro's body in place of its call."""
        if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
            # What sqlglot reads any_value(…) as.
            return node.this.copy().transform(self._without_calls)
        if not isinstance(node, exp.Func) or isinstance(node.parent, exp.Table):
            return node
        macro = self._definitions.macro_of(node)
        if macro is None or isinstance(macro.body, exp.Query):
            return node
        values = _values(node)
        if len(values) != len(macro.parameters) and not isinstance(node, exp.Anonymous):
            return node
        body = macro.called_with(values).transform(self._without_calls)
        return exp.Paren(this=body) if isinstance(body, exp.Binary) else body

    def _resolved(self, table: exp.Table, scope: Mapping[str, str]) -> exp.Table:
        """A table, a view or a macro's rows, as the name of a part where it is one."""
        if isinstance(table.this, exp.Func):
            return self._called(table, scope)
        name = f"{table.db}.{table.name}" if table.db else table.name
        if name in scope:
            return _reference(scope[name], table)
        if name not in self._definitions.views:
            return _reference(None, table)
        if name not in self._views:
            body = self.expanded(self._definitions.views[name], {})
            self._views[name] = self._add(name.replace(".", "_"), body)
        return _reference(self._views[name], table)

    def _called(self, table: exp.Table, scope: Mapping[str, str]) -> exp.Table:
        """The part that a macro's rows are, or the rows that a macro was given."""
        call = table.this
        if call.name == _PASSED_ON:
            [rows] = call.expressions
            return _reference(self._part(rows, scope), table)
        macro = self._definitions.macro_of(call)
        if macro is None:
            name = call.name or call.sql_name().lower()
            raise UsageError(f"{name}() has no counterpart in other dialects")
        values = _values(call)
        for place, parameter in enumerate(macro.parameters[: len(values)]):
            if self._is_rows(macro, parameter):
                values[place] = exp.Literal.string(self._part(values[place], scope))
                values[place].meta[_IS_RESOLVED] = True
        body = self.expanded(cast("exp.Query", macro.called_with(values)), {})
        return _reference(self._add(call.name, body), table)

    def _part(self, rows: exp.Expr, scope: Mapping[str, str]) -> str:
        """The name of the rows that a macro is given by their name."""
        if rows.meta.get(_IS_RESOLVED):
            return rows.name
        return self._resolved(exp.Table(this=exp.to_identifier(rows.name)), scope).name

    def _is_rows(self, macro: Macro, parameter: str) -> bool:
        """Whether what a macro takes by a parameter are rows."""
        for call in macro.body.find_all(exp.Anonymous):
            if not isinstance(call.parent, exp.Table):
                continue
            inner = self._definitions.macro_of(call)
            for place, value in enumerate(call.expressions):
                if not isinstance(value, exp.Column) or value.sql() != parameter:
                    continue
                if call.name == _PASSED_ON:
                    return True
                if inner and self._is_rows(inner, inner.parameters[place]):
                    return True
        return False


def _values(call: exp.Func) -> list[exp.Expr]:
    """What a function is called with, in order."""
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    given = (call.args.get(name) for name in call.arg_types)
    return [value for value in given if isinstance(value, exp.Expr)]


def _reference(part: str | None, table: exp.Table) -> exp.Table:
    """A table's place taken by a part, or by the table itself, under the name that it has there."""
    if part is not None:
        alias = table.alias or table.name
        besides = {key: table.args[key] for key in table.args if key not in {"this", "db", "alias"}}
        table = exp.Table(this=exp.to_identifier(part), **besides)
        if alias != part:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    table.meta[_IS_RESOLVED] = True
    return table


def _named(query: exp.Query, columns: Sequence[exp.Identifier]) -> exp.Query:
    """A query with names for its columns; rows of values are a SELECT each."""
    if not columns:
        return query
    rows = query.find(exp.Values)
    if rows is None:
        raise UsageError("name the columns where they are selected, and not after the name of WITH")
    selects = [
        exp.select(*[exp.alias_(v, c) for v, c in zip(row.expressions, columns, strict=True)])
        for row in rows.expressions
    ]
    return all_of(selects)


def all_of(queries: Sequence[exp.Query]) -> exp.Query:
    """The rows of one or more queries."""
    return exp.union(*queries, distinct=False) if len(queries) > 1 else queries[0]
