"""Names that tools use for what they log, and their meaning here, for a first guess."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STEP_COLUMNS = (
    "_step",
    "global_step",
    "step",
    "steps",
    "iteration",
    "iter",
    "update",
    "epoch",
    "epochs",
)
RUNS = ("run", "run_id", "run_name", "dir_name", "experiment", "trial", "trial_id", "id", "name")
METRICS = ("metric", "metric_name", "tag", "variable", "key")
VALUES = ("value", "metric_value")
TIMES = re.compile(
    r"(^|[^a-z])(time|timestamp|datetime|date|runtime|wall|duration|elapsed|unnamed|epoch)([^a-z]|$)"
)
STATUS_WORDS = {
    **dict.fromkeys(("finished", "completed", "complete", "done", "success"), "COMPLETE"),
    **dict.fromkeys(("crashed", "failed", "killed", "running", "stopped"), "INCOMPLETE"),
    **dict.fromkeys(("diverged", "infeasible", "nan"), "INFEASIBLE"),
}
# By table and name in a mapping, the usual names of columns with that property.
ROLES = {
    ("workload", "dataset"): ("dataset", "dataset_name", "data_set", "task", "workload"),
    ("workload", "model"): ("model", "model_name", "arch", "architecture", "network", "backbone"),
    ("workload", "optimizer"): ("optimizer", "optimizer_name", "optim", "opt"),
    ("workload", "train_examples"): ("train_examples", "num_train_examples", "train_size"),
    ("study", "batch_size"): ("batch_size", "global_batch_size", "train_batch_size", "bs"),
    ("trial", "status"): ("state", "status"),
    ("trial", "seed"): ("seed", "rng_seed", "random_seed"),
    ("metaparameters", "learning_rate"): ("learning_rate", "lr", "base_lr", "initial_lr"),
}
_SPLITS = {
    **dict.fromkeys(("val", "valid", "validation", "eval", "dev"), "val"),
    "test": "test",
    **dict.fromkeys(("train", "training"), "train"),
}
_MEASURES = {
    **dict.fromkeys(("accuracy", "acc", "top1", "acc1"), "accuracy"),
    **dict.fromkeys(("error", "err"), "error"),
    **dict.fromkeys(("perplexity", "ppl"), "perplexity"),
    **dict.fromkeys(("loss", "nll", "ce", "xent", "entropy"), "loss"),
    **dict.fromkeys(("precision", "map"), "precision"),
}


# The order in which metrics are tried as the one of the goal.
GOALS = [
    f"{split}_{measure}"
    for split in ("val", "test", "train")
    for measure in ("classification_error", "cross_entropy_error", "average_precision")
]


def named(names: Sequence[str], columns: Sequence[str]) -> str | None:
    """Return the first column that has one of the names, ignoring case; None where none has."""
    known = {column.lower(): column for column in reversed(columns)}
    return next((known[name] for name in names if name in known), None)


def bare(name: str) -> str:
    """Return a column's own name: without its prefixes, in lower case, with underscores."""
    return re.sub(r"[^a-z0-9]+", "_", re.split(r"[./]", name.lower())[-1]).strip("_")


def split(name: str) -> list[str]:
    """Return the words of a metric's name."""
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


def metrics(name: str, *, percent: bool) -> Iterator[tuple[str, str | None]]:
    """Yield the database's columns for a tool's metric, likeliest first, with their transforms.

    Metrics that have values above 1 are taken for percents.
    """
    given = split(name)
    part = next((_SPLITS[word] for word in given if word in _SPLITS), None)
    measure = next((_MEASURES[word] for word in reversed(given) if word in _MEASURES), None)
    if measure == "loss" and part in {None, "train"} and "epoch" not in given:
        yield "batch_cross_entropy_error", None
    match measure if part else None:
        case "loss":
            yield f"{part}_cross_entropy_error", None
        case "perplexity":
            yield f"{part}_cross_entropy_error", "log(x)"
        case "accuracy":
            yield f"{part}_classification_error", "1 - x / 100" if percent else "1 - x"
        case "error":
            yield f"{part}_classification_error", "x / 100" if percent else None
        case "precision" if "average" in given or "map" in given:
            yield f"{part}_average_precision", "x / 100" if percent else None
