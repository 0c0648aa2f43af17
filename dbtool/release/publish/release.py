"""Publishes one release of a database as a folder: whole or not at all."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

import dbtool
from dbtool.errors import DbtoolError, UsageError
from dbtool.folders import folder_to_build_in
from dbtool.release.publish.card import write_card
from dbtool.release.publish.citation import write_citation
from dbtool.release.publish.croissant import write_croissant
from dbtool.release.publish.parquet import ParquetFile
from dbtool.release.publish.reduced import (
    count,
    recounted,
    reduced_rows,
    reduced_shards,
    reductions,
)
from dbtool.release.publish.rows import (
    read_measurements,
    read_tables,
    read_trials,
)
from dbtool.release.reduction import Reduction
from dbtool.store.database import schema_version
from dbtool.store.improvements import improvements
from dbtool.store.published.files import schemas
from dbtool.store.published.layout import (
    MANIFEST,
    MEASUREMENTS,
    SUMS,
    measurements_path,
    table_path,
)
from dbtool.store.published.manifest import PublishedManifest, sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import duckdb

    from dbtool.release.publish.rows import Study, Tables
    from dbtool.store.published.manifest import PublishedFile

LICENCE = "CC-BY-4.0"
"""Of measurements whose licence nobody names."""
_WHOLE = Reduction()


class Said(NamedTuple):
    """What is said about a release, where that replaces what its database says.

    Attributes:
        title: one line on what it is.
        licence: SPDX identifier of the measurements' licence.
        citation: BibTeX.
    """

    title: str | None = None
    licence: str | None = None
    citation: str | None = None


def publish_release(
    connection: duckdb.DuckDBPyConnection,
    out: Path,
    *,
    release: str,
    said: Said | None = None,
    reduction: Reduction = _WHOLE,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> PublishedManifest:
    """Writes a release as a folder for any static host; the same rows give the same bytes.

    Args:
        connection: a database that holds the release.
        out: the folder, which must not be there yet.
        release: the release's name.
        said: title, licence and citation; where nothing is said the database's hold, and for the
            licence at last CC-BY-4.0.
        reduction: what to leave out of what came from shards.
        on_progress: called after each study with the number written and the number of all.

    Raises:
        UsageError: the folder is there already, or the shards were reduced in a way that
            `reduction` cannot go on from.
        DbtoolError: writing fails.
    """
    if out.exists():
        raise UsageError(f"{out} is there already; choose another folder with --out or remove it")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with folder_to_build_in(out.parent, f".{out.name}-publish-") as building:
            folder = building / "release"
            folder.mkdir()
            tables = _tables(connection, release, said or Said(), reduction)
            files = _Writing(connection, folder, tables, reduction).write(on_progress)
            manifest = _finish(folder, tables, files)
            folder.rename(out)
    except OSError as error:
        raise DbtoolError(
            f"could not write {out}: {error.strerror or error}; "
            "free some space or choose another folder with --out, then run the command again"
        ) from error
    return manifest


def _tables(
    connection: duckdb.DuckDBPyConnection, release: str, said: Said, reduction: Reduction
) -> Tables:
    """The small tables as they are published, but for how many measurements are left."""
    tables = read_tables(connection, release, said._asdict())
    if tables.releases["licence"].to_pylist() == [None]:
        tables = read_tables(connection, release, said._replace(licence=LICENCE)._asdict())
    return tables._replace(shards=reduced_shards(tables.shards, reduction))


def _finish(folder: Path, tables: Tables, files: list[PublishedFile]) -> PublishedManifest:
    """Writes what is said about the tables, and last the manifest and the sums."""
    [about] = tables.releases.to_pylist()
    manifest = PublishedManifest(
        release=about["release"],
        title=about["title"],
        licence=about["licence"],
        citation=about["citation"],
        dbtool=dbtool.__version__,
        schema_version=schema_version(),
        reduced=reductions(tables.shards),
        files=tuple(sorted(files, key=lambda file: file.path)),
    )
    about_it = [
        *write_citation(folder, manifest),
        write_croissant(folder, manifest),
        write_card(folder, manifest, tables),
    ]
    ordered = sorted([*manifest.files, *about_it], key=lambda file: file.path)
    manifest = dataclasses.replace(manifest, files=tuple(ordered))
    (folder / MANIFEST).write_bytes(manifest.to_json().encode())
    (folder / SUMS).write_bytes(sums(manifest).encode())
    folder.chmod(0o755)
    return manifest


class _Writing:
    """The Parquet files of one release on their way into a folder."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        folder: Path,
        tables: Tables,
        reduction: Reduction,
    ) -> None:
        self._connection = connection
        self._folder = folder
        self._tables = tables
        self._reduction = reduction
        self._of_shards: Counter[int] = Counter()

    def write(self, on_progress: Callable[[int, int], None]) -> list[PublishedFile]:
        """Writes all tables; returns their files."""
        studies, files, done = self._tables.in_order, [], 0
        with (
            self._file("trials") as trials,
            self._file("improvements") as improving,
        ):
            for workload, group in groupby(studies, key=lambda study: study.workload):
                with self._measurements_file(workload) as measurements:
                    for study in group:
                        self._write_study(study, measurements, trials, improving)
                        done += 1
                        on_progress(done, len(studies))
                    files.append(measurements.finish())
            files += [trials.finish(), improving.finish()]
        shards = recounted(self._tables.shards, "shard_id", self._of_shards)
        small = {**self._tables._asdict(), "shards": shards}
        for table in ("releases", "workloads", "studies", "shards"):
            with self._file(table) as file:
                file.write(small[table])
                files.append(file.finish())
        return files

    def _write_study(
        self, study: Study, measurements: ParquetFile, trials: ParquetFile, improving: ParquetFile
    ) -> None:
        """Writes the rows of a study."""
        listed = read_trials(self._connection, study, self._tables)
        rows_left: Counter[int] = Counter()
        for rows in self._kept(study, listed):
            rows_left.update(count(rows["trial_id"]))
            measurements.write(_of_study(rows, study))
            found = improvements(rows, study.metric, _feasible(listed))
            improving.write(_of_study(found, study))
        for file in (measurements, improving):
            file.end_study()
        listed = recounted(listed, "trial_id", rows_left)
        trials.write(listed)
        columns = (listed[name].to_pylist() for name in ("shard_id", "measurements"))
        for shard_id, left in zip(*columns, strict=True):
            if shard_id is not None:
                self._of_shards[shard_id] += left

    def _kept(self, study: Study, trials: pa.Table) -> Iterator[pa.Table]:
        """The measurements of a study that are kept, those of some trials at a time."""
        for rows, from_shards in read_measurements(self._connection, study, trials):
            # An archive's rows have no batch losses, and are kept as they were written.
            reduces = from_shards and self._reduction != _WHOLE
            kept = reduced_rows(rows, trials, self._reduction) if reduces else rows
            if len(kept):
                yield kept

    def _file(self, table: str) -> ParquetFile:
        return ParquetFile(self._folder, table_path(table), table)

    def _measurements_file(self, workload: str) -> ParquetFile:
        return ParquetFile(self._folder, measurements_path(workload), MEASUREMENTS, workload)


def _of_study(rows: pa.Table, study: Study) -> pa.Table:
    """Rows with their study's id, workload and batch size in front."""
    names = ("study_id", "workload", "batch_size")
    for name in reversed(names):
        field = schemas()[MEASUREMENTS].field(name)
        constant = pa.repeat(pa.scalar(getattr(study, name), field.type), len(rows))
        rows = rows.add_column(0, field, constant)
    return rows


def _feasible(trials: pa.Table) -> Sequence[int]:
    """The ids of the trials that are not INFEASIBLE."""
    columns = (trials[name].to_pylist() for name in ("trial_id", "status"))
    return [trial_id for trial_id, status in zip(*columns, strict=True) if status != "INFEASIBLE"]
