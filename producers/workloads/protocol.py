"""What the published workloads share: batch sizes and search spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from producers.training.optimizers import optimizer_definition

if TYPE_CHECKING:
    from producers.search import Metaparameter, StepsRange

    SearchSpace = tuple[tuple[str, Metaparameter | StepsRange], ...]


def powers(first: int, last: int) -> tuple[int, ...]:
    """Return the powers of two from one to another, both included."""
    return tuple(2**k for k in range(first.bit_length() - 1, last.bit_length()))


def search_space(optimizer: str, *more: tuple[str, Metaparameter | StepsRange]) -> SearchSpace:
    """Return the metaparameters of an optimizer, and more."""
    return (*optimizer_definition(optimizer).search_space, *more)
