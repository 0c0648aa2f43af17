"""The columns and the paths of shards, as schema/shard.toml fixes them, and the archive's names."""

from __future__ import annotations

import functools
import tomllib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dbtool.core.resources import schema_folder

if TYPE_CHECKING:
    import pyarrow as pa

FOOTER_KEY = "dbtool"
OTHER_METRICS = "other_metrics"
BATCH_LOSS = "batch_cross_entropy_error"
CONSTANTS = ("workload", "batch_size", "dataset", "model", "optimizer")
"""The columns that are the same in all rows of a shard."""
KEYS = (*CONSTANTS, "trial_id", "status", "step")
ARCHIVE_ROOT = "batch_science"
"""The folder that all others of the published archive lie in."""
_DIGEST_DIGITS = 32


_SQL_TYPES = {
    "string": "VARCHAR",
    "bool": "BOOLEAN",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
}


def sql_type(kind: pa.DataType) -> str:
    """DuckDB's name of the type of a column of shards or of the index."""
    return _SQL_TYPES[str(kind)]


@functools.cache
def _contract() -> dict[str, Any]:
    with (schema_folder() / "shard.toml").open("rb") as file:
        return tomllib.load(file)


SHARD_FORMAT: int = _contract()["format"]


@functools.cache
def column_names() -> tuple[str, ...]:
    """The names of a shard's columns, in order."""
    return tuple(column["name"] for column in _contract()["column"])


@functools.cache
def metric_columns() -> tuple[str, ...]:
    """The names of the columns that hold one metric each, in order."""
    return tuple(name for name in column_names() if name not in (*KEYS, OTHER_METRICS))


@functools.cache
def archive_columns() -> dict[str, str]:
    """By the columns of metrics their names in the published archive, in its order.

    Example:
        >>> archive_columns()["val_classification_error"]
        'val/classification_error'
    """
    splits = ("train", "val", "test", "batch")
    ordered = sorted(metric_columns(), key=lambda name: splits.index(name.partition("_")[0]))
    return {name: name.replace("_", "/", 1) for name in ordered}


@functools.cache
def shard_schema() -> pa.Schema:
    """The columns of a shard with their types."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(column["name"], pa.type_for_alias(column["type"]), nullable=column["null"])
            for column in _contract()["column"]
        ]
    )


def study_path(workload: str, batch_size: int) -> str:
    """Where the shards of a study lie, below the release folder.

    Example:
        >>> study_path("mnist/fc_1024/sgd", 64)
        'measurements/workload=mnist%2Ffc_1024%2Fsgd/batch_size=64'
    """
    return f"measurements/workload={quote(workload, safe='')}/batch_size={batch_size}"


def shard_path(workload: str, batch_size: int, sha256: str) -> str:
    """Where a shard lies, below the release folder.

    Args:
        workload: its workload's name.
        batch_size: its study's batch size.
        sha256: the hex digest of the whole file.
    """
    return f"{study_path(workload, batch_size)}/{sha256[:_DIGEST_DIGITS]}.parquet"
