"""Converts runs to studies and trials, by the properties that tables, files and mappings state."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from dbtool.core.checks import require_goal
from dbtool.core.contract import metric_columns
from dbtool.core.errors import counted
from dbtool.core.footer import Footer, Status, Study, Trial, Workload
from dbtool.core.index import Index, differences
from dbtool.core.rows import with_other_metrics
from dbtool.sources.base import NewShard
from dbtool.sources.tables import words
from dbtool.sources.tables.mapping import Column, RunMapping
from dbtool.sources.tables.properties import Run
from dbtool.store.table_files import Problems, RunsError, among, shown

# A run with a smaller share of the steps of the longest one may have been stopped.
_SHORT = 0.75


@dataclass(frozen=True, slots=True)
class StudyRuns:
    """The runs of a study, and the study without the steps that follow from its trials."""

    study: Study
    runs: list[Run] = field(default_factory=list)


def by_study(runs: Iterable[Run], search_space: Mapping[str, Any]) -> list[StudyRuns]:
    """Return the runs of each study, by workload and batch size.

    Raises:
        RunsError: runs of one workload or study differ, or a goal is out of range.
    """
    problems = Problems()
    workloads: dict[str, tuple[Run, Workload]] = {}
    studies: dict[tuple[str, int], StudyRuns] = {}
    for each in runs:
        given = each.properties["workload"]
        parts = (given.get(name) for name in ("collection", "dataset", "model", "optimizer"))
        name = "/".join(part for part in parts if part)
        workload = Workload(workload=name, **given)
        if workload.goal is not None:
            with problems:
                require_goal(workload.goal, workload.metric)
        study = Study(
            workload=workload,
            search_space=dict(search_space),
            **{"train_steps": 0, **each.properties["study"]},
        )
        first, known = workloads.setdefault(name, (each, workload))
        held = studies.setdefault((name, study.batch_size), StudyRuns(study))
        held.runs.append(each)
        what = f"study, {name} at batch size {study.batch_size},"
        with problems:
            _refuse_difference(first, known, each, workload, f"workload {name}")
            _refuse_difference(held.runs[0], held.study, each, study, what)
    problems.refuse()
    return [studies[key] for key in sorted(studies)]


def _refuse_difference(
    first: Run, known: Workload | Study, run: Run, given: Workload | Study, what: str
) -> None:
    if differing := differences(known, given):
        reason = f"run {shown(run.name)} differs from {shown(first.name)} of the same {what} in "
        raise run.first.error(None, reason + ", ".join(differing))


def odd_runs(studies: Sequence[StudyRuns], mapping: RunMapping) -> Iterator[str]:
    """Yield a sentence for each thing about how runs ended, or were set, that may not be meant."""
    runs = [(run, each.study.workload) for each in studies for run in each.runs]
    given = [each for each in runs if each[0].properties["trial"].get("status") == "COMPLETE"]
    if diverged := sum(_status(*each) == "INFEASIBLE" for each in given):
        yield (
            f"{diverged:,} of {counted(len(given), 'run')} given as COMPLETE ended with values "
            "that are not finite, which counts as INFEASIBLE"
        )
    if stopped := sum(_stopped_past_goal(*each) for each in runs):
        yield (
            f"{stopped:,} of {counted(len(runs), 'run')} stopped past the goal, which counts as "
            "COMPLETE; steps to a harder goal are unknown"
        )
    yield from _stopped_early(studies, mapping)
    zeros = sum(
        workload.metric.endswith("cross_entropy_error")
        and _past(run, workload)[:1].to_list() == [0]
        and _status(run, workload) != "INFEASIBLE"
        for run, workload in runs
    )
    if zeros:
        yield (
            f"{zeros:,} of {counted(len(runs), 'run')} came past the goal by a loss of exactly 0, "
            "which some tools log in place of NaN: give runs that diverged the trial.status "
            "INFEASIBLE"
        )
    yield from _odd_settings(studies, mapping)


def _odd_settings(studies: Sequence[StudyRuns], mapping: RunMapping) -> Iterator[str]:
    """Yield a sentence for a metaparameter that only some runs of a workload have.

    Another is for learning rates below 0.
    """
    of_workload: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in studies:
        of_workload[each.study.key[0]] += [run.properties["metaparameters"] for run in each.runs]
    runs = counted(sum(map(len, of_workload.values())), "run")
    for name, given in mapping.metaparameters.items():
        counts = [(sum(name in own for own in each), len(each)) for each in of_workload.values()]
        lacking = sum(all_runs - having for having, all_runs in counts if having)
        if lacking and isinstance(given, Column):
            yield (
                f"{lacking:,} of {runs} had no {name}, which others of the workload have: such a "
                f"run is a setting of its own; fill in {shown(given.column)}, or give "
                f"metaparameters.{name} a default"
            )
    rates = [own.get("learning_rate", 0) for each in of_workload.values() for own in each]
    if below := sum(rate < 0 for rate in rates):
        yield (
            f"{below:,} of {runs} had a learning_rate below 0: where it is a logarithm, write the "
            "rate itself"
        )


def _stopped_early(studies: Sequence[StudyRuns], mapping: RunMapping) -> Iterator[str]:
    """Yield a sentence where runs that count as COMPLETE may have been stopped.

    They took less than three quarters of the steps of the longest run of their study, and did not
    reach the goal. Nothing says how they ended.
    """
    if mapping.trial.status is not None or mapping.study.train_steps is not None:
        return
    count, early = 0, 0
    for each in studies:
        workload, longest = each.study.workload, max(run.steps for run in each.runs)
        count += len(each.runs)
        if not each.study.early_stopping:
            short = [run for run in each.runs if run.steps < _SHORT * longest]
            early += sum(
                _status(run, workload) == "COMPLETE" and _past(run, workload).is_empty()
                for run in short
            )
    if early:
        is_one = early == 1
        yield (
            f"{early:,} of {counted(count, 'run')} {'ends' if is_one else 'end'} before three "
            "quarters of the steps of the longest of the study without reaching a goal, and "
            f"{'is' if is_one else 'are'} COMPLETE: where they were stopped, map trial.status, or "
            "study.train_steps, which makes runs of fewer steps INCOMPLETE"
        )


def _past(run: Run, workload: Workload) -> pl.Series:
    """Return the values past the workload's goal, in the order of their steps."""
    found = run.values.filter(metric=workload.metric)["value"]
    if workload.goal is None:
        return found.clear()
    return found.filter(workload.is_past(found))


def _stopped_past_goal(run: Run, workload: Workload) -> bool:
    """Return whether a run that did not take all its steps counts as COMPLETE at the goal."""
    given = run.properties["trial"].get("status")
    is_short = given == "INCOMPLETE" or run.steps < run.properties["study"].get("train_steps", 0)
    return is_short and _ended_past(run, workload) and _status(run, workload) == "COMPLETE"


def _ended_past(run: Run, workload: Workload) -> bool:
    """Return whether the last evaluation of a run is past the workload's goal."""
    last = run.values.filter(metric=workload.metric)["value"].tail(1)
    return workload.goal is not None and bool(workload.is_past(last).any())


def shards_of(studies: Iterable[StudyRuns], mapping: RunMapping, index: Index) -> list[NewShard]:
    """Return the footer and the rows of a shard for each study.

    Runs that the release already has keep their numbers. The others follow in the order in which
    the files first name them. The source of a trial is a digest of everything but its number, so
    that the same run is recognized again.

    Raises:
        RunsError: two runs have one number, the release has a run with other contents, or a
            workload that it lacks has no run with the workload's metric; or runs stopped past the
            goal, and those that the release has of the study did not.
    """
    metrics = {
        name: {"column": column, "transform": source.transform}
        for column, (name, source) in mapping.metric_of.items()
    }
    producer: dict[str, Any] = {"source": "own runs", "metrics": metrics}
    if mapping.files.sampled is not None:
        producer["sampled"] = mapping.files.sampled
    problems = Problems()
    shards: list[NewShard] = []
    measured: dict[Workload, set[str]] = defaultdict(set)
    for each in studies:
        for run in each.runs:
            measured[each.study.workload].update(run.values["metric"].unique())
        key = each.study.key
        pairs = _with_numbers(each, index.trials_of(*key), problems)
        trials = tuple(trial for _, trial in pairs)
        study = _with_steps(each, trials, index.studies.get(key), problems)
        footer = Footer(study=study, trials=trials, producer=producer)
        shards.append((footer, [_measurements_of(pairs)]))
    for workload, there in measured.items():
        # Runs that ended before their first evaluation may follow others.
        if workload.metric not in there and workload.workload not in index.workloads:
            problems.add(
                RunsError(
                    f"no run of {workload.workload} has {workload.metric}, the workload.metric of "
                    f"the mapping; closest of their metrics: {among(workload.metric, there)}; name "
                    f"one there, or the column that becomes it as metrics.{workload.metric}"
                )
            )
    problems.refuse()
    return shards


def _with_steps(
    of: StudyRuns, trials: Sequence[Trial], known: Study | None, problems: Problems
) -> Study:
    """Return a study with the steps that its trials took, or those that the release has of it."""
    study, steps = of.study, of.study.train_steps
    least = min((trial.steps for trial in trials if trial.status == "COMPLETE"), default=0)
    stopped = any(_stopped_past_goal(run, study.workload) for run in of.runs)
    if known is not None:
        least = known.train_steps
        if stopped and not known.early_stopping:
            problems.add(
                RunsError(
                    f"runs of {study.key[0]} at batch size {study.batch_size} stopped past the "
                    "goal, and those that are there did not: load all of them as another release, "
                    "which --release names"
                )
            )
        stopped = stopped or (known.early_stopping and least < steps)
    if not stopped:
        is_given = "train_steps" in of.runs[0].properties["study"]
        return study if is_given else msgspec.structs.replace(study, train_steps=least)
    most_steps = steps or max(trial.steps for trial in trials)
    own = {"goal": study.workload.goal, "most_steps": most_steps}
    search = own if known is None else known.search
    return msgspec.structs.replace(study, train_steps=least, early_stopping=True, search=search)


def _trial(each: Run, workload: Workload) -> Trial:
    """Return a run as a shard describes it, with a digest of it, and without its number."""
    given = each.properties["trial"]
    trial = Trial(
        trial_id=given.get("trial_id", 0),
        status=_status(each, workload),
        steps=each.steps,
        metaparameters=dict(each.properties["metaparameters"]),
        seed=given.get("seed"),
        name=each.name,
    )
    described = [trial.status, trial.steps, trial.metaparameters, trial.seed]
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for (name,), part in each.values.partition_by("metric", as_dict=True).items():
        digest.update(json.dumps([name, len(part)]).encode())
        digest.update(part["step"].to_numpy().tobytes())
        digest.update(part["value"].to_numpy().tobytes())
    return msgspec.structs.replace(trial, source=digest.hexdigest())


def _status(each: Run, workload: Workload) -> Status:
    """Return how a run ended, as is given or by its values.

    Tools do not tell that it diverged. For the goal, a run that ended past it is whole.
    """
    given: Status | None = each.properties["trial"].get("status")
    if given == "INFEASIBLE":
        return given
    losses = words.losses(each.values["metric"].unique())
    others = [*metric_columns(), workload.metric]
    ends = each.values.filter(pl.col("metric").is_in(losses or others))
    ends = ends.group_by("metric").agg(pl.col("value").last())
    if not ends["value"].is_finite().all():
        return "INFEASIBLE"
    if _ended_past(each, workload):
        return "COMPLETE"
    is_short = each.steps < each.properties["study"].get("train_steps", 0)
    return given or ("INCOMPLETE" if is_short else "COMPLETE")


def _with_numbers(
    of: StudyRuns, held: Mapping[int, Mapping[str, Any]], problems: Problems
) -> list[tuple[Run, Trial]]:
    """Return the runs of a study with their trials, by number."""
    numbers = {row["name"]: number for number, row in held.items()}
    taken = {number: name for name, number in numbers.items()}
    following = max(taken, default=-1) + 1
    found = []
    for each in of.runs:
        name, trial = each.name, _trial(each, of.study.workload)
        trial_id = numbers.get(name, each.properties["trial"].get("trial_id"))
        if trial_id is None:
            trial_id, following = following, following + 1
        if taken.setdefault(trial_id, name) != name:
            other = f"{shown(taken[trial_id])} of the same study has"
            reason = f"run {shown(name)} has trial_id {trial_id}, which {other}"
            problems.add(each.first.error(None, reason))
        elif name in numbers and held[trial_id]["source"] != trial.source:
            reason = f"run {shown(name)} is already there as trial {trial_id} with other contents: "
            reason += "load what has changed as another release, which --release names"
            problems.add(RunsError(reason))
        found.append((each, msgspec.structs.replace(trial, trial_id=trial_id)))
    return sorted(found, key=lambda pair: pair[1].trial_id)


def _measurements_of(runs: Iterable[tuple[Run, Trial]]) -> pa.Table:
    parts = [run.values.with_columns(trial_id=pl.lit(trial.trial_id)) for run, trial in runs]
    keys = ["trial_id", "step"]
    values = pl.concat(parts).with_columns(pl.col("trial_id").cast(pl.Int32))
    rows = values.select(keys).unique().sort(keys)
    columns = {name: rows[name].to_arrow() for name in keys}
    values = values.join(rows.with_row_index("row"), on=keys, maintain_order="left")
    # Polars' own `pivot` passes over all rows for each metric.
    for (name,), part in values.partition_by("metric", as_dict=True).items():
        found, is_missing = np.zeros(len(rows)), np.ones(len(rows), bool)
        found[part["row"]], is_missing[part["row"]] = part["value"], False
        columns[str(name)] = pa.array(found, mask=is_missing)
    return with_other_metrics(columns)
