"""Loads a published release folder into a database: study by study, each whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import duckdb

from dbtool.errors import DbtoolError
from dbtool.store import catalog
from dbtool.store.database import file_of, schema_version, transaction, writing_failed
from dbtool.store.published.files import fault
from dbtool.store.published.layout import MANIFEST, TABLES, table_path
from dbtool.store.published.manifest import GET_ANEW, read_published
from dbtool.store.sql import statement
from dbtool.store.statements import interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dbtool.store.ingest import Progress
    from dbtool.store.metadata import Study
    from dbtool.store.published.manifest import PublishedManifest

_DEFINITION = (
    *("workload", "collection", "dataset", "model", "optimizer", "sparsity"),
    *("metric", "goal", "maximize", "train_examples"),
)
_SETTINGS = ("batch_size", "train_steps", "early_stopping", "seed")


class _RefusedError(Exception):
    """A study does not go in; the message says why."""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of the studies of a published release.

    Attributes:
        release: its name.
        added: studies of which trials were added.
        already_there: studies all of whose trials the database held.
        refused: name and reason of each study that is damaged or clashes with what is there.
        trials: trials that were added.
        measurements: measurements that were added.
    """

    release: str
    added: int
    already_there: int
    refused: tuple[tuple[str, str], ...]
    trials: int
    measurements: int


class _Trial(NamedTuple):
    """A row of published_trials.sql."""

    trial_id: int
    is_held: bool
    is_same: bool
    shard_id: int | None
    measurements: int
    held_shard: str | None


def load_published(
    connection: duckdb.DuckDBPyConnection, folder: Path, on_progress: Progress | None = None
) -> LoadReport:
    """Loads a published release; studies that clash with what is there are refused, the rest go in.

    Each study is one transaction. Stopped at any moment and run again, it ends with the rows of an
    undisturbed run; trials that are already there change nothing.

    Args:
        connection: from `open_for_writing`.
        folder: the release's folder.
        on_progress: called after each study with the number dealt with and the number of all.

    Raises:
        DbtoolError: the folder is damaged or of another schema version, or the database could not
            be written; studies finished until then are stored.
    """
    database = file_of(connection)
    manifest = read_published(folder)
    _check(folder, manifest)
    try:
        with interruptible(), _tables(connection, folder):
            return _Work(connection, folder, manifest, on_progress).run()
    except duckdb.Error as error:
        raise writing_failed(database, error) from error


def _check(folder: Path, manifest: PublishedManifest) -> None:
    """Refuses a folder of another schema version, or whose tables are damaged.

    Raises:
        DbtoolError: it is such a folder.
    """
    if manifest.schema_version != schema_version():
        raise DbtoolError(
            f"{folder} has schema version {manifest.schema_version} and this dbtool reads "
            f"{schema_version()}: get the release in that version, or install the dbtool that "
            f"wrote it ({manifest.dbtool})"
        )
    for file in manifest.files:
        if file.table in TABLES and (reason := fault(folder, file)):
            raise DbtoolError(f"{folder / file.path} is damaged: {reason}; {GET_ANEW}")


@contextlib.contextmanager
def _tables(connection: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[None]:
    """Keeps the small tables of a folder as published_TABLE while the block runs."""
    for table in TABLES:
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE published_{table} AS FROM read_parquet(?)",
            [_literal(folder / table_path(table))],
        )
    try:
        yield
    finally:
        # After a failed write the connection is beyond use.
        with contextlib.suppress(duckdb.Error):
            for table in TABLES:
                connection.execute(f"DROP TABLE published_{table}")


def _literal(path: Path) -> str:
    """A path in which DuckDB finds no pattern."""
    return glob.escape(str(path))


class _Work:
    """One run of `load_published`: what it has done so far."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        folder: Path,
        manifest: PublishedManifest,
        on_progress: Progress | None,
    ) -> None:
        self._connection = connection
        self._folder = folder
        self._manifest = manifest
        self._files = manifest.measurements()
        self._on_progress = on_progress
        self._faults: dict[str, str | None] = {}
        self._added = self._already_there = self._trials = self._measurements = 0
        self._refused: list[tuple[str, str]] = []

    def run(self) -> LoadReport:
        """Loads study by study."""
        result = self._connection.execute(statement("published_studies"))
        names = [column[0] for column in result.description]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        for done, row in enumerate(rows, 1):
            try:
                self._load(row)
            except _RefusedError as refusal:
                self._refused.append((f"{row['workload']}/{row['batch_size']}", str(refusal)))
            if self._on_progress is not None:
                self._on_progress(done, len(rows))
        return LoadReport(
            self._manifest.release,
            self._added,
            self._already_there,
            tuple(self._refused),
            self._trials,
            self._measurements,
        )

    def _load(self, row: Mapping[str, Any]) -> None:
        """Stores those trials of a study that are new.

        Raises:
            _RefusedError: they are damaged, or other rows of the study are there.
        """
        study = self._study(row)
        stored = catalog.find(self._connection, study)
        if differing := catalog.differences(stored, study):
            raise _RefusedError(f"it differs from the stored study in {', '.join(differing)}")
        ids = {"study_id": stored.study_id, "published_id": row["study_id"]}
        new = self._new_trials(ids)
        if not new and stored.study_id is not None:
            self._already_there += 1
            return
        self._check_measurements(row["workload"])
        with transaction(self._connection):
            produced = row["definition"] is not None
            ids["study_id"] = catalog.add_study(self._connection, stored, study, produced=produced)
            self._add(ids, new, row["workload"], whole=stored.study_id is None)
        self._added += 1
        self._trials += len(new)
        self._measurements += sum(trial.measurements for trial in new)

    def _study(self, row: Mapping[str, Any]) -> Study:
        """A study as the store takes it.

        Raises:
            DbtoolError: the folder's tables hold no sound study.
        """
        about = {name: row[name] for name in ("release", "title", "licence", "citation")}
        settings = {name: row[name] for name in _SETTINGS}
        try:
            if row["definition"] is None:
                # What an archive's path and table tell of a workload.
                definition = {name: row[name] for name in _DEFINITION}
                inclusive = {"goal_inclusive": True} if row["goal_inclusive"] else {}
                workload = definition | inclusive
            else:
                workload = json.loads(row["definition"])
                workload |= {name: workload[name] for name in _DEFINITION}
            described = {
                name: None if row[name] is None else json.loads(row[name])
                for name in ("search_space", "search")
            }
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DbtoolError(
                f"{self._folder} holds a study of {row['workload']} that cannot be read; {GET_ANEW}"
            ) from error
        whole = {**about, **settings, **described, "workload": workload}
        return cast("Study", whole)

    def _new_trials(self, ids: Mapping[str, int | None]) -> list[_Trial]:
        """The trials that the database does not hold.

        Raises:
            _RefusedError: it holds another one of the same id.
        """
        rows = self._connection.execute(statement("published_trials"), dict(ids)).fetchall()
        trials = [_Trial(*row) for row in rows]
        for trial in trials:
            if trial.is_held and not trial.is_same:
                holder = trial.held_shard or "the published archive"
                raise _RefusedError(
                    f"its trial {trial.trial_id} is already there from {holder}, "
                    "whose contents differ"
                )
        return [trial for trial in trials if not trial.is_held]

    def _check_measurements(self, workload: str) -> None:
        """Reads the whole file of a workload's measurements, the first time.

        Raises:
            _RefusedError: it is damaged.
        """
        file = self._files.get(workload)
        if file is None:
            raise _RefusedError(f"{self._folder / MANIFEST} lists no file of its measurements")
        if workload not in self._faults:
            self._faults[workload] = fault(self._folder, file)
        if reason := self._faults[workload]:
            raise _RefusedError(f"{self._folder / file.path} is damaged: {reason}")

    def _add(
        self, ids: Mapping[str, int | None], new: list[_Trial], workload: str, *, whole: bool
    ) -> None:
        """Stores trials with their shards, measurements and improvements.

        Raises:
            _RefusedError: a shard is there already under another study, or the measurements are
                not as many as the trials say.
        """
        self._add_shards(ids, {trial.shard_id for trial in new})
        numbers = [trial.trial_id for trial in new]
        chosen = {**ids, "trials": numbers}
        path = _literal(self._folder / self._files[workload].path)
        # Without a list of trials, so that rows of none would be counted too.
        rows = {**ids, "file": path, "trials": None if whole else numbers}
        [(added,)] = self._connection.execute(
            statement("add_published_measurements"), rows
        ).fetchall()
        if added != sum(trial.measurements for trial in new):
            raise _RefusedError(
                f"{path} holds {added:,} measurements of it, not those of its trials"
            )
        self._connection.execute(statement("add_published_trials"), chosen)
        self._connection.execute(statement("add_published_improvements"), chosen)

    def _add_shards(self, ids: Mapping[str, int | None], wanted: set[int | None]) -> None:
        """Stores the shards of new trials."""
        values = {"published_id": ids["published_id"]}
        rows = self._connection.execute(statement("published_shards"), values).fetchall()
        for shard_id, sha256, name, measurements, producer, release, study in rows:
            if shard_id not in wanted:
                continue
            if release is not None:
                raise _RefusedError(
                    f"its shard {name} is already there as part of {release}, {study}"
                )
            given = {"sha256": sha256, "name": name, "producer": producer}
            self._connection.execute(
                statement("add_shard"),
                {"study_id": ids["study_id"], "measurements": measurements, **given},
            )
