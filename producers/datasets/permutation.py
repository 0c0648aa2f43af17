"""The fixed random orders that decide what is held out and what smaller training sets keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

VALIDATION_SPLIT_SEED = 181_103_600
"""Seeds the order of the official training examples: the number of the paper, arXiv:1811.03600."""


def fixed_permutation(count: int, seed: int = VALIDATION_SPLIT_SEED) -> npt.NDArray[np.int64]:
    """A fixed random order of so many things, int64 [count]."""
    # NumPy promises the same raw numbers of a bit generator for ever, but not the same shuffle.
    keys = np.random.Philox(seed).random_raw(count)
    return np.argsort(keys, kind="stable")


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """The official training examples in their fixed order, part of them held out.

    Attributes:
        validation: numbers of the examples held out, int64.
        train: numbers of all others, int64, in an order whose beginnings are the smaller training
            sets.
    """

    validation: npt.NDArray[np.int64]
    train: npt.NDArray[np.int64]

    def first(self, source: str, train_examples: int | None) -> npt.NDArray[np.int64]:
        """The examples to train on: all, or the first so many.

        Raises:
            UsageError: there are not so many.
        """
        available = len(self.train)
        count = available if train_examples is None else train_examples
        if not 1 <= count <= available:
            raise UsageError(
                f"{source} has from 1 to {available:,} examples to train on,"
                f" not {count:,}; give train_examples in that range"
            )
        return self.train[:count]


def split_order(source: str, official: int, held_out: tuple[int, int]) -> Order:
    """Splits the official training examples: the first of a fixed random order are held out.

    Args:
        source: the data set's name, for the error.
        official: how many training examples there are.
        held_out: how many are held out of how many, in the known data set. Of another number the
            same share is held out, rounded, and at least one.

    Raises:
        DbtoolError: there are fewer than two examples.
    """
    if official < 2:
        raise DbtoolError(
            f"{source} needs at least two training examples, one of them for validation, and there"
            f" are {official}; give a folder with more"
        )
    part, whole = held_out
    validation = max(1, round(official * part / whole))
    order = fixed_permutation(official)
    return Order(validation=order[:validation], train=order[validation:])
