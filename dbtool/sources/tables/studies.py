"""Converts runs to studies and trials, by the properties that tables, files and mappings state."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from dbtool.core.checks import InvalidError, convert, require_goal
from dbtool.core.contract import metric_columns
from dbtool.core.errors import UsageError, counted
from dbtool.core.footer import Footer, Status, Study, Trial, Workload
from dbtool.core.index import OWN_COLUMN, Index, differences
from dbtool.core.rows import with_other_metrics
from dbtool.sources.base import NewShard
from dbtool.sources.numbers import COMMA, USE_POINTS, is_rounded, number, same, whole_number
from dbtool.sources.tables import words
from dbtool.sources.tables.mapping import Property, RunMapping, listed
from dbtool.sources.tables.runs import Cell, Run
from dbtool.store.table_files import Position, Problems, RunsError, among, shown
from dbtool.store.texts import LINE, read_parts

_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_OPTIONAL = ("trial", "metaparameters")
_TABLES = ("files.step", "workload", "study", *_OPTIONAL)
# A run with a smaller share of the steps of the longest one may have been stopped.
_SHORT = 0.75


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run that has values.

    Attributes:
        run: its name and position.
        properties: by table of the mapping and name.
        values: metric, step (in updates), value; sorted by metric and step.
    """

    run: Run
    properties: Mapping[str, Mapping[str, Any]]
    values: pl.DataFrame

    @property
    def steps(self) -> int:
        """Return the last step."""
        return int(self.values.select(pl.col("step").max()).item())


@dataclass(frozen=True, slots=True)
class StudyRuns:
    """The runs of a study, and the study without the steps that follow from its trials."""

    study: Study
    runs: list[MeasuredRun] = field(default_factory=list)


def read_table_of_runs(mapping: RunMapping, columns: set[str]) -> dict[tuple[str, ...], Run]:
    """Return the runs of the table of runs by key, in its order; empty without such a table.

    The names of its columns are added to the set.

    Raises:
        RunsError: the table is malformed, names a run twice or lacks the column that names them.
    """
    found: dict[tuple[str, ...], Run] = {}
    if mapping.runs is None:
        return found
    path, keys = Path(mapping.runs.file), listed(mapping.runs.run)
    for part in read_parts(path):
        columns.update(set(part.columns) - {LINE})
        for texts in part.iter_rows(named=True):
            position = Position(path, texts.pop(LINE))
            cells = {
                name: Cell(text, position)
                for name, text in texts.items()
                if text and (name in keys or text not in mapping.files.empty)
            }
            for each in keys:
                if each not in cells:
                    reason = f"there is nothing in {shown(each)}; columns like it: "
                    raise position.error(None, reason + among(each, columns))
            run = Run(tuple(cells[each].text for each in keys), len(found), position, cells)
            first = found.setdefault(run.key, run).first
            if first != position:
                reason = f"run {shown(run.name)} is there already at {first}"
                raise position.error(keys[-1], reason)
    return found


def properties_of(
    run: Run,
    mapping: RunMapping,
    table: Mapping[tuple[str, ...], Run],
    columns: Collection[str],
    problems: Problems,
) -> dict[str, dict[str, Any]]:
    """Return a run's properties by table and name; missing ones are dropped.

    The table of runs overrides the files. The columns are those of both. It is a problem where a
    column does not exist, the table does not name the run, or a value is missing or invalid.
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in _TABLES}
    said = table.get(run.key, run)
    if mapping.runs is not None and run.key not in table:
        reason = f"run {shown(run.name)} is not in {mapping.runs.file}; closest: "
        names = [each.name for each in table.values()]
        problems.add(run.first.error(None, reason + among(run.name, names)))
    for each in mapping.properties:
        with problems:
            value = each.value
            if each.column is not None:
                cell = said.cells.get(each.column) or run.cells.get(each.column)
                if cell is None and value.default is None and each.column not in columns:
                    raise UsageError(
                        f"the mapping reads {each.table}.{each.name} from the column "
                        f"{shown(each.column)}, which neither the files nor the table of runs "
                        f"have; closest: {among(each.column, columns)}"
                    )
                value = value.default if cell is None else _property_value(cell, each, each.column)
            if value is not None:
                found[each.table][each.name] = value
            elif each.table not in _OPTIONAL and (mapping.runs is None or run.key in table):
                reason = f"run {shown(run.name)} has no {each.name}; give one, or a default in the "
                raise said.first.error(each.column, reason + "mapping")
    return found


def _property_value(cell: Cell, wanted: Property, column: str) -> Any:
    """Return a cell as the value of a property."""
    values = {same(text): meant for text, meant in (wanted.value.values or {}).items()}
    if same(cell.text) in values:
        return values[same(cell.text)]
    if wanted.table != "metaparameters" and is_rounded(cell.text):
        reason = f"{wanted.name} is {shown(cell.text)}, which a float has rounded: write all digits"
        raise cell.position.error(column, reason)
    if wanted.table == "metaparameters" and wanted.name not in OWN_COLUMN:
        if (whole := whole_number(cell.text)) is not None and abs(whole) > 2**53:
            return whole
        # A text such as 007 is a name; .5 and +1 are numbers.
        if number(cell.text) is not None and re.match(r"\s*[+-]?0\d", cell.text):
            return cell.text
    word = cell.text.strip().lower()
    truth = {"true": True, "false": False}.get(word)
    # The likeliest first: 1 is a number rather than a truth.
    for meant in (whole_number(cell.text), number(cell.text), truth, cell.text, _TRUTHS.get(word)):
        try:
            return msgspec.convert(meant, wanted.kind)
        except msgspec.ValidationError:
            continue
    try:
        return convert(cell.text, wanted.kind, wanted.name)
    except InvalidError as error:
        known = ", ".join(map(shown, values))
        reason = f"{error}; its values in the mapping are {known}" if known else str(error)
        reason += f"; {USE_POINTS}" if re.match(COMMA, cell.text) else ""
        raise cell.position.error(column, reason) from error


def by_study(
    runs: Iterable[MeasuredRun], search_space: Mapping[str, Any], problems: Problems
) -> list[StudyRuns]:
    """Return the runs of each study, by workload and batch size.

    It is a problem where runs of one workload or study differ.
    """
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
        first, known = workloads.setdefault(name, (each.run, workload))
        held = studies.setdefault((name, study.batch_size), StudyRuns(study))
        held.runs.append(each)
        what = f"study, {name} at batch size {study.batch_size},"
        with problems:
            _refuse_difference(first, known, each.run, workload, f"workload {name}")
            _refuse_difference(held.runs[0].run, held.study, each.run, study, what)
    return [studies[key] for key in sorted(studies)]


def _refuse_difference(
    first: Run, known: Workload | Study, run: Run, given: Workload | Study, what: str
) -> None:
    if differing := differences(known, given):
        reason = f"run {shown(run.name)} differs from {shown(first.name)} of the same {what} in "
        raise run.first.error(None, reason + ", ".join(differing))


def stopped_early(studies: Iterable[StudyRuns], mapping: RunMapping) -> Iterator[str]:
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
                _status(run) == "COMPLETE" and not _reaches(run, workload) for run in short
            )
    if early:
        is_one = early == 1
        yield (
            f"{early:,} of {counted(count, 'run')} {'ends' if is_one else 'end'} before three "
            "quarters of the steps of the longest of the study without reaching a goal, and "
            f"{'is' if is_one else 'are'} COMPLETE: where they were stopped, map trial.status, or "
            "study.train_steps, which makes runs of fewer steps INCOMPLETE"
        )


def _reaches(run: MeasuredRun, workload: Workload) -> bool:
    """Return whether a run reaches the workload's goal."""
    if workload.goal is None:
        return False
    found = run.values.filter(metric=workload.metric)["value"]
    past = found > workload.goal if workload.maximize else found < workload.goal
    return bool((past | ((found == workload.goal) & workload.goal_inclusive)).any())


def new_shards(studies: Iterable[StudyRuns], mapping: RunMapping, index: Index) -> list[NewShard]:
    """Return the footer and the rows of a shard for each study, of the runs that the release lacks.

    Runs that the release already has keep their numbers. The others follow in the order in which
    the files first name them. The source of a trial is a digest of everything but its number, so
    that the same run is recognized again.

    Raises:
        RunsError: two runs have one number, the release has a run with other contents, or a
            workload that it lacks has no run with the workload's metric.
    """
    metrics = {
        metric.name: {"column": column, "transform": metric.transform}
        for column, metric in mapping.metric_of.items()
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
        held = {row["name"]: row for row in index.trials_of(*key).values()}
        pairs = [(run, _trial(run)) for run in each.runs]
        new = _with_numbers(pairs, held, problems)
        study, known = each.study, index.studies.get(key)
        if "train_steps" not in each.runs[0].properties["study"]:
            complete = [trial.steps for _, trial in pairs if trial.status == "COMPLETE"]
            least = known.train_steps if known else min(complete, default=0)
            study = msgspec.structs.replace(study, train_steps=least)
        trials = tuple(trial for _, trial in new)
        footer = Footer(study=study, trials=trials, producer=producer)
        shards.append((footer, [_measurements_of(new)] if new else []))
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


def _trial(each: MeasuredRun) -> Trial:
    """Return a run as a shard describes it, with a digest of it, and without its number."""
    given = each.properties["trial"]
    trial = Trial(
        trial_id=given.get("trial_id", 0),
        status=_status(each),
        steps=each.steps,
        metaparameters=dict(each.properties["metaparameters"]),
        seed=given.get("seed"),
        name=each.run.name,
    )
    described = [trial.status, trial.steps, trial.metaparameters, trial.seed]
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for (name,), part in each.values.partition_by("metric", as_dict=True).items():
        digest.update(json.dumps([name, len(part)]).encode())
        digest.update(part["step"].to_numpy().tobytes())
        digest.update(part["value"].to_numpy().tobytes())
    return msgspec.structs.replace(trial, source=digest.hexdigest())


def _status(each: MeasuredRun) -> Status:
    """Return how a run ended, as is given or by its values; a stopped one may have diverged."""
    given: Status | None = each.properties["trial"].get("status")
    if given in {"COMPLETE", "INFEASIBLE"}:
        return given
    trained = words.trained(each.values["metric"].unique())
    ends = each.values.filter(pl.col("metric").is_in(trained or metric_columns()))
    ends = ends.group_by("metric").agg(pl.col("value").last())
    if not ends["value"].is_finite().all():
        return "INFEASIBLE"
    is_short = given == "INCOMPLETE" or each.steps < each.properties["study"].get("train_steps", 0)
    return "INCOMPLETE" if is_short else "COMPLETE"


def _with_numbers(
    pairs: Iterable[tuple[MeasuredRun, Trial]],
    held: Mapping[str, Mapping[str, Any]],
    problems: Problems,
) -> list[tuple[MeasuredRun, Trial]]:
    """Return the new runs with their trials, by number."""
    taken: dict[int, str] = {row["trial_id"]: name for name, row in held.items()}
    following = max(taken, default=-1) + 1
    new = []
    for each, trial in pairs:
        name = each.run.name
        if name in held:
            if held[name]["source"] != trial.source:
                reason = f"run {shown(name)} is already there as trial {held[name]['trial_id']} "
                reason += "with other contents: load what has changed as another release, which "
                problems.add(RunsError(reason + "--release names"))
            continue
        trial_id = each.properties["trial"].get("trial_id")
        if trial_id is None:
            trial_id, following = following, following + 1
        if trial_id in taken:
            other = f"{shown(taken[trial_id])} of the same study has"
            reason = f"run {shown(name)} has trial_id {trial_id}, which {other}"
            problems.add(each.run.first.error(None, reason))
            continue
        taken[trial_id] = name
        new.append((each, msgspec.structs.replace(trial, trial_id=trial_id)))
    return sorted(new, key=lambda pair: pair[1].trial_id)


def _measurements_of(runs: Iterable[tuple[MeasuredRun, Trial]]) -> pa.Table:
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
