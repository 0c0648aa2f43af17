"""The data sets, each defined once, and loading any of them by its name."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dbtool.core.errors import DbtoolError, UsageError, unknown
from producers.datasets.forms import Form
from producers.datasets.split import RANDOM_5_000, Dataset, Request, Split

Load = Callable[[Request], Dataset]
_SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class DatasetDefinition:
    """A data set that workloads name as their source.

    Attributes:
        name: as workloads name it.
        load: the function from a Request to a Dataset; of a data set of this package `MODULE:NAME`
            below producers.datasets, imported when it is called.
        made_up: the function in producers.datasets.made_up that writes a few examples in the
            format of the data set; None of a user's own, which has no format to be replaced in.
        held_out: examples of validation and test; None where the loader decides.
        chooses_held_out: whether a workload may choose which examples are for validation.
        subsets: the names of parts of it.
        is_streamed: whether training examples are read when they are needed, since memory would
            not hold them. How many there are is then known from the papers alone.
    """

    name: str
    load: str | Load
    made_up: str | None = None
    held_out: tuple[int, int] | None = None
    chooses_held_out: bool = False
    subsets: tuple[str, ...] = ()
    is_streamed: bool = False

    @property
    def is_own(self) -> bool:
        """Return whether it is a user's own."""
        return callable(self.load)

    def loaded(self, request: Request) -> Dataset:
        """Load it, a user's own with a check and the hashes of what its function returned."""
        if callable(self.load):
            data = checked(self.load(request), request)
            splits = {name: getattr(data, name) for name in _SPLITS}
            hashes = {
                name: each.sha256 if isinstance(each, Split) else f"{len(each)} examples"
                for name, each in splits.items()
            }
            return replace(data, file_hashes=data.file_hashes | hashes)
        load: Load = _imported(self.load)
        return load(request)


_streamed = partial(DatasetDefinition, is_streamed=True)

DATASETS: dict[str, DatasetDefinition] = {
    each.name: each
    for each in (
        *(
            DatasetDefinition(name, load, write, (5_000, 10_000), chooses_held_out=True)
            for name, load, write in (
                ("mnist", "mnist.images:load_idx", "write_idx"),
                ("fashion_mnist", "mnist.images:load_idx", "write_idx"),
                ("cifar_10", "cifar:load_cifar_10", "write_cifar_10"),
            )
        ),
        _streamed(
            "imagenet",
            "imagenet.images:load_imagenet",
            "write_imagenet",
            held_out=(50_000, 50_045),
            subsets=("half_classes", "half_images"),
        ),
        _streamed(
            "open_images_v4", "open_images:load_open_images", "write_open_images", (41_225, 124_293)
        ),
        _streamed("lm1b", "text.sentences:load_lm1b", "write_lm1b", (6_075, 6_206)),
        _streamed(
            "common_crawl", "text.sentences:load_common_crawl", "write_common_crawl", (6_075, 6_075)
        ),
        DatasetDefinition("brown", "text.brown:load_brown", "write_brown", (2_000, 2_000)),
    )
}
"""Those of this package, and those that `producers.workloads.own` adds, by their names."""


def dataset_definition(source: str) -> DatasetDefinition:
    """Return the data set of a name."""
    if source not in DATASETS:
        raise unknown("data set", source, DATASETS, "dbtool workloads --catalog")
    return DATASETS[source]


def load_dataset(source: str, **wanted: Any) -> Dataset:
    """Load a data set, or find its files where memory would not hold it.

    Args:
        source: the data set's name.
        wanted: how it is wanted, as `Request` has it. Images are scaled to the form's height and
            width, and the form of the result has the number of classes that were found.

    Raises:
        UsageError: no data set has that name, the subset or number of examples does not exist, or a
            folder given does not.
        DbtoolError: the files cannot be had, or their contents are wrong.

    Example:
        >>> len(load_dataset("mnist", form=GREY_28, train_examples=6_875).train)
        6875
    """
    definition = dataset_definition(source)
    request = Request(source, **wanted)
    if request.subset is not None and not definition.subsets:
        raise UsageError(
            f"{source} has no subset {request.subset!r}; only imagenet has some: half_classes and"
            " half_images"
        )
    if request.held_out != RANDOM_5_000 and not definition.chooses_held_out:
        raise UsageError(
            f"which examples {source} holds out cannot be chosen; only mnist, fashion_mnist and"
            " cifar_10 leave the choice"
        )
    return definition.loaded(request)


def write_made_up(source: str, folder: Path) -> None:
    """Write a few made-up examples in the format of a data set, the same files every time."""
    known = {name: each.made_up for name, each in DATASETS.items() if each.made_up}
    if source not in known:
        raise unknown("data set", source, known, "dbtool workloads --catalog")
    folder.mkdir(parents=True, exist_ok=True)
    _imported(f"made_up:{known[source]}")(folder)


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"producers.datasets.{module}"), name)


def checked(data: object, request: Request) -> Dataset:
    """Return a data set of the user's own if it is as the workload says.

    Other arrays than were meant might train all the same.

    Raises:
        DbtoolError: it is not a Dataset, or has another form or size.
    """
    if not isinstance(data, Dataset):
        raise DbtoolError(
            f"the loader of {request.source} returned {data!r:.60}, which is not a Dataset"
        )
    found, wanted = len(data.train), request.train_examples or len(data.train)
    if (data.form, found) != (request.form, wanted):
        raise DbtoolError(
            f"the loader of {request.source} returned {found} training examples of {data.form}, "
            f"and the workload has {wanted} of {request.form}"
        )
    for name in _SPLITS:
        form = data.form if name == "train" else data.form.evaluated
        split = getattr(data, name)
        fault = _fault(split, form) if isinstance(split, Split) else None
        if fault is not None:
            raise DbtoolError(f"of {request.source} the examples of {name} have {fault}")
    return data


def _fault(split: Split, form: Form) -> str | None:
    """Say in what way arrays do not have a form; None where they do."""
    count, inputs, targets = len(split), split.inputs, split.targets
    shape = (count, *form.target_shape)
    wanted = f"{form.input_dtype} {(count, *form.input_shape)}"
    if _kind(inputs) != wanted or not count:
        return f"inputs that are {_kind(inputs)}, and should be {wanted}"
    if form.target_dtype == "float32":
        wanted = f"float32 {shape}"
        if _kind(targets) != wanted:
            return f"targets that are {_kind(targets)}, and should be {wanted}"
        return None if np.isfinite(targets).all() else "targets that are not finite"
    classes = 2 if form.objective == "multi_label" else form.logits_shape[-1]
    if targets.shape != shape or targets.dtype.kind not in "iu":
        return f"targets that are {_kind(targets)}, and should be integers {shape}"
    if targets.min() < 0 or targets.max() >= classes:
        return f"targets from {targets.min()} to {targets.max()}, and {classes} different ones"
    return None


def _kind(array: npt.NDArray[Any]) -> str:
    return f"{array.dtype} {array.shape}"
