"""The fixed random orders that decide what is held out and what smaller training sets keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from dbtool.core.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

VALIDATION_SPLIT_SEED = 181_103_600
"""Seeds the order of the official training examples: the number of the paper, arXiv:1811.03600."""


def fixed_permutation(count: int, seed: int = VALIDATION_SPLIT_SEED) -> npt.NDArray[np.int64]:
    """Return a fixed random order of so many things, int64 [count]."""
    # NumPy promises the same raw numbers of a bit generator for ever, but not the same shuffle.
    keys = np.random.Philox(seed).random_raw(count)
    return np.argsort(keys, kind="stable")


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Which of the official training examples are not trained on.

    It matters: the first 5,000 of MNIST are easier than a random 5,000, and so are the last.

    Attributes:
        order: random for a fixed random set of them; first or last for those that the official
            files begin or end with.
        examples: how many of the known data set. Of another number of official examples the same
            share is held out, rounded, and at least one.
    """

    order: Literal["random", "first", "last"] = "random"
    examples: int = 5_000


RANDOM_5_000 = HeldOut()
"""A fixed random set of 5,000."""


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """The official training examples in their fixed order, part of them held out.

    Attributes:
        held_out: numbers of the examples held out, int64.
        train: numbers of all others, int64, in an order whose beginnings are the smaller training
            sets.
    """

    held_out: npt.NDArray[np.int64]
    train: npt.NDArray[np.int64]

    def first(self, source: str, train_examples: int | None) -> npt.NDArray[np.int64]:
        """Return the examples to train on: all, or the first so many."""
        return self.train[: checked_count(source, train_examples, len(self.train))]


def checked_count(source: str, train_examples: int | None, available: int) -> int:
    """Return how many examples are trained on: so many, which must be there; None for all."""
    count = available if train_examples is None else train_examples
    if not 1 <= count <= available:
        raise UsageError(
            f"{source} has from 1 to {available:,} examples to train on, not {count:,}; give"
            " train_examples in that range"
        )
    return count


def split_order(source: str, official: int, held_out: HeldOut, known: int) -> Order:
    """Split the official training examples: some are held out, the rest is in random order.

    Where the known data set has `known` examples, of which `held_out` says how many are held out,
    of `official` examples the same share is.

    Raises:
        UsageError: so many cannot be held out of the known data set.
        DbtoolError: there are fewer than two examples.
    """
    if not 1 <= held_out.examples < known:
        raise UsageError(
            f"{source} has from 1 to {known - 1:,} examples to hold out, not"
            f" {held_out.examples:,}; give held_out in that range"
        )
    if official < 2:
        raise DbtoolError(
            f"{source} needs at least two training examples, one of them for validation, and there"
            f" are {official}; give a folder with more"
        )
    count = min(max(1, round(official * held_out.examples / known)), official - 1)
    order = fixed_permutation(official)
    if held_out.order == "random":
        return Order(held_out=order[:count], train=order[count:])
    start = 0 if held_out.order == "first" else official - count
    numbers = np.arange(start, start + count)
    return Order(held_out=numbers, train=order[~np.isin(order, numbers)])
