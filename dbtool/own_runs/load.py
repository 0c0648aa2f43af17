"""Loads own runs: reads the files, writes shards in contract, and takes these into the database."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbtool.errors import DbtoolError, UsageError
from dbtool.own_runs.gather import gather
from dbtool.own_runs.mapping import read_mapping
from dbtool.own_runs.properties import Properties
from dbtool.own_runs.studies import HeldRun, HeldStudy, OwnStudy, group
from dbtool.own_runs.tables import tables
from dbtool.store.ingest import find_shards, ingest
from dbtool.store.sql import statement
from producers.shards import write_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import duckdb

    from dbtool.own_runs.gather import Run
    from dbtool.own_runs.mapping import RunMapping, Value
    from dbtool.own_runs.records import Kind


@dataclass(frozen=True, slots=True)
class OwnRunsReport:
    """What became of the files.

    Attributes:
        release: the release that the runs are of.
        studies: studies that have new trials.
        trials: trials that were added.
        measurements: measurements that were added.
        already_there: trials that were passed over, as the database holds them.
        other_metrics: metrics that are kept under their own names.
        without_values: runs without a measurement, which are left out.
    """

    release: str
    studies: int
    trials: int
    measurements: int
    already_there: int
    other_metrics: tuple[str, ...]
    without_values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadRuns:
    """Runs that were read and found to be what their mapping says.

    Attributes:
        mapping: the mapping.
        release: the name under which they shall be stored.
        runs: those with measurements, each with its properties by table and name.
        other_metrics: metrics that are kept under their own names.
        without_values: runs without a measurement, which are left out.
    """

    mapping: RunMapping
    release: str
    runs: tuple[tuple[Run, Mapping[tuple[str, str], Value]], ...]
    other_metrics: tuple[str, ...]
    without_values: tuple[str, ...]


def read_own_runs(
    paths: Sequence[Path],
    kind: Kind,
    mapping_path: Path,
    *,
    release: str | None = None,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> ReadRuns:
    """Reads the runs of another tool.

    Args:
        paths: the files.
        kind: their format.
        mapping_path: the mapping, which docs/your_own_runs.md describes.
        release: the name under which the runs are stored; None: the mapping's.
        on_progress: called after each file with the number that is read and that of all.

    Raises:
        UsageError: the mapping says what cannot be.
        RunsError: a file is malformed or is not what the mapping says.
    """
    mapping = read_mapping(mapping_path)
    name = release or mapping.about.get("release")
    if name is None:
        raise UsageError(f"the mapping {mapping_path} names no release: give one with --release")
    properties = Properties(mapping)
    gathered = gather(paths, kind, mapping, on_progress)
    properties.check_columns(gathered.columns)
    described = []
    for run in gathered.runs.values():
        if run.series:
            said = properties.of(run)
            run.multiply_steps(int(said.get(("files", "times"), 1)))
            described.append((run, said))
    without = [run.name for run in gathered.runs.values() if not run.series]
    without += [run for run in properties.runs if run not in gathered.runs]
    return ReadRuns(mapping, name, tuple(described), gathered.other_metrics, tuple(without))


def store_own_runs(connection: duckdb.DuckDBPyConnection, read: ReadRuns) -> OwnRunsReport:
    """Stores runs as a release of their own, each study whole or not at all.

    Runs that are already there change nothing, so that files that have grown can be loaded again.

    Args:
        connection: from `open_for_writing`.
        read: the runs.

    Raises:
        UsageError: the release holds other measurements.
        RunsError: runs of one workload differ in what it is, or a run is there with other contents;
            nothing is stored.
        DbtoolError: the database could not be written; studies finished until then are stored.
    """
    held = _held(connection, read.release)
    studies = group(read.runs, read.mapping, read.release, held)
    trials, measurements = _store(connection, studies, read.mapping)
    return OwnRunsReport(
        release=read.release,
        studies=sum(bool(study.new) for study in studies),
        trials=trials,
        measurements=measurements,
        already_there=sum(study.already_there for study in studies),
        other_metrics=read.other_metrics,
        without_values=read.without_values,
    )


def _held(connection: duckdb.DuckDBPyConnection, release: str) -> dict[tuple[str, int], HeldStudy]:
    """What the database holds of a release of own runs.

    Raises:
        UsageError: the release holds measurements that are no own runs.
    """
    found: dict[tuple[str, int], HeldStudy] = {}
    rows = connection.execute(statement("held_runs"), {"release": release}).fetchall()
    for workload, batch_size, train_steps, runs in rows:
        if runs is None:
            raise UsageError(
                f"the release {release!r} holds other measurements than your own runs: "
                "choose another name with --release"
            )
        held = found.setdefault((workload, batch_size), HeldStudy(train_steps, {}))
        assert isinstance(held.runs, dict)  # noqa: S101 (made above)
        for trial_id, run in json.loads(runs).items():
            held.runs[run["run"]] = HeldRun(int(trial_id), run["digest"])
    return found


def _store(
    connection: duckdb.DuckDBPyConnection, studies: Sequence[OwnStudy], mapping: RunMapping
) -> tuple[int, int]:
    """Stores what is new of studies; returns the numbers of trials and measurements."""
    with _temporary_folder() as folder:
        for number, study in enumerate(studies):
            if study.new:
                _write(folder / str(number), study, mapping)
        report = ingest(connection, find_shards([folder]))
    if report.refused:
        path, reason = report.refused[0]
        refused = studies[int(path.parent.name)].study
        name = f"{refused['workload']['workload']} at batch size {refused['batch_size']}"
        raise DbtoolError(
            f"{len(report.refused)} of {report.added + len(report.refused)} studies were refused, "
            f"{name} as {reason}; mend the mapping, or choose another name with --release"
        )
    return report.trials, report.measurements


def _write(folder: Path, study: OwnStudy, mapping: RunMapping) -> None:
    """Writes the new trials of a study as a shard."""
    try:
        write_shard(
            folder,
            study=study.study,
            trials=[trial.trial for trial in study.new],
            producer=_producer(study, mapping),
            tables=tables(study.new),
        )
    except DbtoolError as error:
        # That one's words are about an option of another command.
        if isinstance(error.__cause__, OSError):
            raise _no_room(error.__cause__) from error
        raise


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    try:
        folder = tempfile.mkdtemp(prefix="dbtool-own-runs-")
    except OSError as error:
        raise _no_room(error) from error
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _no_room(error: OSError) -> DbtoolError:
    return DbtoolError(
        f"could not write into the folder for temporary files, {tempfile.gettempdir()}: "
        f"{error.strerror or error}; free some space there, or name another folder with TMPDIR"
    )


def _producer(study: OwnStudy, mapping: RunMapping) -> dict[str, Any]:
    """Where the rows come from."""
    return {
        "source": "own runs",
        "metrics": {
            metric.name: {"column": column, "transform": metric.transform}
            for column, metric in mapping.metrics.items()
        },
        "runs": {
            str(trial.trial["trial_id"]): {"run": trial.run.name, "digest": trial.digest}
            for trial in study.new
        },
    }
