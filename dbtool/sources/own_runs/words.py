"""What tools call what they log, and what that is here, for a first guess."""

from __future__ import annotations

import re

STEPS = ("_step", "global_step", "step", "steps", "iteration", "iter", "update", "epoch", "epochs")
RUNS = ("run", "run_id", "run_name", "dir_name", "experiment", "trial", "trial_id", "id", "name")
METRICS = ("metric", "metric_name", "tag", "variable", "key")
VALUES = ("value", "metric_value")
TIMES = re.compile(
    r"(^|[^a-z])(time|timestamp|datetime|date|runtime|wall|duration|elapsed|unnamed|epoch)([^a-z]|$)"
)
STATUSES = {
    **dict.fromkeys(("finished", "completed", "complete", "done", "success"), "COMPLETE"),
    **dict.fromkeys(("crashed", "failed", "killed", "running", "stopped"), "INCOMPLETE"),
    **dict.fromkeys(("diverged", "infeasible", "nan"), "INFEASIBLE"),
}
# By table and name in a mapping, what columns that hold it are called.
_ROLES = {
    ("workload", "dataset"): ("dataset", "dataset_name", "data_set"),
    ("workload", "model"): ("model", "model_name", "arch", "architecture", "network", "backbone"),
    ("workload", "optimizer"): ("optimizer", "optimizer_name", "optim", "opt"),
    ("workload", "train_examples"): ("train_examples", "num_train_examples", "train_size"),
    ("study", "batch_size"): ("batch_size", "global_batch_size", "train_batch_size", "bs"),
    ("trial", "status"): ("state", "status"),
    ("trial", "seed"): ("seed", "rng_seed", "random_seed"),
    ("metaparameters", "learning_rate"): ("learning_rate", "lr", "base_lr", "initial_lr"),
}
_ROLE_OF = {word: role for role, names in _ROLES.items() for word in names}
MEASURES = ("classification_error", "cross_entropy_error", "average_precision")
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


def plain(name: str) -> str:
    """A column's own name: without what it is nested in, in lower case, with underscores."""
    return re.sub(r"[^a-z0-9]+", "_", re.split(r"[./]", name.lower())[-1]).strip("_")


def role(name: str) -> tuple[str, str] | None:
    """The table and name in a mapping of what a column holds; None where the name does not say."""
    return _ROLE_OF.get(plain(name))


def metric(name: str, most: float) -> tuple[str, str | None] | None:
    """The database's column that a metric is, and its transform; None where it has no column.

    Args:
        name: the tool's.
        most: its highest value, which tells shares from percent.
    """
    words = re.split(r"[^a-z0-9]+", name.lower())
    split = next((_SPLITS[word] for word in words if word in _SPLITS), None)
    measure = next((_MEASURES[word] for word in reversed(words) if word in _MEASURES), None)
    percent = most > 1
    match measure, split:
        case ("loss", None | "train") if len(words) <= 2:
            return "batch_cross_entropy_error", None
        case _, None:
            return None
        case "loss", _:
            return f"{split}_cross_entropy_error", None
        case "perplexity", _:
            return f"{split}_cross_entropy_error", "log(x)"
        case "accuracy", _:
            return f"{split}_classification_error", "1 - x / 100" if percent else "1 - x"
        case "error", _:
            return f"{split}_classification_error", "x / 100" if percent else None
        case "precision", _ if "average" in words or "map" in words:
            return f"{split}_average_precision", "x / 100" if percent else None
    return None
