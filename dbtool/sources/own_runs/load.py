"""Loads own runs: reads the files, and adds what is new of them to a release.

Runs become trials of studies: numbered, with a status, and grouped by workload and batch size.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from dbtool.core.contract import metric_columns
from dbtool.core.errors import UsageError
from dbtool.core.footer import Footer, Study, Trial, Workload
from dbtool.core.index import differences
from dbtool.core.manifest import About
from dbtool.core.other_metrics import with_other_metrics
from dbtool.core.writer import ReleaseWriter
from dbtool.sources.own_runs.mapping import read_mapping
from dbtool.sources.own_runs.properties import properties_of, read_table_of_runs, refuse_missing
from dbtool.sources.own_runs.reading import read_files
from dbtool.sources.own_runs.records import RunsError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from dbtool.core.footer import Status
    from dbtool.core.index import Index
    from dbtool.sources.own_runs.mapping import RunMapping
    from dbtool.sources.own_runs.reading import Run
    from dbtool.sources.own_runs.records import Kind


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run that has values.

    Attributes:
        run: its name and where it stands.
        properties: by table of the mapping and name.
        values: metric, step (in updates), value; sorted by metric and step.
    """

    run: Run
    properties: Mapping[str, Mapping[str, Any]]
    values: pl.DataFrame

    @property
    def last_step(self) -> int:
        """The last step at which there is a value."""
        return int(self.values.select(pl.col("step").max()).item())


@dataclass(frozen=True, slots=True)
class ReadRuns:
    """Runs that were read and found to be what their mapping says.

    Attributes:
        mapping: the mapping.
        release: the name under which they shall be stored.
        runs: those with measurements.
        other_metrics: metrics that are kept under their own names.
        without_values: runs without a measurement, which are left out.
    """

    mapping: RunMapping
    release: str
    runs: tuple[MeasuredRun, ...]
    other_metrics: tuple[str, ...]
    without_values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OwnRunsReport:
    """What became of runs.

    Attributes:
        read: the runs.
        studies: studies that have new trials.
        trials: trials that were added.
        measurements: measurements that were added.
        already_there: trials that were passed over, as the release holds them.
    """

    read: ReadRuns
    studies: int
    trials: int
    measurements: int
    already_there: int


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
    name = release or mapping.release
    if name is None:
        raise UsageError(f"the mapping {mapping_path} names no release: give one with --release")
    columns: set[str] = set()
    table = read_table_of_runs(mapping, columns)
    files = read_files(paths, kind, mapping, on_progress)
    refuse_missing(mapping, columns | files.columns)
    parts = files.values.partition_by("run", as_dict=True, include_key=False)
    measured, without = [], []
    for run in files.runs:
        if (run.number,) in parts:
            properties = properties_of(run, mapping, table)
            measured.append(_measured(run, properties, parts[run.number,]))
        else:
            without.append(run.name)
    without += table.keys() - {run.name for run in files.runs}
    others = set(files.values["metric"].unique()) - set(metric_columns())
    return ReadRuns(mapping, name, tuple(measured), tuple(sorted(others)), tuple(without))


def store_own_runs(folder: Path, read: ReadRuns) -> OwnRunsReport:
    """Adds runs to a release of their own, each study whole or not at all.

    Runs that are already there change nothing, so that files that have grown can be loaded again.

    Args:
        folder: the release folder, which is made where there is none.
        read: the runs.

    Raises:
        UsageError: the release holds other measurements.
        RunsError: runs of one workload differ in what it is, or a run is there with other contents;
            nothing is added.
        DbtoolError: the release could not be written; studies finished until then are there.

    Example:
        >>> store_own_runs(Path("my-sweep"), read_own_runs([history], "csv", mapping)).trials
        5
    """
    mapping = read.mapping
    about = About(
        release=read.release,
        title=mapping.title,
        licence=mapping.licence,
        citation=mapping.citation,
    )
    with ReleaseWriter(folder, about) as writer:
        held = writer.index.trials
        if held["name"].null_count or held["source"].null_count:
            raise UsageError(
                f"the release {read.release!r} holds other measurements than your own runs: choose "
                "another name with --release"
            )
        new = new_shards(read.runs, mapping, writer.index)
        for footer, _ in new:
            writer.refuse_clash(footer)
        shards = [writer.write(footer, [table]) for footer, table in new]
    trials = sum(len(shard.footer.trials) for shard in shards)
    return OwnRunsReport(
        read,
        studies=len(new),
        trials=trials,
        measurements=sum(shard.rows for shard in shards),
        already_there=len(read.runs) - trials,
    )


def _measured(run: Run, properties: dict[str, dict[str, Any]], values: pl.DataFrame) -> MeasuredRun:
    """A run with its steps in updates."""
    times = properties["files"].get("times", 1)
    last = MeasuredRun(run, properties, values).last_step
    if last * times >= 2**63:
        raise run.first.error(None, f"run {shown(run.name)} has {times} steps in each of {last}")
    return MeasuredRun(run, properties, values.with_columns(pl.col("step") * times))


def new_shards(
    runs: Sequence[MeasuredRun], mapping: RunMapping, index: Index
) -> list[tuple[Footer, pa.Table]]:
    """The footer and the rows of a shard for each study that has runs which the release lacks.

    Runs that the release holds keep their numbers; the others follow in the order in which the
    files first name them. The source of a trial is a digest of all but its number, so that the same
    run is known again.

    Args:
        runs: the runs.
        mapping: what their files say.
        index: what the release holds.

    Raises:
        RunsError: runs of one workload differ in what it is, two have one number, or a run is
            there with other contents.
    """
    first: dict[str, tuple[Run, Workload]] = {}
    groups: dict[tuple[str, int], list[MeasuredRun]] = {}
    for each in runs:
        given = each.properties["workload"]
        parts = (given.get(name) for name in ("collection", "dataset", "model", "optimizer"))
        workload = Workload(workload="/".join(part for part in parts if part), **given)
        name = workload.workload
        run, known = first.setdefault(name, (each.run, workload))
        _refuse_difference(run, known, each.run, workload, f"workload {name}")
        groups.setdefault((name, each.properties["study"]["batch_size"]), []).append(each)
    metrics = {
        metric.name: {"column": column, "transform": metric.transform}
        for column, metric in mapping.metric_of.items()
    }
    shards = []
    for key, members in sorted(groups.items(), key=lambda item: item[0]):
        trials = [_trial(each) for each in members]
        study = _study(members, trials, first[key[0]][1], mapping, index.studies.get(key))
        held = {row["name"]: row for row in index.trials_of(*key).values()}
        if new := _numbered(members, trials, held):
            footer = Footer(
                study=study,
                trials=tuple(trial for _, trial in new),
                producer={"source": "own runs", "metrics": metrics},
            )
            shards.append((footer, _table((trial.trial_id, each.values) for each, trial in new)))
    return shards


def _study(
    members: Sequence[MeasuredRun],
    trials: Sequence[Trial],
    workload: Workload,
    mapping: RunMapping,
    held: Study | None,
) -> Study:
    """What all runs of a study say that it is."""
    studies = [
        Study(
            workload=workload,
            search_space=dict(mapping.search_space),
            **{"train_steps": 0, **each.properties["study"]},
        )
        for each in members
    ]
    study = studies[0]
    what = f"study, {workload.workload} at batch size {study.batch_size},"
    for each, its in zip(members, studies, strict=True):
        _refuse_difference(members[0].run, study, each.run, its, what)
    if "train_steps" in members[0].properties["study"]:
        return study
    complete = [trial.steps for trial in trials if trial.status == "COMPLETE"]
    least = min(complete, default=0) if held is None else held.train_steps
    return msgspec.structs.replace(study, train_steps=least)


def _refuse_difference(
    first: Run, known: Workload | Study, run: Run, given: Workload | Study, what: str
) -> None:
    if differing := differences(known, given):
        raise run.first.error(
            None,
            f"run {shown(run.name)} differs from {shown(first.name)} of the same {what} in "
            f"{', '.join(differing)}",
        )


def _trial(each: MeasuredRun) -> Trial:
    """A run as a shard describes it, but for its number."""
    given = each.properties["trial"]
    steps = each.last_step
    ends = each.values.filter(pl.col("metric").is_in(metric_columns()))
    ends = ends.group_by("metric").agg(pl.col("value").last())
    status: Status = "COMPLETE"
    if not ends["value"].is_finite().all():
        status = "INFEASIBLE"
    elif steps < each.properties["study"].get("train_steps", 0):
        status = "INCOMPLETE"
    trial = Trial(
        trial_id=given.get("trial_id", 0),
        status=given.get("status", status),
        steps=steps,
        metaparameters=dict(each.properties["metaparameters"]),
        seed=given.get("seed"),
        name=each.run.name,
    )
    return msgspec.structs.replace(trial, source=_digest(trial, each.values))


def _digest(trial: Trial, values: pl.DataFrame) -> str:
    described = [trial.status, trial.steps, trial.metaparameters, trial.seed]
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for (name,), part in values.partition_by("metric", as_dict=True).items():
        digest.update(json.dumps([name, len(part)]).encode())
        digest.update(part["step"].to_numpy().tobytes())
        digest.update(part["value"].to_numpy().tobytes())
    return digest.hexdigest()


def _numbered(
    members: Sequence[MeasuredRun],
    trials: Sequence[Trial],
    held: Mapping[str, Mapping[str, Any]],
) -> list[tuple[MeasuredRun, Trial]]:
    """The runs that are new with their trials, by number."""
    taken: dict[int, str] = {row["trial_id"]: name for name, row in held.items()}
    following = max(taken, default=-1) + 1
    new = []
    for each, trial in zip(members, trials, strict=True):
        run = each.run
        if run.name in held:
            if held[run.name]["source"] != trial.source:
                raise RunsError(
                    f"run {shown(run.name)} is already there as trial "
                    f"{held[run.name]['trial_id']} with other contents: load what has changed as "
                    "another release, which --release names"
                )
            continue
        trial_id = each.properties["trial"].get("trial_id")
        if trial_id is None:
            trial_id, following = following, following + 1
        if trial_id in taken:
            reason = f"run {shown(run.name)} has trial_id {trial_id}, which "
            reason += f"{shown(taken[trial_id])} of the same study has"
            raise run.first.error(None, reason)
        taken[trial_id] = run.name
        new.append((each, msgspec.structs.replace(trial, trial_id=trial_id)))
    return sorted(new, key=lambda pair: pair[1].trial_id)


def _table(runs: Iterable[tuple[int, pl.DataFrame]]) -> pa.Table:
    parts = [values.with_columns(pl.lit(trial_id).alias("trial_id")) for trial_id, values in runs]
    keys = ["trial_id", "step"]
    wide = pl.concat(parts).pivot("metric", index=keys, values="value").sort(keys)
    wide = wide.with_columns(pl.col("trial_id").cast(pl.Int32))
    return with_other_metrics({column.name: column.to_arrow() for column in wide})
