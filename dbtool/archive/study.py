"""Stores what has come of one study of an archive, in one transaction."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import pyarrow as pa

from dbtool.archive.errors import ArchiveError
from dbtool.archive.lines import split_header
from dbtool.archive.measurements import Oddities, Text, column_of, parse_measurements
from dbtool.archive.parse import StudyDescription, TrialDescription, parse_study, parse_trial
from dbtool.archive.published import CITATION, LICENCE, RELEASE
from dbtool.archive.table import catalog as published_workloads
from dbtool.store import catalog
from dbtool.store.database import transaction
from dbtool.store.improvements import improvements, store_improvements
from dbtool.store.sql import statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import duckdb

    from dbtool.archive.gather import Gathered
    from dbtool.store.metadata import Definition, Study

    Note: TypeAlias = Callable[[ArchiveError], None]
    ReadMeasurements: TypeAlias = Callable[[Gathered, str], bytes | None]

# Files that are parsed and stored together: some hundred thousand measurements.
_CHUNK_BYTES = 64 << 20
_TITLE = (
    "Measuring the Effects of Data Parallelism on Neural Network Training: the raw measurements"
)
# What a workload that the catalog does not know is judged by: the first that its files have.
_METRICS = tuple(
    f"{split}_{metric}"
    for split in ("val", "test", "train")
    for metric in ("average_precision", "classification_error", "cross_entropy_error")
)
_TRIALS = pa.schema(
    [
        ("trial_id", pa.int32()),
        ("status", pa.string()),
        ("steps", pa.int64()),
        ("metaparameters", pa.map_(pa.string(), pa.float64())),
        ("measurements", pa.int64()),
        ("digest", pa.uint64()),
    ]
)


@dataclass
class StoredStudy:
    """What became of a study.

    Attributes:
        is_new: whether the study was not there before.
        trials: trials that were added.
        measurements: measurements that were added.
        already_there: trials that the database holds.
        left_out: trials that were left out.
        oddities: what is unusual about the trials that were added.
    """

    is_new: bool = False
    trials: int = 0
    measurements: int = 0
    already_there: int = 0
    left_out: int = 0
    oddities: Oddities = field(default_factory=Oddities)


class _Trial(NamedTuple):
    """A trial that is not in the database.

    Attributes:
        path: its folder.
        description: what metadata.json says.
        measurements: measurements.csv; None where it has none.
        digest: of both.
    """

    path: str
    description: TrialDescription
    measurements: bytes | None
    digest: int


def store_study(
    connection: duckdb.DuckDBPyConnection,
    gathered: Gathered,
    read: ReadMeasurements,
    release: str,
    note: Note,
) -> StoredStudy:
    """Stores the trials of a study that are sound and new, and the study where it is not there.

    Args:
        connection: from `open_for_writing`.
        gathered: what has come of the study.
        read: gives a trial's measurements.csv.
        release: the name under which its rows are stored.
        note: called with what is malformed; what it raises ends the work, and nothing is stored.
    """
    outcome = StoredStudy()
    workload, _, batch_size = gathered.path.rpartition("/")
    study = cast(
        "Study",
        {"release": release, "workload": {"workload": workload}, "batch_size": int(batch_size)},
    )
    with transaction(connection):
        stored = catalog.find(connection, study)
        try:
            description = _description(gathered, stored, int(batch_size))
        except ArchiveError as error:
            outcome.left_out = len(gathered.folders)
            trials = f"; its {outcome.left_out:,} trials are left out" if outcome.left_out else ""
            note(ArchiveError(error.path, error.reason + trials))
            return outcome
        study_id, definition = stored.study_id, cast("Definition | None", stored.workload)
        if study_id is None or definition is None:
            outcome.is_new = True
            definition = definition or _definition(workload, _columns(gathered, read))
            whole = _whole(study, definition, description)
            study_id = catalog.add_study(connection, stored, whole, produced=False)
        _Trials(connection, study_id, definition["metric"], outcome, note).store(gathered, read)
    return outcome


class _Trials:
    """The trials of one study on their way into the database."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        study_id: int,
        metric: str,
        outcome: StoredStudy,
        note: Note,
    ) -> None:
        self._connection = connection
        self._study_id = study_id
        self._metric = metric
        self._outcome = outcome
        self._note = note

    def store(self, gathered: Gathered, read: ReadMeasurements) -> None:
        """Stores those that are sound and new, in the order of their ids."""
        chunk: list[_Trial] = []
        size = 0
        for trial in self._new(gathered, read):
            chunk.append(trial)
            size += len(trial.measurements or b"")
            if size > _CHUNK_BYTES:
                self._store_chunk(chunk)
                chunk, size = [], 0
        if chunk:
            self._store_chunk(chunk)

    def _new(self, gathered: Gathered, read: ReadMeasurements) -> Iterator[_Trial]:
        """The trials that the database does not hold."""
        rows = self._connection.execute(
            statement("held_digests"), {"study_id": self._study_id}
        ).fetchall()
        held: dict[int, int | None] = dict(rows)
        places = dict.fromkeys(held, "the database")
        for trial, description in self._described(gathered):
            path = f"{gathered.path}/{trial}"
            trial_id, measurements = description.trial_id, read(gathered, trial)
            digest = _digest(gathered.metadata[trial], measurements)
            if trial_id not in held:
                held[trial_id], places[trial_id] = digest, path
                yield _Trial(path, description, measurements, digest)
            elif held[trial_id] == digest:
                self._outcome.already_there += 1
            else:
                self._leave_out(
                    ArchiveError(
                        path,
                        f"its trial_id {trial_id} is already in {places[trial_id]}, "
                        "with different contents",
                    )
                )

    def _described(self, gathered: Gathered) -> list[tuple[str, TrialDescription]]:
        """The trials' folders with what metadata.json says, in the order of their ids."""
        found = []
        for trial in gathered.folders:
            path = f"{gathered.path}/{trial}"
            metadata = gathered.metadata.get(trial)
            if metadata is None:
                self._leave_out(ArchiveError(path, "it has no metadata.json"))
                continue
            try:
                found.append((trial, parse_trial(f"{path}/metadata.json", metadata)))
            except ArchiveError as error:
                self._leave_out(error)
        return sorted(found, key=lambda place: place[1].trial_id)

    def _store_chunk(self, chunk: list[_Trial]) -> None:
        """Stores trials with ascending ids."""
        texts = [
            Text(trial.description.trial_id, f"{trial.path}/measurements.csv", trial.measurements)
            for trial in chunk
            if trial.measurements is not None
        ]
        parsed = parse_measurements(texts)
        for error in parsed.malformed:
            self._leave_out(error)
        rows = parsed.rows | {
            trial.description.trial_id: 0 for trial in chunk if trial.measurements is None
        }
        taken = [trial for trial in chunk if trial.description.trial_id in rows]
        if parsed.table is not None:
            self._store_rows(parsed.table, taken)
        if taken:
            catalog.insert_trials(self._connection, self._study_id, _table(taken, rows))
        self._outcome.trials += len(taken)
        self._outcome.measurements += sum(rows.values())
        self._outcome.oddities += parsed.oddities + Oddities(no_file=len(chunk) - len(texts))

    def _store_rows(self, rows: pa.Table, trials: list[_Trial]) -> None:
        """Stores measurements of trials, and which of them are improvements."""
        self._connection.register("incoming_rows", rows)
        try:
            self._connection.execute(statement("append_measurements"), {"study_id": self._study_id})
        finally:
            self._connection.unregister("incoming_rows")
        described = [trial.description for trial in trials]
        feasible = [trial.trial_id for trial in described if trial.status != "INFEASIBLE"]
        found = improvements(rows, self._metric, feasible)
        store_improvements(self._connection, self._study_id, found)

    def _leave_out(self, error: ArchiveError) -> None:
        self._outcome.left_out += 1
        self._note(error)


def _table(trials: list[_Trial], rows: Mapping[int, int]) -> pa.Table:
    """The trials as the store takes them, with how many measurements each has."""
    described = [trial.description for trial in trials]
    columns = {
        "trial_id": [trial.trial_id for trial in described],
        "status": [trial.status for trial in described],
        "steps": [trial.steps for trial in described],
        "metaparameters": [list(trial.metaparameters.items()) for trial in described],
        "measurements": [rows[trial.trial_id] for trial in described],
        "digest": [trial.digest for trial in trials],
    }
    return pa.table(columns, schema=_TRIALS)


def _digest(metadata: bytes, measurements: bytes | None) -> int:
    """64 bits that tell a trial's two files from any others."""
    digest = hashlib.sha256(len(metadata).to_bytes(8))
    digest.update(metadata)
    if measurements is not None:
        digest.update(b"\1")
        digest.update(measurements)
    return int.from_bytes(digest.digest()[:8])


def _description(gathered: Gathered, stored: catalog.Stored, batch_size: int) -> StudyDescription:
    """What study.json says, or for trials that came late, what it said.

    Raises:
        ArchiveError: it is malformed or missing, or differs from what is stored.
    """
    path = f"{gathered.path}/study.json"
    settings = stored.settings
    if gathered.description is None:
        if settings is None:
            raise ArchiveError(path, "it is missing")
        return StudyDescription(
            settings["train_steps"], settings["early_stopping"], settings["search_space"]
        )
    description = parse_study(path, gathered.description, batch_size)
    for name in ("train_steps", "early_stopping", "search_space"):
        if settings is not None and settings[name] != getattr(description, name):
            raise ArchiveError(path, f"it differs from the stored study in {name}")
    return description


def _whole(study: Study, definition: Definition, description: StudyDescription) -> Study:
    """A study as the store takes it."""
    about: dict[str, Any] = {
        "workload": definition,
        "train_steps": description.train_steps,
        "early_stopping": description.early_stopping,
        "search_space": description.search_space,
        "seed": None,
    }
    if study["release"] == RELEASE:
        about |= {"title": _TITLE, "licence": LICENCE, "citation": CITATION}
    return cast("Study", {**study, **about})


def _columns(gathered: Gathered, read: ReadMeasurements) -> set[str | None]:
    """The store's columns for those of the first file that has a header."""
    for trial in gathered.measurements:
        line = (read(gathered, trial) or b"").partition(b"\n")[0]
        try:
            return {column_of(name) for name in split_header(line)}
        except ValueError:
            continue
    return set()


def _definition(workload: str, columns: set[str | None]) -> Definition:
    """A workload as the catalog knows it, or as its path and its columns tell."""
    for known in published_workloads():
        if known.workload == workload:
            metric, goal, maximize = known.metric, known.goal, known.maximize
            train_examples = known.train_examples
            break
    else:
        metric = next((metric for metric in _METRICS if metric in columns), _METRICS[1])
        goal, maximize, train_examples = None, metric.endswith("average_precision"), None
    *collection, dataset, model, optimizer = workload.split("/")
    definition = {
        "workload": workload,
        "collection": "/".join(collection) or None,
        "dataset": dataset,
        "model": model,
        "optimizer": optimizer,
        "sparsity": 0.0,
        "metric": metric,
        "goal": goal,
        "maximize": maximize,
        "train_examples": train_examples,
    }
    return cast("Definition", definition)
