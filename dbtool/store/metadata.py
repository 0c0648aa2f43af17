"""The JSON of a shard's metadata as checked values: its study, its trials and its producer."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from dbtool.store.contract import (
    FORMAT_KEY,
    METADATA_KEYS,
    PRODUCER_KEY,
    STATUSES,
    STUDY_KEY,
    TRIALS_KEY,
    metric_columns,
    shard_format,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class MetadataError(ValueError):
    """The metadata is out of contract; the message says in what."""


class Definition(TypedDict):
    """The keys of a workload definition that the store reads; a definition may hold more."""

    workload: str
    collection: str | None
    dataset: str
    model: str
    optimizer: str
    sparsity: float
    metric: str
    goal: float | None
    maximize: bool
    train_examples: int
    goal_inclusive: NotRequired[bool]


class Study(TypedDict):
    """A study as its shards describe it; title, licence and citation may be given with it."""

    release: str
    workload: Definition
    batch_size: int
    train_steps: int
    early_stopping: bool
    search_space: dict[str, Any]
    seed: int | None
    search: NotRequired[dict[str, Any] | None]


class Trial(TypedDict):
    """A trial as its shard describes it; `steps` is the last step that was taken."""

    trial_id: int
    status: str
    steps: int
    metaparameters: dict[str, float]
    seed: int | None


_Kinds = tuple[type, ...]
_NULL = type(None)
_STUDY: dict[str, _Kinds] = {
    "release": (str,),
    "workload": (dict,),
    "batch_size": (int,),
    "train_steps": (int,),
    "early_stopping": (bool,),
    "search_space": (dict,),
    "seed": (int, _NULL),
}
_OPTIONAL_STUDY: dict[str, _Kinds] = {"search": (dict, _NULL)}
_DEFINITION: dict[str, _Kinds] = {
    "workload": (str,),
    "collection": (str, _NULL),
    "dataset": (str,),
    "model": (str,),
    "optimizer": (str,),
    "sparsity": (int, float),
    "metric": (str,),
    "goal": (int, float, _NULL),
    "maximize": (bool,),
    "train_examples": (int,),
}
_OPTIONAL_DEFINITION: dict[str, _Kinds] = {"goal_inclusive": (bool,)}
_TRIAL: dict[str, _Kinds] = {
    "trial_id": (int,),
    "status": (str,),
    "steps": (int,),
    "metaparameters": (dict,),
    "seed": (int, _NULL),
}
_NAMES = {str: "text", int: "an integer", float: "a number", bool: "true or false"}
_NAMES |= {dict: "an object", _NULL: "null"}
# The widths of the columns that hold them.
_LARGEST = {
    "trial_id": 2**31 - 1,
    "batch_size": 2**31 - 1,
    "steps": 2**63 - 1,
    "train_steps": 2**63 - 1,
    "train_examples": 2**63 - 1,
}


def parse_metadata(
    metadata: Mapping[bytes, bytes],
) -> tuple[Study, tuple[Trial, ...], dict[str, Any]]:
    """The study, the trials and the producer that a shard's footer describes.

    Args:
        metadata: the key-value metadata of the Parquet file.

    Raises:
        MetadataError: a key is missing or a value is out of contract.
    """
    missing = [key for key in METADATA_KEYS if key.encode() not in metadata]
    if missing:
        raise MetadataError(f"its metadata has no {' and no '.join(missing)}")
    written = _json(metadata, FORMAT_KEY)
    if written != shard_format():
        raise MetadataError(
            f"its shard format is {written!r} and this dbtool reads {shard_format()}"
        )
    producer = _json(metadata, PRODUCER_KEY)
    if not isinstance(producer, dict):
        raise MetadataError("its producer is not an object")
    return _study(_json(metadata, STUDY_KEY)), _trials(_json(metadata, TRIALS_KEY)), producer


def _json(metadata: Mapping[bytes, bytes], key: str) -> Any:
    """The value of a key, read as JSON that can be stored as such.

    Raises:
        MetadataError: it is not JSON, or has text that is not Unicode or a number out of range.
    """
    try:
        value = json.loads(metadata[key.encode()], parse_constant=_no_constant)
        # 1e999 is read as infinity, and half of a surrogate pair as text.
        text = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise MetadataError(f"its {key} is not JSON") from error
    if b"\\u0000" in text:
        raise MetadataError(f"its {key} holds a null character")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _study(value: Any) -> Study:
    _check_fields(value, _STUDY, "study")
    optional = {name: _OPTIONAL_STUDY[name] for name in _OPTIONAL_STUDY & value.keys()}
    _check_fields(value, optional, "study")
    _check_fields(value["workload"], _DEFINITION, "workload definition")
    definition = value["workload"]
    optional = {
        name: _OPTIONAL_DEFINITION[name] for name in _OPTIONAL_DEFINITION & definition.keys()
    }
    _check_fields(definition, optional, "workload definition")
    metric = definition["metric"]
    if metric not in metric_columns():
        raise MetadataError(f"its workload's metric {metric!r} is none of a shard's columns")
    if definition["maximize"] is not metric.endswith("average_precision"):
        better = "higher" if metric.endswith("average_precision") else "lower"
        raise MetadataError(
            f"its workload's maximize is {json.dumps(definition['maximize'])}, "
            f"but {better} values of {metric} are better"
        )
    if not 0 <= definition["sparsity"] < 1:
        raise MetadataError(f"its workload's sparsity {definition['sparsity']} is not below 1")
    for name in (value["release"], definition["workload"]):
        if not name.strip():
            raise MetadataError("its release or workload has an empty name")
    if value["batch_size"] < 1:
        raise MetadataError(f"its study's batch_size {value['batch_size']} is below 1")
    study: Study = value
    return study


def _trials(value: Any) -> tuple[Trial, ...]:
    if not isinstance(value, list) or not value:
        raise MetadataError("its trials are not a list of at least one")
    seen: set[int] = set()
    for trial in value:
        _check_fields(trial, _TRIAL, "trial")
        trial_id, metaparameters = trial["trial_id"], trial["metaparameters"]
        if trial_id in seen:
            raise MetadataError(f"trial {trial_id} is listed twice")
        seen.add(trial_id)
        if trial["status"] not in STATUSES:
            raise MetadataError(
                f"trial {trial_id} has status {trial['status']!r}, which is none of "
                + ", ".join(STATUSES)
            )
        for name, number in metaparameters.items():
            if not _is_number(number):
                raise MetadataError(f"trial {trial_id}'s {name} is not a number")
    return tuple(value)


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _check_fields(value: Any, fields: Mapping[str, _Kinds], what: str) -> None:
    """Refuses an object that lacks a field, or has one of the wrong type or out of range.

    Raises:
        MetadataError: it is such an object.
    """
    if not isinstance(value, dict):
        raise MetadataError(f"its {what} is not an object")
    for name, kinds in fields.items():
        if name not in value:
            raise MetadataError(f"its {what} has no {name}")
        held = value[name]
        # Python counts true and false among the integers.
        if not isinstance(held, kinds) or (isinstance(held, bool) and bool not in kinds):
            wanted = " or ".join(_NAMES[kind] for kind in kinds)
            raise MetadataError(f"its {what} has {name} {held!r}, which is not {wanted}")
        if isinstance(held, float) and not math.isfinite(held):
            raise MetadataError(f"its {what} has {name} {held!r}, which is not finite")
        if isinstance(held, int) and not _in_range(name, held):
            raise MetadataError(f"its {what} has {name} {held}, which is out of range")


def _in_range(name: str, number: int) -> bool:
    """Whether an integer fits the column that holds a field of that name."""
    if name in _LARGEST:
        return 0 <= number <= _LARGEST[name]
    return -(2**63) <= number < 2**63
