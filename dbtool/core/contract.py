"""The columns and paths of shards, as in schema/shard.toml, and the archive's names for them."""

import functools
import re
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
"""The columns that have one value throughout a shard."""
KEYS = (*CONSTANTS, "trial_id", "status", "step")
ARCHIVE_ROOT = "batch_science"
"""The top folder of the published archive."""
SPLITS = ("train", "val", "test", "batch")
"""What a metric is measured on, as its name begins; batch is the batch of the step itself."""
MAXIMIZED = (
    *("average_precision", "accuracy", "auc", "bleu", "clip", "dice"),
    *("intersection_over_union", "lddt"),
)
"""The ends of the names of metrics of which higher values are better."""
MAXIMIZED_WORDS = (
    *("correlation", "exact_match", "f1", "f1_score", "iou", "map", "meteor", "mrr", "ndcg"),
    *("precision", "psnr", "r2", "recall", "return", "reward", "rouge", "ssim", "success_rate"),
    "win_rate",
)
"""The whole names of such metrics, or what they end in after an underscore."""
RISING_PATTERN = (
    f"({'|'.join(MAXIMIZED)})$|(^|_)({'|'.join(MAXIMIZED_WORDS)})$"
    # A neg_log_likelihood falls.
    "|^((batch|test|train|val)_)?log_likelihood$"
)
"""What the names of such metrics match, as in schema/macros.sql and in the explorer's goal.ts."""
RISING_NAMES = (
    "the name of a metric that rises ends in accuracy, f1, reward or another of the words that "
    "docs/glossary.md lists"
)
_FALLING = re.compile(
    "(bits|entropy|error|error_rate|fid|loss|perplexity)$"
    "|(^|_)(bits_per_[a-z]+|bp[bcd]|[cptw]er|m[as]e|neg(ative)?_log_likelihood|nll|ppl|rmse)$"
)
_DIGEST_DIGITS = 32
_SQL_TYPES = {
    "string": "VARCHAR",
    "bool": "BOOLEAN",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
}


def sql_type(kind: "pa.DataType") -> str:
    """Return DuckDB's name for the type of a column of the shards or the index."""
    return _SQL_TYPES[str(kind)]


@functools.cache
def _contract() -> dict[str, Any]:
    with (schema_folder() / "shard.toml").open("rb") as file:
        return tomllib.load(file)


SHARD_FORMAT: int = _contract()["format"]


@functools.cache
def column_names() -> tuple[str, ...]:
    """Return the names of a shard's columns, in order."""
    return tuple(column["name"] for column in _contract()["column"])


@functools.cache
def metric_columns() -> tuple[str, ...]:
    """Return the names of the columns with one metric each, in order."""
    return tuple(name for name in column_names() if name not in (*KEYS, OTHER_METRICS))


def is_share(metric: str) -> bool:
    """Return whether the values of a metric are shares from 0 to 1."""
    return metric.endswith(("classification_error", "average_precision"))


def is_maximized(metric: str) -> bool:
    """Return whether higher values of a metric are better, as the macro of that name does."""
    return re.search(RISING_PATTERN, metric) is not None


def direction_note(metric: str) -> str:
    """Return a sentence where no name tells whether higher values of a metric are better, or ""."""
    if is_maximized(metric) or _FALLING.search(metric):
        return ""
    return f"lower values of {metric} are taken for better: {RISING_NAMES}"


@functools.cache
def archive_columns() -> dict[str, str]:
    """Map each metric column to its name in the published archive, in the archive's order.

    Example:
        >>> archive_columns()["val_classification_error"]
        'val/classification_error'
    """
    ordered = sorted(metric_columns(), key=lambda name: SPLITS.index(name.partition("_")[0]))
    return {name: name.replace("_", "/", 1) for name in ordered}


@functools.cache
def shard_schema() -> "pa.Schema":
    """Return the columns of a shard with their types."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(column["name"], pa.type_for_alias(column["type"]), nullable=column["null"])
            for column in _contract()["column"]
        ]
    )


def study_path(workload: str, batch_size: int) -> str:
    """Return the path of a study's shards, relative to the release folder.

    Example:
        >>> study_path("mnist/fc_1024/sgd", 64)
        'measurements/workload=mnist%2Ffc_1024%2Fsgd/batch_size=64'
    """
    return f"measurements/workload={quote(workload, safe='')}/batch_size={batch_size}"


def shard_path(workload: str, batch_size: int, sha256: str) -> str:
    """Return the path of a shard with that digest, relative to the release folder."""
    return f"{study_path(workload, batch_size)}/{sha256[:_DIGEST_DIGITS]}.parquet"
