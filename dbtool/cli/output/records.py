"""Rows for programs: CSV, JSON, JSON lines, Parquet and Arrow, streamed in batches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

import duckdb
import pyarrow as pa

from dbtool.cli.options import BINARY, Format
from dbtool.cli.output import columns
from dbtool.errors import DbtoolError, first_sentence
from dbtool.store.statements import batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb.sqltypes import DuckDBPyType

# One row group of DuckDB's, which becomes one of the Parquet file; text takes more memory a row.
ROWS_A_GROUP = 122_880
ROWS_A_TEXT = 30_720


def print_rows(result: duckdb.DuckDBPyConnection, output_format: Format, limit: int | None) -> None:
    """Prints rows in a format for programs; see `dbtool.cli.output.print_rows`."""
    types = [column[1] for column in result.description]
    output = sys.stdout.buffer
    batch_rows = ROWS_A_GROUP if output_format in BINARY else ROWS_A_TEXT
    try:
        with batches(result, batch_rows) as reader:
            _write(_renamed(reader, limit), types, output_format, output)
    except pa.ArrowException as error:
        raise DbtoolError(
            f"writing --format {output_format} failed: {first_sentence(error)}; "
            "cast the column in the query or choose another --format"
        ) from error
    output.flush()


def _write(
    rows: pa.RecordBatchReader,
    types: Sequence[DuckDBPyType],
    output_format: Format,
    output: BinaryIO,
) -> None:
    """Writes rows in a format."""
    match output_format:
        case Format.CSV:
            _write_csv(rows, types, output)
        case Format.JSON:
            _write_json(rows, types, output)
        case Format.JSONL:
            _write_json_lines(rows, types, output)
        case Format.PARQUET:
            _write_parquet(rows, output)
        case Format.ARROW:
            _write_arrow(rows, output)


def _renamed(reader: pa.RecordBatchReader, limit: int | None) -> pa.RecordBatchReader:
    """The first rows of a reader, with a number after each name that occurs again."""
    names = _distinct(reader.schema.names)
    schema = pa.schema(
        [field.with_name(name) for field, name in zip(reader.schema, names, strict=True)]
    )
    return pa.RecordBatchReader.from_batches(schema, _first(reader, schema, limit))


def _first(
    reader: pa.RecordBatchReader, schema: pa.Schema, limit: int | None
) -> Iterator[pa.RecordBatch]:
    left = limit
    while left is None or left > 0:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        batch = batch.slice(0, left)
        left = None if left is None else left - batch.num_rows
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that differ also when case is ignored, as SQL does."""
    taken: set[str] = set()
    distinct = []
    for name in names:
        candidate, number = name, 0
        while candidate.lower() in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate.lower())
        distinct.append(candidate)
    return distinct


def _converted(rows: pa.RecordBatchReader, expressions: str) -> Iterator[pa.Table]:
    """Tables of SQL expressions over the rows, a batch at a time, worked out by another DuckDB."""
    # One query over the whole reader would run ahead of a slow writer and hold its rows in memory.
    with duckdb.connect() as converter:
        for batch in rows:
            converter.register("incoming", pa.Table.from_batches([batch]))
            result = converter.execute(f"SELECT {expressions} FROM incoming")  # noqa: S608 (names are quoted)
            yield result.to_arrow_table()


def _write_csv(rows: pa.RecordBatchReader, types: Sequence[DuckDBPyType], output: BinaryIO) -> None:
    import polars as pl

    names = [columns.quoted(name) for name in rows.schema.names]
    expressions = ", ".join(
        f"{columns.for_csv(name, kind)} AS {name}" for name, kind in zip(names, types, strict=True)
    )
    header = pl.DataFrame(schema=dict.fromkeys(rows.schema.names, pl.String))
    output.write(header.write_csv().encode())
    for batch in _converted(rows, expressions):
        frame = pl.DataFrame(pl.from_arrow(batch))
        output.write(frame.write_csv(include_header=False).encode())


def _json_lines(rows: pa.RecordBatchReader, types: Sequence[DuckDBPyType]) -> Iterator[list[str]]:
    """The rows as JSON objects, a list of them a batch."""
    names = [columns.quoted(name) for name in rows.schema.names]
    fields = ", ".join(
        f"{name}: {columns.for_json(name, kind)}" for name, kind in zip(names, types, strict=True)
    )
    for batch in _converted(rows, f"to_json({{{fields}}})::VARCHAR AS line"):
        yield batch.column(0).to_pylist()


def _write_json_lines(
    rows: pa.RecordBatchReader, types: Sequence[DuckDBPyType], output: BinaryIO
) -> None:
    batches = _json_lines(rows, types)
    output.writelines("".join(f"{line}\n" for line in lines).encode() for lines in batches)


def _write_json(
    rows: pa.RecordBatchReader, types: Sequence[DuckDBPyType], output: BinaryIO
) -> None:
    before = "[\n"
    for lines in _json_lines(rows, types):
        if lines:
            output.write((before + ",\n".join(lines)).encode())
            before = ",\n"
    output.write(b"[]\n" if before == "[\n" else b"\n]\n")


def _write_parquet(rows: pa.RecordBatchReader, output: BinaryIO) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(output, rows.schema, compression="zstd") as writer:
        for batch in rows:
            writer.write_batch(batch)


def _write_arrow(rows: pa.RecordBatchReader, output: BinaryIO) -> None:
    with pa.ipc.new_stream(output, rows.schema) as writer:
        for batch in rows:
            writer.write_batch(batch)
