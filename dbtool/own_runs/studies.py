"""Runs as trials of studies: numbered, with a status, and grouped by workload and batch size."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from dbtool.own_runs.errors import RunsError, at, shown
from dbtool.store.contract import metric_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbtool.own_runs.gather import Run
    from dbtool.own_runs.mapping import RunMapping, Value

    Properties: TypeAlias = Mapping[tuple[str, str], Value]
    Key: TypeAlias = "tuple[str, int]"

_MOST_TRIALS = 2**31


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run that the database holds.

    Attributes:
        trial_id: its number in its study.
        digest: of what it holds; see `OwnTrial`.
    """

    trial_id: int
    digest: str


@dataclass(frozen=True, slots=True)
class HeldStudy:
    """A study of own runs that the database holds.

    Attributes:
        train_steps: its fewest steps of a COMPLETE trial.
        runs: its runs by name.
    """

    train_steps: int
    runs: Mapping[str, HeldRun]


@dataclass(frozen=True, slots=True)
class OwnTrial:
    """A run as a trial.

    Attributes:
        run: with its name and values.
        trial: as a shard describes it.
        digest: of its description but the number, and of its values, so that the same run is known
            again.
    """

    run: Run
    trial: Mapping[str, Any]
    digest: str


@dataclass(frozen=True, slots=True)
class OwnStudy:
    """A study of own runs.

    Attributes:
        study: as its shards describe it.
        new: trials that the database does not hold, by trial id.
        already_there: how many it holds.
    """

    study: Mapping[str, Any]
    new: tuple[OwnTrial, ...]
    already_there: int


def group(
    runs: Sequence[tuple[Run, Properties]],
    mapping: RunMapping,
    release: str,
    held: Mapping[Key, HeldStudy],
) -> list[OwnStudy]:
    """Groups runs into studies.

    Runs that the database holds keep their numbers; the others follow in the order in which the
    files first name them.

    Args:
        runs: with values, each with its properties.
        mapping: the mapping.
        release: the name under which they are stored.
        held: what the database holds of the release, by workload and batch size.

    Raises:
        RunsError: runs of one workload differ in what it is, two have one number, or a run is
            there with other contents.
    """
    definitions: dict[str, tuple[Run, dict[str, Any]]] = {}
    groups: dict[Key, list[tuple[Run, Properties]]] = {}
    for run, properties in runs:
        definition = _definition(properties)
        name = definition["workload"]
        first, known = definitions.setdefault(name, (run, definition))
        _check_same(first, known, run, definition, f"workload {name}")
        groups.setdefault((name, _batch_size(run, properties)), []).append((run, properties))
    about = {name: text for name, text in mapping.about.items() if name != "release"}
    return [
        _study(
            members,
            {
                "release": release,
                "workload": definitions[key[0]][1],
                "batch_size": key[1],
                "search_space": dict(mapping.search_space),
                "seed": None,
                **about,
            },
            held.get(key),
        )
        for key, members in sorted(groups.items(), key=lambda item: item[0])
    ]


def _definition(properties: Properties) -> dict[str, Any]:
    said = {name: value for (table, name), value in properties.items() if table == "workload"}
    parts = [said.get("collection"), said["dataset"], said["model"], said["optimizer"]]
    metric = str(said["metric"])
    return {
        "collection": None,
        "sparsity": 0.0,
        "goal": None,
        "maximize": metric.endswith("average_precision"),
        "goal_inclusive": False,
        **said,
        "workload": "/".join(str(part) for part in parts if part),
    }


def _batch_size(run: Run, properties: Properties) -> int:
    batch_size = properties["study", "batch_size"]
    if not isinstance(batch_size, int) or not 0 < batch_size < 2**31:
        raise at(run.place, None, f"run {shown(run.name)} has batch size {batch_size}")
    return batch_size


def _check_same(
    first: Run, known: Mapping[str, Any], run: Run, given: Mapping[str, Any], what: str
) -> None:
    for name, value in given.items():
        if known.get(name) != value:
            raise at(
                run.place,
                None,
                f"run {shown(run.name)} has {name} {value!r}, and {shown(first.name)} of the same "
                f"{what} has {known.get(name)!r}; runs that differ in it are different workloads",
            )


def _study(
    members: Sequence[tuple[Run, Properties]], study: dict[str, Any], held: HeldStudy | None
) -> OwnStudy:
    first, known = members[0][0], _settings(members[0][1])
    what = f"study, {study['workload']['workload']} at batch size {study['batch_size']},"
    for run, properties in members:
        _check_same(first, known, run, _settings(properties), what)
    described = [(run, _description(run, properties)) for run, properties in members]
    complete = [trial["steps"] for _, trial in described if trial["status"] == "COMPLETE"]
    if known["train_steps"] is None:
        known["train_steps"] = min(complete, default=0) if held is None else held.train_steps
    given = {run.name: properties.get(("trial", "trial_id")) for run, properties in members}
    trials, already_there = _numbered(described, given, {} if held is None else held.runs)
    return OwnStudy(study | known, trials, already_there)


def _settings(properties: Properties) -> dict[str, Any]:
    return {
        "train_steps": properties.get(("study", "train_steps")),
        "early_stopping": properties.get(("study", "early_stopping"), False),
    }


def _description(run: Run, properties: Properties) -> dict[str, Any]:
    """A run as a shard describes it, but for its number."""
    steps = max(series.steps[-1] for series in run.series.values())
    train_steps = properties.get(("study", "train_steps"))
    return {
        "status": properties.get(("trial", "status"), _status(run, steps, train_steps)),
        "steps": steps,
        "metaparameters": {
            name: value for (table, name), value in properties.items() if table == "metaparameters"
        },
        "seed": properties.get(("trial", "seed")),
    }


def _status(run: Run, steps: int, train_steps: Value | None) -> str:
    """What became of a run of which the mapping does not say it."""
    last = [run.series[name].values[-1] for name in metric_columns() if name in run.series]
    if not all(map(math.isfinite, last)):
        return "INFEASIBLE"
    if isinstance(train_steps, int) and steps < train_steps:
        return "INCOMPLETE"
    return "COMPLETE"


def _numbered(
    described: Sequence[tuple[Run, dict[str, Any]]],
    given: Mapping[str, Value | None],
    held: Mapping[str, HeldRun],
) -> tuple[tuple[OwnTrial, ...], int]:
    """The trials that are new, by number, and how many are already there."""
    taken: dict[Any, str] = {run.trial_id: name for name, run in held.items()}
    following = max(taken, default=-1) + 1
    new, already_there = [], 0
    for run, description in described:
        digest = _digest(run, description)
        if run.name in held:
            if held[run.name].digest != digest:
                raise _changed(run, held[run.name])
            already_there += 1
            continue
        trial_id = given[run.name]
        if trial_id is None:
            trial_id, following = following, following + 1
        if trial_id in taken:
            reason = (
                f"run {shown(run.name)} has trial_id {trial_id}, which {shown(taken[trial_id])}"
            )
            raise at(run.place, None, f"{reason} of the same study has")
        if not isinstance(trial_id, int) or not 0 <= trial_id < _MOST_TRIALS:
            raise at(run.place, None, f"run {shown(run.name)} has trial_id {trial_id}")
        taken[trial_id] = run.name
        new.append(OwnTrial(run, {"trial_id": trial_id, **description}, digest))
    return tuple(sorted(new, key=lambda trial: trial.trial["trial_id"])), already_there


def _changed(run: Run, held: HeldRun) -> RunsError:
    return RunsError(
        f"run {shown(run.name)} is already there as trial {held.trial_id} with other contents: "
        "load what has changed as another release, which --release names"
    )


def _digest(run: Run, description: Mapping[str, Any]) -> str:
    text = json.dumps(description, sort_keys=True)
    digest = hashlib.sha256(text.encode(errors="surrogatepass"))
    for name, series in sorted(run.series.items()):
        digest.update(json.dumps([name, len(series.steps)]).encode())
        digest.update(series.steps.tobytes())
        digest.update(series.values.tobytes())
    return digest.hexdigest()
