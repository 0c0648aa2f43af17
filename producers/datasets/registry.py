"""Loading any data set by its name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dbtool.core.errors import UsageError, unknown
from producers.datasets.own import checked
from producers.datasets.permutation import HOLDING_OUT, RANDOM_5_000
from producers.datasets.split import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from producers.datasets.split import Dataset

    Load = Callable[[Request], Dataset]

LOADERS: dict[str, tuple[str, str] | Load] = {
    "mnist": ("mnist.images", "load_idx"),
    "fashion_mnist": ("mnist.images", "load_idx"),
    "cifar_10": ("cifar", "load_cifar_10"),
    "imagenet": ("imagenet.images", "load_imagenet"),
    "open_images_v4": ("open_images", "load_open_images"),
    "lm1b": ("text.lm1b", "load_lm1b"),
    "common_crawl": ("text.common_crawl", "load_common_crawl"),
    "brown": ("text.brown", "load_brown"),
}
"""The module and function that load each data set, imported when they are called.

Of those that `producers.workloads.own` adds the function itself.
"""

STREAMED = frozenset({"imagenet", "open_images_v4", "lm1b", "common_crawl"})
"""Those whose training examples are read when they are needed; memory holds those of the others."""

_WITH_SUBSETS = {"imagenet"}


def load_dataset(source: str, **wanted: Any) -> Dataset:
    """Loads a data set, or finds its files where memory would not hold it.

    Args:
        source: the data set's name, one of LOADERS.
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
    if source not in LOADERS:
        raise unknown("data set", source, LOADERS, "dbtool workloads --catalog")
    request = Request(source, **wanted)
    if request.subset is not None and source not in _WITH_SUBSETS:
        raise UsageError(
            f"{source} has no subset {request.subset!r}; only imagenet has some: half_classes and"
            " half_images"
        )
    if request.held_out != RANDOM_5_000 and source not in HOLDING_OUT:
        raise UsageError(
            f"which examples {source} holds out cannot be chosen; only mnist, fashion_mnist and"
            " cifar_10 leave the choice"
        )
    found = LOADERS[source]
    if callable(found):
        return checked(found(request), request)
    module, function = found
    load: Load = getattr(importlib.import_module(f"producers.datasets.{module}"), function)
    return load(request)


def is_own(source: str) -> bool:
    """Whether a data set is none of this package."""
    return callable(LOADERS.get(source))
