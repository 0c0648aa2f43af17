"""Writes measurements into files of other programs' formats, complete or not at all."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa

from dbtool.core.contract import OTHER_METRICS, metric_columns
from dbtool.core.errors import first_sentence
from dbtool.core.files import whole_output
from dbtool.release.file_format import FileFormat
from dbtool.release.original import refuse_folders, write_original
from dbtool.release.selection import read_rows, select
from dbtool.store.opening import schema_statements
from dbtool.store.statements import interruptible, sql_text, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from dbtool.release.original import OnTrials
    from dbtool.release.selection import ExportedStudy, ExportedTrial
    from dbtool.store.releases import Releases


_COPY = {
    FileFormat.PARQUET: "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2",
    FileFormat.CSV: "FORMAT csv",
    FileFormat.JSONL: "FORMAT json",
}
_TEXTS = {FileFormat.CSV, FileFormat.JSONL}


def export(
    db: Releases,
    out: Path,
    file_format: FileFormat,
    workload: str | Iterable[str] | None = None,
    *,
    batch_size: int | Iterable[int] | None = None,
    release: str | None = None,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[ExportedStudy]:
    """Write measurements to a new file; see `dbtool.Database.export`."""
    studies, index = select(db, workload, batch_size, release)
    done, total = 0, sum(trial.measurements for study in studies for trial in study.trials)

    def on_trials(trials: Sequence[ExportedTrial]) -> None:
        nonlocal done
        done += sum(trial.measurements for trial in trials)
        on_progress(done, total)

    if file_format is FileFormat.ORIGINAL:
        refuse_folders(studies)
    with whole_output(out) as path, db.cursor() as cursor:
        if file_format is FileFormat.ORIGINAL:
            write_original(cursor, studies, path, on_trials)
            return studies
        with _rows(cursor, studies, file_format, on_trials) as rows:
            if file_format is FileFormat.ARROW:
                _write_arrow(path, rows)
            elif file_format is FileFormat.DUCKDB:
                _write_database(path, {**index, "measurements": rows})
            else:
                _copy(path, file_format, rows)
    return studies


def _write_arrow(path: Path, rows: pa.RecordBatchReader) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, rows.schema, options=options) as writer,
    ):
        for batch in rows:
            columns = map(_without_leftovers, batch.columns)
            writer.write_batch(pa.RecordBatch.from_arrays([*columns], schema=batch.schema))


def _without_leftovers(column: pa.Array) -> pa.Array:
    """Return a column with zeros below its nulls, where DuckDB leaves random memory."""
    if not (pa.types.is_floating(column.type) and column.null_count):
        return column
    _, valid = column.is_valid().buffers()
    _, values = pl.Series(column).fill_null(0).to_arrow().buffers()
    return pa.Array.from_buffers(column.type, len(column), [valid, values])


def _copy(path: Path, file_format: FileFormat, rows: pa.RecordBatchReader) -> None:
    columns = [_json_column(name) for name in rows.schema.names]
    chosen = ", ".join(columns) if file_format is FileFormat.JSONL else "*"
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute(
            f"COPY (SELECT {chosen} FROM rows) TO {sql_text(str(path))} ({_COPY[file_format]})"  # noqa: S608 (ours)
        )


def _json_column(name: str) -> str:
    """Return the SQL of a column for JSON, in which numbers that are not finite become null."""
    if name == OTHER_METRICS:
        return f"{name}::JSON AS {name}"
    if name in metric_columns():
        # Via text, a number of 32 bits becomes the decimal that it was written as.
        return f"if(isfinite({name}), {name}::VARCHAR::DOUBLE, NULL) AS {name}"
    return name


def _write_database(path: Path, relations: Mapping[str, pa.Table | pa.RecordBatchReader]) -> None:
    """Write a DuckDB file with the relations behind the views, the views and the macros."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA stored")
        for name, incoming in relations.items():
            connection.register("incoming", incoming)
            connection.execute(f"CREATE TABLE stored.{name} AS FROM incoming")
            connection.unregister("incoming")
        for statements in schema_statements():
            connection.execute(statements)


@contextlib.contextmanager
def _rows(
    cursor: duckdb.DuckDBPyConnection,
    studies: Sequence[ExportedStudy],
    file_format: FileFormat,
    on_trials: OnTrials,
) -> Iterator[pa.RecordBatchReader]:
    """Yield the measurements in order, for the block to write."""
    # In text formats, metrics without their own column are a JSON object, as in shards.
    is_stored = file_format in _TEXTS or file_format is FileFormat.DUCKDB
    source = "stored.measurements" if is_stored else "measurements"
    failed: list[BaseException] = []
    known = set(cursor.table(source).columns)
    columns = ", ".join(name for name in cursor.table("measurements").columns if name in known)
    schema = table_of(cursor, f"SELECT {columns} FROM {source} LIMIT 0", {}).schema  # noqa: S608 (ours)

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for study in studies:
                for trials in study.groups():
                    yield from read_rows(cursor, study, trials, columns, source).to_batches()
                    on_trials(trials)
        except BaseException as error:
            # On its way through DuckDB or Arrow the error would become another one.
            failed.append(error)
            raise

    try:
        with interruptible():
            yield pa.RecordBatchReader.from_batches(schema, batches())
    except (duckdb.Error, pa.ArrowException) as error:
        raise failed[0] if failed else OSError(first_sentence(error)) from error
