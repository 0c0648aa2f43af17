"""The relations, views and macros of an open database, whose empty form the user's cache keeps.

DuckDB reads the statements of schema/ in 0.1 s, and copies what it has read before in 5 ms.
"""

import contextlib
import functools
import glob
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import msgspec
import platformdirs
import pyarrow as pa

from dbtool.core.catalog import figure_curves
from dbtool.core.errors import DbtoolError
from dbtool.core.files import whole_output
from dbtool.core.index import SCHEMAS, TABLES, column_types
from dbtool.core.manifest import MEASUREMENTS, Manifest
from dbtool.core.resources import schema_text
from dbtool.store.statements import IS_1, sql_text

_CURVE_COLUMNS = {
    **dict.fromkeys(
        ("figure", "panel", "series", "workload", "metric", "metaparameter"), "VARCHAR"
    ),
    **dict.fromkeys(("panel_order", "series_order", "batch_size"), "INTEGER"),
    **dict.fromkeys(("asked_trials", "normalise_at", "most_steps"), "BIGINT"),
    **dict.fromkeys(("goal_inclusive", "relative"), "BOOLEAN"),
    **dict.fromkeys(("sparsity", "goal", "budget", "most_examples", "label_smoothing"), "DOUBLE"),
    **dict.fromkeys(("x_from", "x_to", "y_from", "y_to"), "DOUBLE"),
}


@dataclass(frozen=True)
class OpenRelease:
    """An open release: its index by file name, and the paths by which DuckDB opens its shards."""

    manifest: Manifest
    index: Mapping[str, pa.Table]
    shards: Sequence[str]


def make_relations(connection: duckdb.DuckDBPyConnection, releases: Sequence[OpenRelease]) -> None:
    """Create the relations, views and macros of releases in an empty database in memory.

    The index is copied, so that a writer that adds to a release does not change it here.
    """
    _make_empty(connection)
    for position, each in enumerate(releases):
        about = each.manifest
        row = (position, about.release, about.title, about.licence, about.citation)
        connection.execute("INSERT INTO stored.releases VALUES (?, ?, ?, ?, ?)", row)
    _make_relations(connection, releases)


def schema_statements() -> Iterator[str]:
    """Yield the statements that create the views and macros over the relations in `stored`."""
    yield _curves_view()
    yield from map(schema_text, ("functions", "views", "macros", "figures", "bands", "comments"))


@functools.cache
def _curves_view() -> str:
    """Return the statement that creates stored.figure_curves, which needs no file."""
    curves, columns = (
        msgspec.json.encode(each).decode() for each in (figure_curves(), [_CURVE_COLUMNS])
    )
    return (
        "CREATE VIEW stored.figure_curves AS "
        f"SELECT unnest(from_json({sql_text(curves)}, {sql_text(columns)}), recursive := true);"
    )


def _make_empty(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the relations of no release, and the views and macros over them."""
    if IS_1:
        # In a file, DuckDB 1 forgets which common table expressions are to be materialised.
        return _create_empty(connection)
    statements = "\n".join([*map(_index_statement, TABLES), *schema_statements()])
    key = hashlib.sha256(f"{duckdb.__version__} {statements}".encode()).hexdigest()[:32]
    kept = platformdirs.user_cache_path("dbtool") / "views" / f"{key}.duckdb"
    # It may be damaged, or removed by another version of dbtool just now.
    with contextlib.suppress(OSError, duckdb.Error):
        if kept.exists():
            return _copy(connection, f"{sql_text(str(kept))} AS kept (READ_ONLY)", "kept TO memory")
    _create_empty(connection)
    # Without write access to the cache, DuckDB reads the statements again next time.
    with contextlib.suppress(OSError, DbtoolError, duckdb.Error):
        for old in kept.parent.glob("*.duckdb"):
            old.unlink(missing_ok=True)
        with whole_output(kept) as path:
            _copy(connection, f"{sql_text(str(path))} AS kept", "memory TO kept")
    return None


def _copy(connection: duckdb.DuckDBPyConnection, attached: str, what: str) -> None:
    """Copy relations without their rows between the database in memory and one in a file."""
    connection.execute(f"ATTACH {attached}")
    try:
        connection.execute(f"COPY FROM DATABASE {what} (SCHEMA)")
    finally:
        connection.execute("DETACH kept")


def _create_empty(connection: duckdb.DuckDBPyConnection) -> None:
    """Create what `_make_empty` does by its statements."""
    connection.execute("CREATE SCHEMA stored")
    connection.execute(
        "CREATE TABLE stored.releases "
        "(position INTEGER, release VARCHAR, title VARCHAR, licence VARCHAR, citation VARCHAR)"
    )
    _make_relations(connection, [])
    for statements in schema_statements():
        connection.execute(statements)


def _index_statement(name: str) -> str:
    """Return the statement that creates the relation of one of the index's tables."""
    return schema_text(f"index/{Path(name).stem}")


def _make_relations(connection: duckdb.DuckDBPyConnection, releases: Sequence[OpenRelease]) -> None:
    """Create the relations of the releases' rows, in place of those that are there."""
    for name in TABLES:
        tables = [(each.manifest.release, each.index[name]) for each in releases]
        parts: list[str] = []
        for release, table in tables or [("", SCHEMAS[name].empty_table())]:
            incoming = f"incoming_{len(parts)}"
            connection.register(incoming, table)
            parts.append(f"SELECT {sql_text(release)} AS release, * FROM {incoming}")  # noqa: S608 (quoted)
        connection.execute(f"CREATE TEMP VIEW incoming AS {' UNION ALL '.join(parts)}")
        connection.execute(f"DROP TABLE IF EXISTS stored.{Path(name).stem}")
        connection.execute(_index_statement(name))
        connection.execute("DROP VIEW incoming")
        for position in range(len(parts)):
            connection.unregister(f"incoming_{position}")
    connection.execute(f"CREATE OR REPLACE VIEW stored.measurements AS {_measurements(releases)}")


def _measurements(releases: Sequence[OpenRelease]) -> str:
    """Return the query of stored.measurements: each release's shards, pruned by folder.

    The least and greatest values that Parquet files state leave NaN out, so that DuckDB would pass
    over the rows of some filters, such as `isnan`, if it was not told. Told so, it takes NaN for
    the greatest value of any column of a single file, unless the file is part of a union.
    """
    parts = [
        f"SELECT {sql_text(each.manifest.release)} AS release, * "  # noqa: S608 (quoted)
        f"FROM read_parquet([{', '.join(sql_text(glob.escape(path)) for path in each.shards)}], "
        "hive_partitioning = true, "
        "hive_types = {'workload': VARCHAR, 'batch_size': INTEGER}, can_have_nan = true)"
        for each in releases
        if each.shards
    ]
    if sum(len(each.shards) for each in releases) == 1:
        parts.append(f"{parts[0]} WHERE false")
    if parts:
        return " UNION ALL BY NAME ".join(parts)
    columns = [f"NULL::{kind} AS {name}" for name, kind in column_types()[MEASUREMENTS].items()]
    return f"SELECT NULL::VARCHAR AS release, {', '.join(columns)} WHERE false"
