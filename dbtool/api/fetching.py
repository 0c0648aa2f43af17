"""Says how much a query will fetch from a server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dbtool.store.remote.connections import files_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb


def say_what_is_fetched(
    connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, Any] | Sequence[Any]
) -> None:
    """Says on standard error how much a query will fetch, where that is more than 100 MB.

    Args:
        connection: what the query will run on; of a database on this machine nothing is said.
        query: its text.
        values: those of its parameters.
    """
    if files_of(connection) is None:
        return
    from dbtool.store.remote.estimate import WITHOUT_ASKING, bytes_to_fetch

    expected = bytes_to_fetch(connection, query, values)
    if expected is not None and expected > WITHOUT_ASKING:
        sys.stderr.write(f"dbtool: this query will fetch up to {expected / 1e6:,.0f} MB\n")
