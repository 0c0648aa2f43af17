"""The macros and views of schema/, for some releases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from dbtool.core.index import TABLES
from dbtool.core.resources import schema_folder
from dbtool.dialects.expansion import Definitions, Macro, all_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbtool.core.manifest import About

_INDEX = tuple(name.removesuffix(".parquet") for name in TABLES)
SOURCE = "duckdb"
"""The dialect of schema/ and queries/, as sqlglot calls it."""


def namespace(release: str) -> str:
    """Return the namespace of a release's tables: its name, with _ for what Spark rejects."""
    return re.sub(r"[^0-9A-Za-z_]", "_", release)


def definitions(files: Sequence[str], releases: Sequence[About]) -> Definitions:
    """Return the macros and views of queries, over the shards and the index as tables.

    Args:
        files: files of schema/dialects, whose macros override others of the same name.
        releases: the releases.
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
    selects = []
    for position, each in enumerate(releases):
        texts = {
            name: exp.cast(exp.convert(getattr(each, name)), "VARCHAR")
            for name in ("release", "title", "licence", "citation")
        }
        columns = [exp.alias_(exp.convert(position), "position")]
        selects.append(exp.select(*columns, *(exp.alias_(v, n) for n, v in texts.items())))
    return all_of(selects)
