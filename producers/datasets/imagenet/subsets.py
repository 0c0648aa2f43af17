"""The halves of ImageNet that smaller training sets are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import unknown
from producers.datasets.permutation import VALIDATION_SPLIT_SEED, fixed_permutation

if TYPE_CHECKING:
    import numpy.typing as npt

HALF_CLASSES = "half_classes"
HALF_IMAGES = "half_images"
# Another order than that of the images.
_CLASSES_SEED = VALIDATION_SPLIT_SEED + 1


def check_subset(subset: str | None) -> None:
    """Refuses a subset that does not exist.

    Raises:
        UsageError: it does not.
    """
    if subset not in {None, HALF_CLASSES, HALF_IMAGES}:
        raise unknown("subset of imagenet", subset, (HALF_CLASSES, HALF_IMAGES), "dbtool workloads")


def half_of_images(
    numbers: npt.NDArray[np.int64], labels: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Half of some images, of every class half as many, rounded either way.

    Args:
        numbers: the images in their fixed order, int64 [n].
        labels: the class of every image, by number.

    Returns:
        int64 [n // 2], in an order whose beginnings hold every class in proportion, too.
    """
    own = labels[numbers]
    counts = np.bincount(own)
    by_class = np.argsort(own, kind="stable")
    # How many images of the class come before each.
    before = np.empty(len(own), np.int64)
    before[by_class] = np.arange(len(own)) - (np.cumsum(counts) - counts)[own[by_class]]
    shares = (before + 0.5) / counts[own]
    return numbers[np.argsort(shares, kind="stable")[: len(numbers) // 2]]


def half_of_classes(classes: int) -> npt.NDArray[np.int32]:
    """A fixed random half of the classes.

    Args:
        classes: how many there are.

    Returns:
        int32 [classes]: the new number of each, in their order; -1 for those left out.
    """
    kept = np.sort(fixed_permutation(classes, _CLASSES_SEED)[: classes // 2])
    renumbering = np.full(classes, -1, np.int32)
    renumbering[kept] = np.arange(len(kept), dtype=np.int32)
    return renumbering
