"""The stored releases, workloads, studies, shards and trials: find them, add to them, compare."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from dbtool.store.sql import statement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from dbtool.store.metadata import Definition, Study
    from dbtool.store.shards import Shard

_SETTINGS = ("train_steps", "early_stopping", "search_space", "seed", "search")
_TRIALS = pa.schema(
    [
        ("trial_id", pa.int32()),
        ("status", pa.string()),
        ("steps", pa.int64()),
        ("metaparameters", pa.map_(pa.string(), pa.float64())),
        ("seed", pa.int64()),
        ("shard_id", pa.int32()),
        ("measurements", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Stored:
    """What the database holds of the study a shard names.

    Attributes:
        workload_id: None where the workload is not there.
        study_id: None where the study is not there.
        workload: the workload's definition.
        settings: the study's own settings by name.
        trials: the shard each trial came from, None for the archive's, by trial_id.
    """

    workload_id: int | None
    study_id: int | None
    workload: Mapping[str, Any] | None
    settings: Mapping[str, Any] | None
    trials: Mapping[int, str | None]


def find(connection: duckdb.DuckDBPyConnection, study: Study) -> Stored:
    """What the database holds of a study."""
    names = {"release": study["release"], "workload": study["workload"]["workload"]}
    found = connection.execute(statement("find_workload"), names).fetchone()
    if found is None:
        return Stored(None, None, None, None, {})
    workload_id, definition = int(found[0]), json.loads(found[1])
    key = {"workload_id": workload_id, "batch_size": study["batch_size"]}
    found = connection.execute(statement("find_study"), key).fetchone()
    if found is None:
        return Stored(workload_id, None, definition, None, {})
    study_id, train_steps, early_stopping, search_space, seed, search = found
    settings = {
        "train_steps": train_steps,
        "early_stopping": early_stopping,
        "search_space": json.loads(search_space),
        "seed": seed,
        "search": search and json.loads(search),
    }
    rows = connection.execute(statement("held_trials"), {"study_id": study_id}).fetchall()
    return Stored(workload_id, study_id, definition, settings, dict(rows))


def differences(stored: Stored, study: Study) -> list[str]:
    """In what a study differs from the stored one of its name; empty where it agrees."""
    found = []
    if stored.workload is not None:
        found += _differences("workload ", stored.workload, study["workload"])
    if stored.settings is not None:
        found += _differences("", stored.settings, study)
    return found


def with_study(stored: Stored, study: Study) -> Stored:
    """What the database would hold once a study were added to it."""
    given = cast("Mapping[str, Any]", study)
    settings = {name: given.get(name) for name in _SETTINGS}
    return dataclasses.replace(stored, workload=given["workload"], settings=settings)


def add_study(
    connection: duckdb.DuckDBPyConnection, stored: Stored, study: Study, *, produced: bool = True
) -> int:
    """Stores a study, and its workload and release where they are not there; returns its id.

    Args:
        connection: from `open_for_writing`, in a transaction.
        stored: what is there of it.
        study: the study.
        produced: whether a producer gave the workload's definition, which is then kept whole.
    """
    given = cast("Mapping[str, Any]", study)
    release = {"release": study["release"]}
    connection.execute(statement("add_release"), release)
    about = {name: given[name] for name in ("title", "licence", "citation") if given.get(name)}
    if about:
        nothing = dict.fromkeys(("title", "licence", "citation"))
        connection.execute(statement("complete_release"), release | nothing | about)
    if stored.study_id is not None:
        return stored.study_id
    workload_id = stored.workload_id
    if workload_id is None:
        workload_id = _add_workload(
            connection, study["release"], study["workload"], produced=produced
        )
    values = {
        "workload_id": workload_id,
        "batch_size": study["batch_size"],
        "train_steps": study["train_steps"],
        "early_stopping": study["early_stopping"],
        "search_space": json.dumps(study["search_space"]),
        "seed": study["seed"],
        "search": json.dumps(study["search"]) if study.get("search") else None,
    }
    return _new_id(connection, "add_study", values)


def add_shard(connection: duckdb.DuckDBPyConnection, study_id: int, shard: Shard) -> int:
    """Stores where rows come from; returns the shard's id."""
    values = {
        "study_id": study_id,
        "sha256": shard.sha256,
        "name": shard.path.name,
        "measurements": shard.rows,
        "producer": json.dumps(shard.producer),
    }
    return _new_id(connection, "add_shard", values)


def add_trials(
    connection: duckdb.DuckDBPyConnection, study_id: int, shards: Sequence[tuple[int, Shard]]
) -> None:
    """Stores the trials of shards, each with the id it was given."""
    rows = [
        {
            **trial,
            "metaparameters": list(trial["metaparameters"].items()),
            "shard_id": shard_id,
            "measurements": count,
        }
        for shard_id, shard in shards
        for trial, count in zip(shard.trials, shard.trial_rows, strict=True)
    ]
    insert_trials(connection, study_id, pa.Table.from_pylist(rows, schema=_TRIALS))


def insert_trials(connection: duckdb.DuckDBPyConnection, study_id: int, trials: pa.Table) -> None:
    """Stores trials of a study.

    Args:
        connection: from `open_for_writing`, in a transaction.
        study_id: theirs.
        trials: the columns of the table of trials but the study's; those left out are NULL.
    """
    connection.register("incoming_trials", trials)
    try:
        connection.execute(statement("add_trials"), {"study_id": study_id})
    finally:
        connection.unregister("incoming_trials")


def _add_workload(
    connection: duckdb.DuckDBPyConnection, release: str, definition: Definition, *, produced: bool
) -> int:
    """Stores a workload of a stored release; returns its id."""
    columns = (
        "workload collection dataset model optimizer sparsity metric goal maximize train_examples"
    )
    given = cast("Mapping[str, Any]", definition)
    values = {name: given[name] for name in columns.split()}
    values |= {"goal_inclusive": given.get("goal_inclusive", False)}
    whole = {"release": release, "definition": json.dumps(definition) if produced else None}
    return _new_id(connection, "add_workload", values | whole)


def _new_id(connection: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Any]) -> int:
    """Runs a statement that returns the id of the row it adds."""
    [(new_id,)] = connection.execute(statement(name), dict(values)).fetchall()
    return int(new_id)


def _differences(what: str, stored: Mapping[str, Any], given: Any) -> list[str]:
    """The keys whose values differ, with the values where they are short."""
    found = []
    for name in sorted({*stored, *(given if what else stored)}):
        old, new = stored.get(name), given.get(name)
        if old != new:
            short = not isinstance(old, dict | list) and not isinstance(new, dict | list)
            values = f" ({json.dumps(new)}, stored {json.dumps(old)})" if short else ""
            found.append(f"{what}{name}{values}")
    return found
