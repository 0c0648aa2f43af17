"""What the published workloads share: batch sizes, search spaces and how sure each setting is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from producers.search import Range, StepsRange
from producers.training.optimizers import optimizer_definition

if TYPE_CHECKING:
    from producers.search import Metaparameter

    SearchSpace = tuple[tuple[str, Metaparameter | StepsRange], ...]


def powers(first: int, last: int) -> tuple[int, ...]:
    """The powers of two from one to another, both included."""
    return tuple(2**k for k in range(first.bit_length() - 1, last.bit_length()))


def search_space(optimizer: str, *more: tuple[str, Metaparameter | StepsRange]) -> SearchSpace:
    """The metaparameters of an optimizer, and more."""
    return (*optimizer_definition(optimizer).search_space, *more)


# Where the learning rate stops falling, and how far it falls. The release states of ResNet-50 on
# ImageNet that it stops between 300,000 and 600,000 of 600,000 steps.
LINEAR_DECAY: SearchSpace = (
    ("learning_rate_decay_steps", StepsRange(0.5, 1.0)),
    ("end_learning_rate_factor", Range(1e-4, 0.1, "LOG_SCALE")),
)
LINEAR_DECAY_CERTAINTY = {
    "schedule": "stated",
    "search_space: learning_rate_decay_steps": "chosen",
    "search_space: end_learning_rate_factor": "recalled",
}
