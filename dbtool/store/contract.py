"""The shard contract as code: the columns, metadata keys and names that schema/shard.toml fixes."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dbtool.resources import schema_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT_KEY = "dbtool_shard_format"
STUDY_KEY = "dbtool_study"
TRIALS_KEY = "dbtool_trials"
PRODUCER_KEY = "dbtool_producer"
METADATA_KEYS = (FORMAT_KEY, STUDY_KEY, TRIALS_KEY, PRODUCER_KEY)
OTHER_METRICS = "other_metrics"
# What a release folder's shards say of the release besides; nothing of it changes what a trial is.
ABOUT_THE_RELEASE = ("title", "licence", "citation")
STATUSES = ("COMPLETE", "INCOMPLETE", "INFEASIBLE")

_DIGEST_DIGITS = 16
_NAME = re.compile(r"trials-(\d{5,})-(\d{5,})-([0-9a-f]{16})\.parquet", re.ASCII)


@dataclass(frozen=True, slots=True)
class ShardName:
    """What a shard's file name says: its smallest and largest trial id and its digest."""

    first: int
    last: int
    digest: str


def without_about(study: Mapping[str, Any]) -> dict[str, Any]:
    """A study's description without what its shard says of the release."""
    return {key: value for key, value in study.items() if key not in ABOUT_THE_RELEASE}


@functools.cache
def _contract() -> dict[str, Any]:
    """The contents of schema/shard.toml."""
    with (schema_folder() / "shard.toml").open("rb") as file:
        return tomllib.load(file)


def shard_format() -> int:
    """The number of the shard format that this code writes and reads."""
    return int(_contract()["format"])


@functools.cache
def shard_schema(optional: frozenset[str] = frozenset()) -> pa.Schema:
    """The columns of a shard in order, without metadata; non-null columns are marked so.

    Args:
        optional: the optional columns that it has; other names are passed over.
    """
    return pa.schema(
        [
            pa.field(column["name"], _type(column["type"]), nullable=column["null"])
            for column in _contract()["column"]
            if column["name"] in optional or not column.get("optional", False)
        ]
    )


@functools.cache
def optional_columns() -> frozenset[str]:
    """The names of the columns that a shard may lack."""
    columns = _contract()["column"]
    return frozenset(column["name"] for column in columns if column.get("optional", False))


@functools.cache
def metric_columns() -> tuple[str, ...]:
    """The names of the columns that hold one metric each, in order, optional ones among them."""
    names = shard_schema(optional_columns()).names
    return tuple(name for name in names if name not in ("trial_id", "step", OTHER_METRICS))


def _type(name: str) -> pa.DataType:
    """The type that the contract names; `pa.type_for_alias` knows no maps."""
    if name == "map<string, double>":
        return pa.map_(pa.string(), pa.float64())
    return pa.type_for_alias(name)


def shard_name(first: int, last: int, sha256: str) -> str:
    """The file name of a shard.

    Args:
        first: its smallest trial id.
        last: its largest trial id.
        sha256: the hex digest of the whole file.
    """
    return f"trials-{first:05d}-{last:05d}-{sha256[:_DIGEST_DIGITS]}.parquet"


def parse_shard_name(name: str) -> ShardName | None:
    """What a file name says, or None where it is not a shard's name as `shard_name` writes it."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    first, last, digest = int(match[1]), int(match[2]), match[3]
    return ShardName(first, last, digest) if shard_name(first, last, digest) == name else None
