"""Loads shards into a database: study by study, each whole or not at all, each shard once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import duckdb
import pyarrow as pa

from dbtool.errors import UsageError
from dbtool.store import catalog
from dbtool.store.contract import parse_shard_name, shard_schema
from dbtool.store.database import file_of, transaction, writing_failed
from dbtool.store.improvements import improvements, store_improvements
from dbtool.store.shards import Shard, ShardError, read_rows, read_shard, read_study, read_values
from dbtool.store.sql import statement
from dbtool.store.statements import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

Progress: TypeAlias = "Callable[[int, int], None]"
_Study: TypeAlias = "tuple[str, str, int]"


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of the shards.

    Attributes:
        added: shards whose rows were stored.
        already_there: shards that were passed over, as the database holds them.
        refused: path and reason of each shard that is out of contract or clashes with another.
        trials: trials that were added.
        measurements: measurements that were added.
    """

    added: int
    already_there: int
    refused: tuple[tuple[Path, str], ...]
    trials: int
    measurements: int


def find_shards(paths: Sequence[Path]) -> list[Path]:
    """The shards that paths name: files as they are, and those of a folder and what is below it.

    In a folder only files named trials-*.parquet count; hidden files and folders are passed over,
    and so are the temporary ones of a producer at work. A shard found twice is named once.

    Raises:
        UsageError: a path does not exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update(dict.fromkeys(sorted(_walk(path))))
        elif path.exists():
            found[path] = None
        else:
            raise UsageError(
                f"there is no {path}: name shards or a folder of them, "
                "which `dbtool produce` writes"
            )
    return list(found)


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("trials-*.parquet"):
        below = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith(".") for part in below):
            yield path


def ingest(
    connection: duckdb.DuckDBPyConnection,
    shards: Sequence[Path],
    on_progress: Progress | None = None,
) -> IngestReport:
    """Loads shards; those that are out of contract are refused and the rest goes in.

    Each study is one transaction. Stopped at any moment and run again, it ends with the rows of
    an undisturbed run; shards that are already there change nothing.

    Args:
        connection: from `open_for_writing`.
        shards: their paths, such as `find_shards` returns.
        on_progress: called after each shard with the number dealt with and the number of all.

    Raises:
        DbtoolError: the database could not be written; studies finished until then are stored.
    """
    database = file_of(connection)
    try:
        work = _Work(connection, len(shards), on_progress)
        with interruptible():
            for paths in _by_study(shards, work):
                work.load_study(paths)
    except duckdb.Error as error:
        raise writing_failed(database, error) from error
    return work.report()


def _by_study(shards: Sequence[Path], work: _Work) -> list[list[Path]]:
    """Groups shards by the study their footers name, in the order the rows shall have."""
    groups: dict[_Study, list[tuple[int, int, str, Path]]] = {}
    for path in shards:
        name = parse_shard_name(path.name)
        try:
            study = read_study(path)
        except ShardError as error:
            # The name and the digest say more about a damaged file than its footer does.
            work.refuse(path, _whole_reason(path, error))
            continue
        first, last = (name.first, name.last) if name else (0, 0)
        key = (study["release"], study["workload"]["workload"], study["batch_size"])
        groups.setdefault(key, []).append((first, last, path.name, path))
    return [[place[-1] for place in sorted(groups[key])] for key in sorted(groups)]


def _whole_reason(path: Path, error: ShardError) -> str:
    """Why a shard whose footer was refused is refused when it is read whole."""
    try:
        read_shard(path)
    except ShardError as whole:
        return whole.reason
    return error.reason


class _Work:
    """One run of `ingest`: what it has done so far."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, total: int, on_progress: Progress | None
    ) -> None:
        self._connection = connection
        self._total = total
        self._on_progress = on_progress
        self._added = self._already_there = self._trials = self._measurements = 0
        self._refused: list[tuple[Path, str]] = []
        held = connection.execute("SELECT sha256 FROM stored.shard").fetchall()
        self._held = {sha256 for (sha256,) in held}

    def report(self) -> IngestReport:
        """What became of the shards so far."""
        return IngestReport(
            self._added,
            self._already_there,
            tuple(self._refused),
            self._trials,
            self._measurements,
        )

    def refuse(self, path: Path, reason: str) -> None:
        """Notes a shard that does not go in."""
        self._refused.append((path, reason))
        self._progress()

    def load_study(self, paths: Sequence[Path]) -> None:
        """Stores those shards of one study that are in contract, agree with it and are new."""
        shards = list(self._new_shards(paths))
        if not shards:
            return
        with transaction(self._connection):
            accepted = self._accept(shards)
            if accepted:
                _store(self._connection, accepted)
        for shard in accepted:
            self._held.add(shard.sha256)
            self._added += 1
            self._trials += len(shard.trials)
            self._measurements += shard.rows
            self._progress()

    def _new_shards(self, paths: Sequence[Path]) -> Iterator[Shard]:
        """The shards in contract whose contents are not in the database, and each of them once."""
        seen: set[str] = set()
        for path in paths:
            try:
                shard = read_shard(path)
            except ShardError as error:
                self.refuse(path, error.reason)
                continue
            if shard.sha256 in self._held or shard.sha256 in seen:
                self._already_there += 1
                self._progress()
                continue
            seen.add(shard.sha256)
            yield shard

    def _accept(self, shards: Sequence[Shard]) -> list[Shard]:
        """The shards with new trials that agree with the stored study or, where new, the first."""
        stored = catalog.find(self._connection, shards[0].study)
        holders: dict[int, str] = {
            trial_id: name or "the published archive" for trial_id, name in stored.trials.items()
        }
        accepted: list[Shard] = []
        for shard in shards:
            differing = catalog.differences(stored, shard.study)
            clashes = [trial["trial_id"] for trial in shard.trials if trial["trial_id"] in holders]
            if differing:
                self.refuse(
                    shard.path, f"its study differs from the stored one in {', '.join(differing)}"
                )
            elif clashes:
                self.refuse(
                    shard.path,
                    f"its trial {clashes[0]} is already there from {holders[clashes[0]]}, "
                    "whose contents differ",
                )
            else:
                if not accepted:
                    stored = catalog.with_study(stored, shard.study)
                accepted.append(shard)
                holders |= {trial["trial_id"]: shard.path.name for trial in shard.trials}
        return accepted

    def _progress(self) -> None:
        if self._on_progress is not None:
            done = self._added + self._already_there + len(self._refused)
            self._on_progress(done, self._total)


def _store(connection: duckdb.DuckDBPyConnection, shards: Sequence[Shard]) -> None:
    """Stores shards of one study, and the study where it is not there."""
    study = shards[0].study
    study_id = catalog.add_study(connection, catalog.find(connection, study), study)
    with_ids = [(catalog.add_shard(connection, study_id, shard), shard) for shard in shards]
    catalog.add_trials(connection, study_id, with_ids)
    optional = frozenset().union(*(shard.optional for shard in shards))
    batches = (batch for shard in shards for batch in read_rows(shard.path, optional))
    reader = pa.RecordBatchReader.from_batches(shard_schema(optional), batches)
    connection.register("incoming_rows", reader)
    try:
        connection.execute(statement("add_measurements"), {"study_id": study_id})
    finally:
        connection.unregister("incoming_rows")
    store_improvements(connection, study_id, _improvements(shards))


def _improvements(shards: Sequence[Shard]) -> pa.Table:
    """The improvements of shards of one study, in the order in which its rows are stored."""
    metric = shards[0].study["workload"]["metric"]
    found = []
    for shard in shards:
        trials = [trial["trial_id"] for trial in shard.trials if trial["status"] != "INFEASIBLE"]
        rows = read_values(shard.path, metric)
        found.append(improvements(rows, metric, trials))
    return pa.concat_tables(found).sort_by([("trial_id", "ascending"), ("step", "ascending")])
