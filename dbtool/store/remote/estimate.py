"""How much a query of a release on a server will fetch."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from dbtool.store.published.layout import MEASUREMENTS
from dbtool.store.remote.connections import files_of
from dbtool.store.remote.footers import MAGIC
from dbtool.store.remote.opening import open_contents
from dbtool.store.remote.places import FolderPlace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb

    from dbtool.store.published.manifest import PublishedFile
    from dbtool.store.remote.contents import Contents

WITHOUT_ASKING = 100_000_000
"""Bytes that a query fetches without anybody being asked."""
# DuckDB joins what it reads across gaps of no more.
_GAP_BYTES = 1 << 14


def bytes_to_fetch(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    values: Mapping[str, Any] | Sequence[Any],
    most: int = WITHOUT_ASKING,
) -> int | None:
    """Up to how many bytes of measurements a query will fetch.

    The query runs once on the release without its measurements, which shows whose it asks for; of
    these, what the columns take that are named in it counts, whether or not they were fetched
    before. That is more than is read where conditions on trials or steps skip some, and can be
    less where measurements decide which others are read.

    Args:
        connection: what the query will run on.
        query: one SELECT.
        values: those of its parameters.
        most: a number of bytes that need not be told apart from less.

    Returns:
        None of what lies on this machine, and where all measurements are no more than `most`.

    Raises:
        duckdb.Error: the query fails.
        DbtoolError: the release cannot be read.
    """
    files = files_of(connection)
    if files is None:
        return None
    contents = files.contents
    if isinstance(contents.place, FolderPlace):
        return None
    if sum(file.bytes for file in contents.manifest.measurements().values()) <= most:
        return None
    with open_contents(contents, empty=True) as trial_run:
        explain = f"EXPLAIN (ANALYZE, FORMAT json) {query}"
        plan = json.loads(trial_run.execute(explain, values).fetchall()[0][1])
        columns = set(_columns(plan["children"]))
        tried = files_of(trial_run)
        asked = [files.rows(path) for path in (tried.opened() if tried is not None else ())]
    return sum(
        _bytes(contents, file, rows, columns)
        for file, rows in asked
        if file.table == MEASUREMENTS and rows is not None
    )


def _bytes(
    contents: Contents, file: PublishedFile, rows: tuple[int, int], columns: set[str]
) -> int:
    """How many bytes some columns of some rows of a file take."""
    _, footer = contents.footer(file)
    chosen = footer.beginning(*rows)
    described = pq.read_metadata(io.BytesIO(MAGIC + footer.of(chosen)))
    return sum(
        _most_read(described.row_group(number), columns)
        for number in range(described.num_row_groups)
    )


def _most_read(group: pq.RowGroupMetaData, columns: set[str]) -> int:
    """Up to how many bytes DuckDB reads of some columns of a row group.

    It reads small gaps between columns along with them. A column's length it counts from behind the
    dictionary, and so reads beyond its end by as much.
    """
    chunks = [group.column(number) for number in range(group.num_columns)]
    wanted = [chunk for chunk in chunks if chunk.path_in_schema.partition(".")[0] in columns]
    beyond = sum(
        max(chunk.data_page_offset - chunk.dictionary_page_offset, 0)
        for chunk in wanted
        if chunk.dictionary_page_offset is not None
    )
    everything = sum(chunk.total_compressed_size for chunk in chunks)
    asked = sum(chunk.total_compressed_size + _GAP_BYTES for chunk in wanted)
    return int(min(everything, asked) + beyond)


def _columns(plan: Any) -> Iterator[str]:
    """The columns that a plan which was run has read from files."""
    for node in plan:
        about = node["extra_info"]
        if about.get("Function") == "READ_PARQUET" and about.get("Total Files Read") != "0":
            named = about.get("Projections", [])
            yield from [named] if isinstance(named, str) else named
        yield from _columns(node["children"])
