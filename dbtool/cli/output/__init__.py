"""Prints the rows of a DuckDB result on standard output, in any of the formats.

The modules below import what their format needs and no more, so that a small table costs little.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dbtool.cli.options import BINARY, Format
from dbtool.errors import UsageError

if TYPE_CHECKING:
    import duckdb


def require_printable(output_format: Format) -> None:
    """Refuses a binary format on a terminal; called before a query runs.

    Raises:
        UsageError: the format is parquet or arrow, and standard output is a terminal.
    """
    if output_format in BINARY and sys.stdout.isatty():
        raise UsageError(
            f"--format {output_format} is not for a terminal; "
            f"send it to a file with `> rows.{output_format}`"
        )


def print_rows(
    result: duckdb.DuckDBPyConnection, output_format: Format, limit: int | None = None
) -> None:
    """Prints the rows of an executed query, a batch at a time.

    Args:
        result: a connection whose last statement returns rows.
        output_format: how they are printed.
        limit: print at most so many rows; None: all.

    Raises:
        UsageError: a binary format on a terminal.
        DbtoolError: the query failed while its rows were read, or the format cannot hold a column.
    """
    require_printable(output_format)
    if output_format in (Format.TABLE, Format.MARKDOWN):
        from dbtool.cli.output import text

        text.print_rows(result, output_format, limit)
    else:
        from dbtool.cli.output import records

        records.print_rows(result, output_format, limit)
