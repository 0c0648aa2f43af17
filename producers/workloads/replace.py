"""Workloads on other data than their own: a folder in the same format stands in for a data set."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dbtool.core.errors import UsageError, closest, unknown
from dbtool.core.files import expanded
from producers.datasets.forms import Form, TextForm
from producers.datasets.registry import DATASETS, load_dataset
from producers.datasets.split import Dataset
from producers.workloads.definition import Workload
from producers.workloads.registry import WORKLOADS

COLLECTION = "replaced"
"""The collection of all workloads on other data than their own; no published one is in it."""

_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_EXAMPLE = "lm1b=my_text:FOLDER"


@dataclass(frozen=True)
class Replacement:
    """A folder that stands in for a data set, whose format it has; the user named what is in it."""

    source: str
    name: str
    folder: Path


def parse_replacement(text: str, base: Path = Path()) -> Replacement:
    """Return what `SOURCE=NAME:FOLDER` stands for; the folder is relative to `base`."""
    source, equals, rest = text.partition("=")
    name, colon, folder = rest.partition(":")
    if not (equals and colon and folder):
        raise UsageError(f"{text!r} does not say what replaces what; write it as {_EXAMPLE}")
    sources = {name for name, each in DATASETS.items() if not each.is_own}
    if source not in sources:
        raise unknown("data set", source, sources, "dbtool produce --list")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name data; use letters, digits, _ and -, as in {_EXAMPLE}"
        )
    # Figures find the papers' workloads by their data sets, whatever the collection.
    if name in {workload.dataset for workload in WORKLOADS.values() if workload.paper is not None}:
        raise UsageError(
            f"{name!r} is a data set of the papers; call what is in {folder} something else"
        )
    path = base / expanded(folder)
    if not path.is_dir():
        raise UsageError(f"the folder {folder} that is to replace {source} does not exist")
    return Replacement(source, name, path)


def replaced(
    workload: Workload,
    name: str,
    dataset_form: Form,
    train_examples: int,
    goal: float | None,
    data_sha256: str | None = None,
) -> Workload:
    """Return a workload on other data, with a name that says so.

    A workload on the first part of a data set takes the same share of the `train_examples` that
    were found. Without a goal there is none, since that of other data means nothing here.
    """
    whole = _whole_examples(workload)
    count = max(1, train_examples * workload.train_examples // whole)
    dataset = name
    if workload.subset is not None:
        dataset = f"{name}_{workload.subset}"
    elif workload.train_examples < whole or workload.collection == "mnist_subsets":
        dataset = f"{name}_{count}"
    certainty = dict(workload.certainty) | dict.fromkeys(
        ("batch_sizes", "form", "goal", "train_examples"), "chosen"
    )
    return replace(
        workload,
        collection="/".join([COLLECTION, *filter(None, [workload.collection])]),
        dataset=dataset,
        goal=goal,
        train_examples=count,
        batch_sizes=_fitting(workload, count),
        certainty=tuple(certainty.items()),
        form=dataset_form,
        replaces=workload.source,
        data_sha256=data_sha256,
        paper=None,
    )


def _whole_examples(workload: Workload) -> int:
    def data(each: Workload) -> tuple[object, ...]:
        return each.source, each.subset, each.held_out

    known = [workload, *WORKLOADS.values()]
    return max(each.train_examples for each in known if data(each) == data(workload))


def _fitting(workload: Workload, count: int) -> tuple[int, ...]:
    """Return the batch sizes of at most `count` examples, or else the power of two below."""
    whole = (count,) if workload.batch_sizes[-1] == workload.train_examples else ()
    fitting = [size for size in workload.batch_sizes if size < count]
    return tuple([*fitting, *whole] or [1 << (count.bit_length() - 1)])


def replace_data(
    workloads: Sequence[Workload],
    replacements: Sequence[Replacement],
    *,
    goal: float | None,
    vocabulary: Path | None = None,
) -> dict[str, tuple[Workload, Path | None]]:
    """Have folders stand in for data sets; read them to know their sizes.

    The goal is that of the workloads whose data is replaced.

    Returns:
        name to workload and folder; None for the folder of a workload with its own data.

    Raises:
        UsageError: a data set is replaced twice or by none of the workloads needed, or two
            workloads would be alike on such small data.
        DbtoolError: a folder cannot be read as the data set that it stands in for.
    """
    by_source = _by_source(workloads, replacements)
    loaded: dict[tuple[object, ...], Dataset] = {}
    found: dict[str, tuple[Workload, Path | None]] = {}
    for workload in workloads:
        replacement = by_source.get(workload.source)
        if replacement is None:
            found[workload.name] = workload, None
            continue
        kind = workload.source, workload.subset, workload.form, workload.held_out
        if kind not in loaded:
            loaded[kind] = _load(workload, replacement, vocabulary)
        data = loaded[kind]
        count = len(data.train)
        changed = replaced(workload, replacement.name, data.form, count, goal, data.sha256)
        if changed.name in found:
            raise UsageError(
                f"{replacement.folder} holds too few examples to tell {workload.name} from another "
                "subset; leave one of them out"
            )
        found[changed.name] = changed, replacement.folder
    return found


def _by_source(
    workloads: Sequence[Workload], replacements: Sequence[Replacement]
) -> Mapping[str, Replacement]:
    by_source: dict[str, Replacement] = {}
    sources = {workload.source for workload in workloads}
    for each in replacements:
        if each.source in by_source:
            raise UsageError(f"{each.source} is replaced twice; give one folder for it")
        if each.source not in sources:
            near = ", ".join(closest(each.source, sources))
            raise UsageError(
                f"no workload to train takes its examples from {each.source}, but from {near}; "
                "replace one of these"
            )
        by_source[each.source] = each
    return by_source


def _load(workload: Workload, replacement: Replacement, vocabulary: Path | None) -> Dataset:
    form = workload.form
    if vocabulary is not None and isinstance(form, TextForm):
        from producers.datasets.text.vocabulary import load_vocabulary

        form = replace(form, vocabulary=load_vocabulary(vocabulary).size)
    return load_dataset(
        workload.source,
        form=form,
        subset=workload.subset,
        folder=replacement.folder,
        vocabulary=vocabulary,
        held_out=workload.held_out,
    )
