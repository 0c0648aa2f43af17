"""Rows for programs: CSV, JSON, JSON lines, Parquet and Arrow."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.cli.options import Format
from dbtool.cli.output.columns import for_csv, for_json
from dbtool.core.errors import DbtoolError, first_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbtool.cli.output import TypedRows


def print_records(rows: TypedRows, output_format: Format) -> None:
    """Print rows in a format for programs; see `dbtool.cli.output.print_rows`."""
    output = sys.stdout.buffer
    try:
        match output_format:
            case Format.CSV:
                output.writelines(_csv(rows))
            case Format.JSON:
                output.writelines(_json(rows))
            case Format.JSONL:
                output.writelines(b"".join(lines) for lines in _json_lines(rows))
            case Format.PARQUET:
                with pq.ParquetWriter(output, rows.schema, compression="zstd") as parquet:
                    for batch in rows.batches:
                        parquet.write_batch(batch)
            case Format.ARROW:
                with pa.ipc.new_stream(output, rows.schema) as stream:
                    for batch in rows.batches:
                        stream.write_batch(batch)
    except pa.ArrowException as error:
        raise DbtoolError(
            f"writing --format {output_format} failed: {first_sentence(error)}; "
            "cast the column in the query or choose another --format"
        ) from error
    output.flush()


def _csv(rows: TypedRows) -> Iterator[bytes]:
    header = pl.DataFrame(schema=dict.fromkeys(rows.schema.names, pl.String))
    yield header.write_csv().encode()
    for table in rows.converted(
        lambda columns: ", ".join(f"{for_csv(name, kind)} AS {name}" for name, kind in columns)
    ):
        yield pl.DataFrame(table).write_csv(include_header=False).encode()


def _json_lines(rows: TypedRows) -> Iterator[list[bytes]]:
    """Yield the rows as JSON objects, one on a line, a list of them for each batch."""
    for table in rows.converted(
        lambda columns: (
            f"to_json({{{', '.join(f'{name}: {for_json(name, kind)}' for name, kind in columns)}}})"
            "::VARCHAR AS line"
        )
    ):
        yield [f"{line}\n".encode() for line in table["line"].to_pylist()]


def _json(rows: TypedRows) -> Iterator[bytes]:
    before = b"[\n"
    for lines in _json_lines(rows):
        for line in lines:
            yield before + line.removesuffix(b"\n")
            before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"
