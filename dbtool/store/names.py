"""Checks the names a person gives against what the database holds."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from dbtool.errors import UsageError, unknown
from dbtool.resources import query

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


def only_release(
    connection: duckdb.DuckDBPyConnection, release: str | None, *, what: str = "the database"
) -> str:
    """The release that a name says or, where none is given, the only one that the database holds.

    Args:
        connection: the database.
        release: its name; None: there is to be one alone.
        what: what the database is called in messages.

    Raises:
        UsageError: it is not there, or none was named and there are several or none.
    """
    check_release(connection, release)
    if release is not None:
        return release
    held: list[str] = _column(connection, "held_releases")
    if not held:
        raise UsageError(f"{what} holds no release; load one with `dbtool ingest PATH`")
    if len(held) > 1:
        raise UsageError(
            f"{what} holds {len(held)} releases ({', '.join(sorted(held)[:3])}"
            f"{', …' if len(held) > 3 else ''}); choose one with --release"
        )
    return held[0]


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


def check_columns(
    connection: duckdb.DuckDBPyConnection, view: str, columns: Sequence[str] | None
) -> list[str]:
    """The columns of a view that are asked for, each once; all where none are named.

    Args:
        connection: the database.
        view: its name.
        columns: names of columns; None: all.

    Raises:
        UsageError: a name is none of the view's columns, or none is given.
    """
    held = [column[0] for column in connection.execute(f"FROM {view} LIMIT 0").description]
    if columns is None:
        return held
    for column in columns or [""]:
        if column not in held:
            raise unknown("column", column, held, f"dbtool sql 'DESCRIBE {view}'")
    return list(dict.fromkeys(columns))


def check_trials(
    connection: duckdb.DuckDBPyConnection,
    workloads: Sequence[str],
    release: str | None,
    batch_sizes: Sequence[int] | None,
    trial_ids: Sequence[int],
) -> None:
    """Makes sure that each trial is in one of the studies.

    Args:
        connection: the database.
        workloads: names that the database holds.
        release: the release they belong to; None: any.
        batch_sizes: of the studies; None: any.
        trial_ids: what was asked for.

    Raises:
        UsageError: a trial is in none of them.
    """
    chosen = {"workloads": list(workloads), "release": release, "batch_sizes": batch_sizes}
    held = set(_column(connection, "held_trials", chosen))
    for trial_id in trial_ids:
        if trial_id not in held:
            near = sorted(held, key=lambda each: (abs(each - trial_id), each))
            listing = f"dbtool trials {' '.join(workloads[:1])}".rstrip()
            raise unknown("trial", str(trial_id), map(str, near[:3]), listing)


def _column(
    connection: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Any] | None = None
) -> list[Any]:
    """The first column of a query's rows."""
    return [row[0] for row in connection.execute(query(name), values or {}).fetchall()]
