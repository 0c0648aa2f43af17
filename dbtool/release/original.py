"""Writes the layout of the published archive, as a folder or a tar file."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import tarfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

import numpy as np
import pyarrow as pa

from dbtool.core.contract import ARCHIVE_ROOT, archive_columns
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.release.file_format import TAR_ENDINGS
from dbtool.release.selection import OF_STUDY, ExportedStudy, ExportedTrial, read_rows, trial_ids
from dbtool.store.statements import sql_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

    Put = Callable[[str, bytes], None]
    OnTrials = Callable[[Sequence[ExportedTrial]], None]


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


def metadata_json(study: ExportedStudy, trial: ExportedTrial) -> dict[str, Any]:
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


def refuse_folders(studies: Sequence[ExportedStudy]) -> None:
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


def write_original(
    cursor: duckdb.DuckDBPyConnection,
    studies: Sequence[ExportedStudy],
    path: Path,
    on_trials: OnTrials,
) -> None:
    """Write studies in the archive's layout; equal ones give equal bytes."""
    with _layout_writer(path) as put:
        for study in studies:
            _write_study(cursor, study, put, on_trials)


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
    trials: Sequence[ExportedTrial],
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
