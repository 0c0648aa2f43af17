"""Says how much a query will fetch from a server, and asks where that is much."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from dbtool.errors import UsageError
from dbtool.store.statements import one_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

_MEGABYTE = 1_000_000
# Less is there in a moment.
_WORTH_SAYING = 10 * _MEGABYTE


def ask_before_fetching(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    values: Mapping[str, int | float | str],
    most: int,
) -> None:
    """Says how much a query will fetch where that is more than 10 MB, and asks beyond a bound.

    Args:
        connection: what the query will run on; of a database on this machine nothing is said.
        query: its text.
        values: those of its parameters.
        most: the megabytes that are fetched without asking.

    Raises:
        UsageError: it will fetch more, and there is nobody to ask.
        typer.Abort: the person said no.
    """
    from dbtool.store.remote.connections import files_of

    if files_of(connection) is None:
        return
    from dbtool.store.remote.estimate import bytes_to_fetch

    statement = one_query(connection, query)
    if statement.named_parameters != set(values) or statement.type.name != "SELECT":
        return
    bound = min(most * _MEGABYTE, _WORTH_SAYING)
    expected = bytes_to_fetch(connection, query, values, bound)
    if expected is None or expected <= bound:
        return
    much = f"this query will fetch up to {expected / _MEGABYTE:,.1f} MB"
    if expected <= most * _MEGABYTE:
        sys.stderr.write(f"{much}\n")
    elif sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm(f"{much}; go on?", abort=True, err=True)
    else:
        needed = -(-expected // _MEGABYTE)
        raise UsageError(
            f"{much}: allow it with --fetch-up-to {needed}, name fewer workloads, batch sizes or "
            "columns, or take the whole release with `dbtool pull`"
        )
