"""The relations below the schema's views, over release folders on any machine."""

from __future__ import annotations

import functools
import glob
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from dbtool.core.catalog import figure_curves
from dbtool.core.contract import shard_schema, sql_type
from dbtool.core.index import STUDIES, TRIALS, WORKLOADS
from dbtool.core.resources import schema_folder
from dbtool.store.statements import sql_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb
    import pyarrow as pa

    from dbtool.core.manifest import Manifest

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
    """A release that is open to read.

    Attributes:
        manifest: its manifest.
        index: tables of its index, by file name.
        shards: paths or URLs by which DuckDB opens its shards.
    """

    manifest: Manifest
    index: Mapping[str, pa.Table]
    shards: Sequence[str]


def make_relations(connection: duckdb.DuckDBPyConnection, releases: Sequence[OpenRelease]) -> None:
    """Create the relations, views and macros of releases in an empty database.

    The index is copied, so that a writer that adds to a release does not change it here.
    """
    connection.execute("CREATE SCHEMA stored")
    connection.execute(
        "CREATE TABLE stored.releases "
        "(position INTEGER, release VARCHAR, title VARCHAR, licence VARCHAR, citation VARCHAR)"
    )
    for position, each in enumerate(releases):
        about = each.manifest
        row = (position, about.release, about.title, about.licence, about.citation)
        connection.execute("INSERT INTO stored.releases VALUES (?, ?, ?, ?, ?)", row)
    for name in (WORKLOADS, STUDIES, TRIALS):
        _make_index(connection, name, releases)
    # Views and macros look at what they read, which takes longer where that is a list of files.
    connection.execute(f"CREATE VIEW stored.measurements AS {_measurements([])}")
    for statements in schema_statements():
        connection.execute(statements)
    connection.execute(f"CREATE OR REPLACE VIEW stored.measurements AS {_measurements(releases)}")


def schema_statements() -> Iterator[str]:
    """Yield the statements that create the views and macros over the relations in `stored`."""
    yield _curves_view()
    for part in ("functions", "views", "macros", "figures", "bands", "comments"):
        yield (schema_folder() / f"{part}.sql").read_text(encoding="utf-8")


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


def _make_index(
    connection: duckdb.DuckDBPyConnection, name: str, releases: Sequence[OpenRelease]
) -> None:
    """Create the relation of one of the index's tables."""
    parts = []
    for position, each in enumerate(releases):
        connection.register(f"incoming_{position}", each.index[name])
        release = sql_text(each.manifest.release)
        parts.append(f"SELECT {release} AS release, * FROM incoming_{position}")  # noqa: S608 (quoted)
    connection.execute(f"CREATE TEMP VIEW incoming AS {' UNION ALL '.join(parts)}")
    relation = name.removesuffix(".parquet")
    connection.execute((schema_folder() / "index" / f"{relation}.sql").read_text(encoding="utf-8"))
    connection.execute("DROP VIEW incoming")
    for position in range(len(releases)):
        connection.unregister(f"incoming_{position}")


def _measurements(releases: Sequence[OpenRelease]) -> str:
    """Return the query of stored.measurements: each release's shards, pruned by folder."""
    parts = [
        f"SELECT {sql_text(each.manifest.release)} AS release, * "  # noqa: S608 (quoted)
        f"FROM read_parquet([{', '.join(sql_text(glob.escape(path)) for path in each.shards)}], "
        "hive_partitioning = true, "
        "hive_types = {'workload': VARCHAR, 'batch_size': INTEGER})"
        for each in releases
        if each.shards
    ]
    if parts:
        return " UNION ALL BY NAME ".join(parts)
    columns = [f"NULL::{sql_type(field.type)} AS {field.name}" for field in shard_schema()]
    return f"SELECT NULL::VARCHAR AS release, {', '.join(columns)} WHERE false"
