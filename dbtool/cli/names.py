"""Checks the names a person gives against what the database holds."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from dbtool.cli.database import query
from dbtool.errors import unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb


def check_release(connection: duckdb.DuckDBPyConnection, release: str | None) -> None:
    """Makes sure that the database holds the release.

    Args:
        connection: the database.
        release: its name; None: any release will do.

    Raises:
        UsageError: it is not there.
    """
    if release is not None:
        held = _column(connection, "held_releases")
        if release not in held:
            raise unknown("release", release, held, "dbtool releases")


def matching_workloads(
    connection: duckdb.DuckDBPyConnection, patterns: Sequence[str], release: str | None
) -> list[str]:
    """The names of the workloads that the words name, each once, in the words' order.

    Args:
        connection: the database.
        patterns: names, or patterns with *, ? and [] as in a shell; * also matches a slash.
        release: the release they belong to; None: any.

    Raises:
        UsageError: the release is not there, or a word names no workload.
    """
    check_release(connection, release)
    held = _column(connection, "held_workloads", {"release": release})
    chosen: dict[str, None] = {}
    for pattern in patterns:
        found = [pattern] if pattern in held else fnmatch.filter(held, pattern)
        if not found:
            raise unknown("workload", pattern, held, "dbtool workloads")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def check_batch_sizes(
    connection: duckdb.DuckDBPyConnection,
    workloads: Sequence[str],
    release: str | None,
    batch_sizes: Sequence[int],
) -> None:
    """Makes sure that each batch size has a study in one of the workloads.

    Args:
        connection: the database.
        workloads: names that the database holds.
        release: the release they belong to; None: any.
        batch_sizes: what was asked for.

    Raises:
        UsageError: a batch size has no study.
    """
    held = _column(
        connection, "held_batch_sizes", {"workloads": list(workloads), "release": release}
    )
    for batch_size in batch_sizes:
        if batch_size not in held:
            near = sorted(held, key=lambda size: abs(size - batch_size))
            listing = f"dbtool studies {' '.join(workloads[:1])}".rstrip()
            raise unknown("batch size", str(batch_size), map(str, near[:3]), listing)


def check_metric(connection: duckdb.DuckDBPyConnection, metric: str | None) -> None:
    """Makes sure that a metric is a column of the measurements.

    Args:
        connection: the database.
        metric: its name; None: the workload's own.

    Raises:
        UsageError: there is no such metric.
    """
    if metric is not None:
        held = _column(connection, "held_metrics")
        if metric not in held:
            raise unknown("metric", metric, held, "dbtool sql 'DESCRIBE measurements'")


def _column(
    connection: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Any] | None = None
) -> list[Any]:
    """The first column of a query's rows."""
    return [row[0] for row in connection.execute(query(name), values or {}).fetchall()]
