"""The macros and views of schema/, and queries in which they are expanded.

Macros, views and common table expressions become one list of the latter.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import sqlglot
from sqlglot import exp

from dbtool.core.errors import UsageError
from dbtool.core.index import TABLES
from dbtool.core.manifest import About
from dbtool.core.resources import schema_folder

_PASSED_ON = "query_table"
_IS_RESOLVED = "is_resolved"
_SCOPE = "scope"
_INDEX = tuple(name.removesuffix(".parquet") for name in TABLES)
SOURCE = "duckdb"
"""The dialect of schema/ and queries/, as sqlglot calls it."""


@dataclass(frozen=True)
class Macro:
    """The result of CREATE MACRO; the body is a query where the macro returns rows."""

    parameters: tuple[str, ...]
    body: exp.Expr

    def called_with(self, values: Sequence[exp.Expr]) -> exp.Expr:
        """Return the body with values in place of the parameters."""
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
    """The macros and views of queries by name, which is SCHEMA.NAME for one in another schema."""

    macros: Mapping[str, Macro]
    views: Mapping[str, exp.Query]

    def macro_of(self, call: exp.Func) -> Macro | None:
        """Return the macro of a call; it takes precedence over a DuckDB function of its name."""
        if isinstance(call, exp.Anonymous):
            return self.macros.get(call.name.lower())
        names = [name.lower() for name in call.sql_names()]
        return next((self.macros[name] for name in names if name in self.macros), None)


def written_out(query: exp.Query, definitions: Definitions) -> exp.Query:
    """Return an equal query without calls of macros and without views.

    Raises:
        UsageError: a call has more or fewer values than its macro has parameters.
    """
    expansion = _Expansion(definitions)
    whole = expansion.expanded(query, {})
    for name, each in expansion.parts.items():
        whole = whole.with_(exp.to_identifier(name), as_=each, copy=False)
    return whole


class _Expansion:
    """The expansion of one query; `parts` are its WITH clauses, each after those that it reads."""

    def __init__(self, definitions: Definitions) -> None:
        self.parts: dict[str, exp.Query] = {}
        self._definitions = definitions
        self._views: dict[str, str] = {}

    def expanded(self, query: exp.Query, scope: Mapping[str, str]) -> exp.Query:
        """Return a copy of a query that reads only parts and tables.

        The scope is the part of each enclosing common table expression, by the latter's name.
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
        """Move a query's common table expressions to the parts, and add them to its scope."""
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
        """Add a query to the parts; return its name there."""
        unique, number = name, 1
        while unique in self.parts:
            number += 1
            unique = f"{name}_{number}"
        self.parts[unique] = query
        return unique

    def _without_calls(self, node: exp.Expr) -> exp.Expr:
        """Return an expression with a macro's body in place of its call."""
        if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
            # sqlglot's form of any_value(…).
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
        """Return a table, view or macro's rows as a reference to a part where it is one."""
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
        """Return the part of a macro's rows, or the rows that were passed to a macro."""
        call = table.this
        if call.name == _PASSED_ON:
            [rows] = call.expressions
            named = table.copy()
            named.set("this", exp.to_identifier(rows.name))
            return self._resolved(named, rows.meta.get(_SCOPE, scope))
        macro = self._definitions.macro_of(call)
        if macro is None:
            name = call.name or call.sql_name().lower()
            raise UsageError(f"{name}() has no counterpart in other dialects")
        values = _values(call)
        for value in values:
            # Rows are passed by name, which is one of where the call was written.
            value.meta.setdefault(_SCOPE, scope)
        body = self.expanded(cast("exp.Query", macro.called_with(values)), {})
        return _reference(self._add(call.name, body), table)


def _values(call: exp.Func) -> list[exp.Expr]:
    """Return the arguments of a function, in order."""
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    given = (call.args.get(name) for name in call.arg_types)
    return [value for value in given if isinstance(value, exp.Expr)]


def _reference(part: str | None, table: exp.Table) -> exp.Table:
    """Return a reference to a part, or else the table, under the table's alias."""
    if part is not None:
        alias = table.alias or table.name
        besides = {key: table.args[key] for key in table.args if key not in {"this", "db", "alias"}}
        table = exp.Table(this=exp.to_identifier(part), **besides)
        if alias != part:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    table.meta[_IS_RESOLVED] = True
    return table


def _named(query: exp.Query, columns: Sequence[exp.Identifier]) -> exp.Query:
    """Return a query with names for its columns; rows of VALUES become one SELECT each."""
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
    """Return the query of all rows of one or more queries."""
    return exp.union(*queries, distinct=False) if len(queries) > 1 else queries[0]


def namespace(release: str) -> str:
    """Return the namespace of a release's tables: its name, with _ for what Spark rejects."""
    return re.sub(r"[^0-9A-Za-z_]", "_", release)


def definitions(files: Sequence[str], releases: Sequence[About]) -> Definitions:
    """Return the macros and views of queries, over the shards and the index as tables.

    Macros in files of schema/dialects override others of the same name.
    """
    macros: dict[str, Macro] = {}
    views = {"stored.releases": _releases(releases)}
    views["stored.measurements"] = _rows("measurements", releases)
    for name in _INDEX:
        incoming = f"incoming_{name}"
        views[incoming] = _rows(name, releases)
        [made] = _statements(f"index/{name}")
        views[f"stored.{name}"] = made.expression.transform(_renamed, "incoming", incoming)
    for path in ("views", "functions", "macros", *(f"dialects/{name}" for name in files)):
        for each in _statements(path):
            if each.kind == "VIEW":
                views[each.this.name] = each.expression
            else:
                parameters = tuple(parameter.name for parameter in each.this.expressions)
                macros[each.this.this.name] = Macro(parameters, each.expression)
    return Definitions(macros, views)


def _statements(path: str) -> Iterator[exp.Create]:
    """Yield the CREATE statements of a file of schema/."""
    text = (schema_folder() / f"{path}.sql").read_text(encoding="utf-8")
    for each in sqlglot.parse(text, dialect=SOURCE):
        if isinstance(each, exp.Create):
            yield each


def _renamed(node: exp.Expr, name: str, to: str) -> exp.Expr:
    """Rename a table, and keep its alias."""
    if isinstance(node, exp.Table) and node.name == name:
        alias = exp.TableAlias(this=exp.to_identifier(node.alias or name))
        return exp.Table(this=exp.to_identifier(to), alias=alias)
    return node


def _rows(name: str, releases: Sequence[About]) -> exp.Query:
    """Return the query of a table's rows in all releases, with the release's name in front."""
    selects = [
        exp.select(exp.alias_(exp.Literal.string(each.release), "release"), exp.Star()).from_(
            exp.table_(name, db=namespace(each.release), quoted=True)
        )
        for each in releases
    ]
    return all_of(selects)


def _releases(releases: Sequence[About]) -> exp.Query:
    """Return the query of the releases' descriptions."""
    names = ("release", "title", "licence", "citation")
    return all_of(
        [
            exp.select(
                exp.alias_(exp.convert(position), "position"),
                *(exp.cast(exp.convert(getattr(each, n)), "VARCHAR").as_(n) for n in names),
            )
            for position, each in enumerate(releases)
        ]
    )
