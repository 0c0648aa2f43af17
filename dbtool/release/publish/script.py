"""Writes dbtool.sql, which gives plain DuckDB the views and macros over a release folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.core.index import STUDIES, TRIALS, WORKLOADS
from dbtool.core.resources import schema_folder
from dbtool.release.layout import SCRIPT, SHARDS
from dbtool.store.relations import SCHEMA_FILES, curves_table
from dbtool.store.statements import sql_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbtool.core.manifest import About


def script(about: About) -> str:
    """The SQL that makes the views and macros of schema/, with paths below the release folder.

    Args:
        about: what the release says of itself.
    """
    return "\n".join(_parts(about))


def _parts(about: About) -> Iterator[str]:
    release = sql_text(about.release)
    yield (
        f"-- The views and macros of dbtool for DuckDB: run `duckdb -init {SCRIPT}` in this folder."
    )
    yield "CREATE SCHEMA stored;"
    yield f"""CREATE TABLE stored.releases AS
SELECT
    0 AS position,
    {release} AS release,
    {_text(about.title)} AS title,
    {_text(about.licence)} AS licence,
    {_text(about.citation)} AS citation;"""
    for name in (WORKLOADS, STUDIES, TRIALS):
        yield f"CREATE TEMP VIEW incoming AS SELECT {release} AS release, * FROM '{name}';"  # noqa: S608 (names of ours)
        yield _sql(f"index/{name.removesuffix('.parquet')}.sql")
        yield "DROP VIEW incoming;"
    yield f"""CREATE VIEW stored.measurements AS
SELECT {release} AS release, *
FROM read_parquet(
    '{SHARDS}',
    hive_partitioning = true,
    hive_types = {{'workload': VARCHAR, 'batch_size': INTEGER}}
);"""  # noqa: S608 (names of ours)
    yield curves_table()
    for name in SCHEMA_FILES:
        yield _sql(f"{name}.sql")


def _sql(path: str) -> str:
    return (schema_folder() / path).read_text(encoding="utf-8")


def _text(value: str | None) -> str:
    return "NULL::VARCHAR" if value is None else sql_text(value)
