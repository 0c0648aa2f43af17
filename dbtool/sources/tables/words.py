"""Names that tools use for what they log, and their meaning here, for a first guess."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from dbtool.sources.numbers import number

_COUNTED = ("step", "iteration", "iter", "itr", "update")
_OF_UPDATES = {"global", "opt", "optim", "optimizer", "grad", "gradient"}
_OF_COUNTERS = {*_OF_UPDATES, "train", "trainer", "training", "n", "num"}
CALLS = "_step"
"""Counts the calls of wandb.log, which may be more or fewer than the updates."""
EXAMPLES = {"tokens", "token", "examples", "samples", "sequences", "images"}
RUNS = ("run", "run_id", "run_name", "dir_name", "experiment", "trial", "trial_id", "id", "name")
METRICS = ("metric", "metric_name", "tag", "variable", "key")
VALUES = ("value", "metric_value")
_CLOCKS = "time|timestamp|datetime|date|runtime|wall|walltime|wallclock|duration|elapsed|unnamed"
TIMES = re.compile(rf"(^|[^a-z])({_CLOCKS}|epoch)([^a-z]|$)")
# What tells who, where and when, and not what a run was.
_NO_SETTING = re.compile(
    r"(^|[^a-z])(user(?!_attr)|username|author|owner|entity|email|host|hostname|machine|path|(log|out|output|save|run|work|data|cache|base|root|tmp)_?dir|dir"
    r"|addr|address|port|pid|[a-z_]*job_id|(run|exp|experiment|trial|wandb|sweep|session)_(name|id)"
    r"|directory|folder|file|filename|command|cmd|url|uri|uuid|git|commit|sha|created|updated|started|ended"
    rf"|{_CLOCKS})([^a-z]|$)|(^|[._/])summary[._/]"
)
_RESULTS = {"score", "metric", "result", "reward", "bleu", "f1", "auc", "wer", "map"}
_PATH = re.compile(r"[/~.].*/|[A-Za-z]:\\|.*/.*/|.*\.(pt|pth|ckpt|json|yaml|yml|csv|log|txt|py)\Z")
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T _].*)?|\d{2}:\d{2}(:.*)?|20\d{6}[_-]\d{6}|1[4-9]\d{8}(\.\d+)?"
    r"|1[4-9]\d{11}"
)
_BEST = {"best", "final", "last", "min", "max"}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_LETTERS = 100
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
    ("study", "batch_size"): (
        *("global_batch_size", "total_batch_size", "total_train_batch_size", "batch_size"),
        *("train_batch_size", "bs"),
    ),
    ("trial", "status"): ("state", "status"),
    ("trial", "seed"): ("seed", "rng_seed", "random_seed"),
    ("metaparameters", "learning_rate"): ("learning_rate", "lr", "base_lr", "initial_lr"),
}
SPLIT_WORDS = {
    **dict.fromkeys(("val", "valid", "validation", "eval", "dev"), "val"),
    "test": "test",
    **dict.fromkeys(("train", "training"), "train"),
}
_MEASURES = {
    **dict.fromkeys(("accuracy", "acc", "top1", "top5", "acc1", "acc5"), "accuracy"),
    **dict.fromkeys(("error", "err"), "error"),
    **dict.fromkeys(("perplexity", "ppl"), "perplexity"),
    **dict.fromkeys(("loss", "nll", "ce", "xent", "entropy"), "loss"),
    **dict.fromkeys(("precision", "map"), "precision"),
}


BATCH_SIZES = (
    *("per_device_train_batch_size", "per_gpu_batch_size", "micro_batch_size"),
    *("device_batch_size", "local_batch_size", "batch_size_per_gpu", "batch_size_per_device"),
)
"""Batch sizes of one device."""
_STEPS = "_?(grad(ient)?|(grad(ient)?_)?batch(es)?|steps?|iters?)"
_FACTOR = re.compile(
    rf"((n|num)_)?(grad(ient)?s?_?)?(accum(ulat(e|ion))?({_STEPS})?|acc{_STEPS})|update_?freq"
    r"|iter_size|((n|num|number_of|total)_?(gpu|device|node|machine|process|proc|replica)(e?s)?"
    r"|gpus|devices|nodes|machines|replicas|processes)(_per_(node|machine|host))?"
    r"|((ddp|dp|data_parallel)_?)?world_?size|(ddp|dp|data_parallel)(_(size|degree|replicas))?"
)


def is_factor(name: str) -> bool:
    """Return whether a batch size of one device is multiplied with a column, by its name."""
    return _FACTOR.fullmatch(bare(name)) is not None


# The order in which metrics are tried as the one of the goal.
GOALS = [
    f"{split}_{measure}"
    for split in ("val", "test", "train")
    for measure in ("classification_error", "cross_entropy_error", "average_precision")
]


def is_setting(name: str, texts: Sequence[str]) -> bool:
    """Return whether a column may be a metaparameter: no name of a person, path, time or result."""
    lower = _HUMP.sub("_", name).lower()
    given = split(lower)
    is_result = given[-1:] and (given[-1] in _RESULTS or given[-1] in _MEASURES)
    if bare(name) in ROLES["trial", "seed"]:
        return True
    if _NO_SETTING.search(lower):
        return False
    is_best = _BEST.intersection(given) and any(word in _MEASURES for word in given)
    if (is_result or is_best) and all(number(text) is not None for text in texts):
        return False
    return not any(
        len(text) > _MOST_LETTERS
        or text.startswith("[")
        or _PATH.match(text)
        or _TIME.fullmatch(text)
        for text in texts
    )


def named(names: Sequence[str], columns: Sequence[str]) -> str | None:
    """Return the first column that has one of the names, ignoring case; None where none has."""
    known = {column.lower(): column for column in reversed(columns)}
    return next((known[name] for name in names if name in known), None)


def counter(columns: Iterable[str]) -> str | None:
    """Return the column that counts updates by its name, likeliest first; None where none does.

    Example:
        >>> counter(["_step", "train/step", "opt/updates"]), counter(["train_steps", "val/step"])
        ('opt/updates', None)
    """
    found = [(rank, column) for column in columns if (rank := _counts(column))]
    return min(found, key=lambda each: each[0])[1] if found else None


def _counts(column: str) -> tuple[bool, int] | None:
    """Return how likely a column counts updates, least first; None where it does not."""
    *before, last = split(re.sub("(?<=[a-z])(?=[A-Z])", "_", column)) or [""]
    kind, is_sure = last.removesuffix("s"), not _OF_UPDATES.isdisjoint(before)
    if column == CALLS or kind not in _COUNTED or not _OF_COUNTERS.issuperset(before):
        return None
    # Such as train_steps, which is a setting.
    if before and kind != last != "updates" and not is_sure:
        return None
    return not is_sure, _COUNTED.index(kind)


def step_column(columns: Sequence[str]) -> str | None:
    """Return the column that is the step by its name; None where none is."""
    return counter(columns) or named((CALLS, "epoch", "epochs"), columns)


def bare(name: str) -> str:
    """Return a column's own name: without its prefixes, in lower case, with underscores."""
    return re.sub(r"[^a-z0-9]+", "_", re.split(r"[./]", name.lower())[-1]).strip("_")


def split(name: str) -> list[str]:
    """Return the words of a metric's name."""
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


def split_of(name: str) -> str | None:
    """Return the split that a metric is measured on by its name; None: it does not say."""
    return next((SPLIT_WORDS[word] for word in split(name) if word in SPLIT_WORDS), None)


def measure(name: str) -> str | None:
    """Return what a metric measures by its name, such as accuracy; None: it does not say."""
    return next((_MEASURES[word] for word in reversed(split(name)) if word in _MEASURES), None)


def trained(names: Iterable[str]) -> list[str]:
    """Return the losses that are trained on; see `losses`."""
    return _losses(names, {"batch_cross_entropy_error", "train_cross_entropy_error"})


def losses(names: Collection[str]) -> list[str]:
    """Return the losses of training and of evaluations, by whose ends a run is seen to diverge.

    Of each they are the database's columns, or else the metrics with names of such.
    """
    evaluated = {"val_cross_entropy_error", "test_cross_entropy_error"}
    return [*trained(names), *_losses(names, evaluated)]


def _losses(names: Iterable[str], columns: set[str]) -> list[str]:
    meant = {name: next(metrics(name, percent=False), (name, None))[0] for name in names}
    return [name for name in meant if name in columns] or [
        name for name, column in meant.items() if column in columns
    ]


def metrics(name: str, *, percent: bool) -> Iterator[tuple[str, str | None]]:
    """Yield the database's columns for a tool's metric, likeliest first, with their transforms.

    Metrics that have values above 1 are taken for percents.
    """
    given = split(name)
    part = split_of(name)
    measured = measure(name)
    if measured == "loss" and part in {None, "train"} and "epoch" not in given:
        yield "batch_cross_entropy_error", None
    match measured if part else None:
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
