"""Writes measurements into files of other programs' formats, complete or not at all.

The format original is the layout of the published archive, as a folder or a tar file.
"""

import contextlib
import csv
import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal, cast

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from dbtool.core.contract import ARCHIVE_ROOT, OTHER_METRICS, archive_columns
from dbtool.core.errors import DbtoolError, UsageError, first_sentence
from dbtool.core.files import whole_output
from dbtool.core.footer import Trial
from dbtool.release.file_format import TAR_ENDINGS, FileFormat, file_format_of
from dbtool.release.selection import OF_STUDY, ExportedStudy, read_rows, select, trial_ids
from dbtool.store.relations import schema_statements
from dbtool.store.releases import Releases
from dbtool.store.statements import interruptible, sql_text, table_of

Put = Callable[[str, bytes], None]
OnTrials = Callable[[Sequence[Trial]], None]

_COPY = {
    FileFormat.PARQUET: "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2",
    FileFormat.CSV: "FORMAT csv",
    FileFormat.JSONL: "FORMAT json",
}
# Of files of DuckDB, so that the oldest version that dbtool runs on reads them.
_STORAGE: dict[str, str | bool | int | float | list[str]] = {
    "storage_compatibility_version": "v1.5.0"
}
# Metrics without their own column, as shards have them: an object, with words for the numbers that
# JSON lacks.
_AS_JSON = f"""
    map_from_entries(list_transform(
        map_entries({OTHER_METRICS}),
        lambda each: {{
            k: each.key,
            v: if(isfinite(each.value), to_json(each.value), to_json(each.value::VARCHAR))
        }}
    ))::JSON
"""


def export(
    db: Releases,
    out: Path,
    file_format: str | None,
    workload: str | Iterable[str] | None = None,
    *,
    batch_size: int | Iterable[int] | None = None,
    release: str | None = None,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[ExportedStudy]:
    """Write measurements to a new file; see `dbtool.Database.export`."""
    file_format = file_format_of(out, file_format)
    studies, index = select(db, workload, batch_size, release)
    done, total = 0, sum(trial.measurements for study in studies for trial in study.trials)

    def on_trials(trials: Sequence[Trial]) -> None:
        nonlocal done
        done += sum(trial.measurements for trial in trials)
        on_progress(done, total)

    if file_format is FileFormat.ORIGINAL:
        _refuse_folders(studies)
    # DuckDB would take what follows for its own words, and lay its log somewhere else.
    if file_format is FileFormat.DUCKDB and "?" in str(out.absolute()):
        raise UsageError(
            f"DuckDB writes no file whose path has a question mark, as {out.absolute()} has: name "
            "another one with --out"
        )
    with whole_output(out) as path, db.cursor() as cursor:
        if file_format is FileFormat.ORIGINAL:
            with _layout_writer(path) as put:
                for study in studies:
                    _write_study(cursor, study, put, on_trials)
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
    columns = ", ".join(_column(field, file_format) for field in rows.schema)
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute(
            f"COPY (SELECT {columns} FROM rows) TO {sql_text(str(path))} ({_COPY[file_format]})"  # noqa: S608 (ours)
        )


def _column(field: pa.Field, file_format: FileFormat) -> str:
    """Return the SQL of a column, in JSON with null and in CSV with NaN as others read it."""
    name: str = field.name
    if name == OTHER_METRICS and file_format is not FileFormat.PARQUET:
        return f"{_AS_JSON} AS {name}"
    if pa.types.is_floating(field.type) and file_format is FileFormat.JSONL:
        # Via text, a number of 32 bits becomes the decimal that it was written as.
        return f"if(isfinite({name}), {name}::VARCHAR::DOUBLE, NULL) AS {name}"
    if pa.types.is_floating(field.type) and file_format is FileFormat.CSV:
        # DuckDB writes nan or -nan, which Polars takes for text.
        return f"if(isnan({name}), 'NaN', {name}::VARCHAR) AS {name}"
    return name


def _write_database(path: Path, relations: Mapping[str, pa.Table | pa.RecordBatchReader]) -> None:
    """Write a DuckDB file with the relations behind the views, the views and the macros."""
    with duckdb.connect(str(path), config=_STORAGE) as connection:
        connection.execute("CREATE SCHEMA stored")
        for name, incoming in relations.items():
            connection.from_arrow(incoming).create(f"stored.{name}")
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
    # A file of DuckDB has the relation behind the view, and the view over it.
    source = "stored.measurements" if file_format is FileFormat.DUCKDB else "measurements"
    failed: list[BaseException] = []
    schema = table_of(cursor, f"SELECT * FROM {source} LIMIT 0", {}).schema  # noqa: S608 (ours)
    columns = ", ".join(schema.names)

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


def study_json(study: ExportedStudy) -> dict[str, Any]:
    """Return the contents of a study.json."""
    return {
        "batch_size": study.batch_size,
        "dataset": study.dataset,
        "early_stopping": study.early_stopping,
        "model": study.model,
        "optimizer": study.optimizer,
        "parameter_configs": study.search_space,
        "train_steps": study.train_steps,
    }


def metadata_json(study: ExportedStudy, trial: Trial) -> dict[str, Any]:
    """Return the contents of a metadata.json, without the part that the authors call internal."""
    parameters = {
        # The archive writes whole numbers without a decimal point.
        name: int(value)
        if study.search_space.get(name, {}).get("type") == "INTEGER" and float(value).is_integer()
        else value
        for name, value in trial.metaparameters.items()
    }
    return {
        "parameters": parameters,
        "status": trial.status,
        "steps": trial.steps,
        "trial_id": trial.trial_id,
    }


def _refuse_folders(studies: Sequence[ExportedStudy]) -> None:
    """Raise an error for workloads that share a folder or whose name is not a path."""
    release_of: dict[str, str] = {}
    for study in studies:
        path = PurePosixPath(study.workload)
        if path.is_absolute() or ".." in path.parts or path.as_posix() != study.workload:
            raise UsageError(
                f"{study.workload!r} is not a path of a folder, as the original layout needs one "
                "for a workload: leave it out, or choose another --format"
            )
        other = release_of.setdefault(study.workload, study.release)
        if other != study.release:
            raise UsageError(
                f"the releases {other} and {study.release} hold {study.workload}, and the original "
                f"layout has room for one: choose it, as in --release {other}"
            )


@contextlib.contextmanager
def _layout_writer(path: Path) -> Iterator[Put]:
    """Yield a function that writes files into a new folder or, by its extension, a new tar file."""

    def write(name: str, contents: bytes) -> None:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(contents)

    if not path.name.endswith(TAR_ENDINGS):
        yield write
        return
    with contextlib.ExitStack() as stack:
        file = cast("BinaryIO", stack.enter_context(path.open("wb")))
        mode: Literal["w|", "w|bz2"] = "w|bz2" if path.name.endswith(".bz2") else "w|"
        if path.name.endswith(".gz"):
            # A time stamp would make the bytes differ.
            packed = gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0)
            file = cast("BinaryIO", stack.enter_context(packed))
        archive = stack.enter_context(tarfile.open(fileobj=file, mode=mode))

        def add(name: str, contents: bytes) -> None:
            info = tarfile.TarInfo(name)
            info.size = len(contents)
            archive.addfile(info, io.BytesIO(contents))

        yield add


def _write_study(
    cursor: duckdb.DuckDBPyConnection, study: ExportedStudy, put: Put, on_trials: OnTrials
) -> None:
    folder = f"{ARCHIVE_ROOT}/{study.workload}/{study.batch_size}"
    put(f"{folder}/study.json", _json(study_json(study)))
    columns = _columns(cursor, study)
    header = _header(["step", *columns])
    for trials in study.groups():
        for trial, lines in zip(trials, _lines(cursor, study, trials, columns), strict=True):
            metadata = _json(metadata_json(study, trial))
            put(f"{folder}/{trial.trial_id}/metadata.json", metadata)
            put(f"{folder}/{trial.trial_id}/measurements.csv", header + lines)
        on_trials(trials)


def _columns(cursor: duckdb.DuckDBPyConnection, study: ExportedStudy) -> dict[str, str]:
    """Return the SQL of each metric with a value in a study, by its name in their shared header."""
    own = archive_columns()
    rows = f"FROM measurements WHERE {OF_STUDY}"
    counts = ", ".join(f"count({name})" for name in own)
    [found] = cursor.execute(f"SELECT {counts} {rows}", study.keys).fetchall()
    columns = {own[name]: name for name, count in zip(own, found, strict=True) if count}
    naming = f"SELECT DISTINCT unnest(map_keys(other_metrics)) {rows}"
    others = sorted(name for (name,) in cursor.execute(naming, study.keys).fetchall())
    return columns | {name: f"other_metrics[{sql_text(name)}]" for name in others}


def _lines(
    cursor: duckdb.DuckDBPyConnection,
    study: ExportedStudy,
    trials: Sequence[Trial],
    columns: Mapping[str, str],
) -> Iterator[bytes]:
    """Yield the lines of each trial's measurements.csv after the header."""
    fields = ["step", *(f"coalesce({value}::VARCHAR, '')" for value in columns.values())]
    line = f"concat_ws(',', {', '.join(fields)}) || chr(10)"
    rows = read_rows(cursor, study, trials, f"trial_id, {line} AS line")
    ids = trial_ids(rows)
    # Cutting one text of all lines takes a fraction of the time of a text for each line.
    lines = rows["line"].cast(pa.large_string()).combine_chunks()
    _, offsets, text = lines.buffers()
    begins = np.frombuffer(offsets, np.int64, len(lines) + 1, 8 * lines.offset)
    for trial in trials:
        first, end = np.searchsorted(ids, [trial.trial_id, trial.trial_id + 1])
        yield text[begins[first] : begins[end]].to_pybytes() if end > first else b""


def _header(names: Sequence[str]) -> bytes:
    """Return the first line of a file, from which `dbtool import` reads the same names."""
    for name in names:
        if not name.isprintable() or name != name.strip() or not name or names.count(name) > 1:
            raise DbtoolError(
                f"the metric {name!r} cannot stand in a header of the original format: "
                "choose another --format"
            )
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(names)
    return line.getvalue().encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()
