"""Update rules, through optax, with metaparameters that may be traced arrays.

    sgd                 w <- w - lr g
    momentum            v <- m v + g, w <- w - lr v
    nesterov_momentum   v <- m v + g, w <- w - lr (g + m v)

(Shallue et al., 2018, section 2.2.) This is the one place that a new optimizer is added to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import optax

from dbtool.errors import unknown
from producers.search import Range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import jax

    from producers.search import Metaparameter

    Metaparameters = Mapping[str, jax.Array]

LEARNING_RATE = "learning_rate"


@dataclass(frozen=True)
class OptimizerDefinition:
    """An update rule.

    Attributes:
        name: as in a workload's name.
        search_space: name and range of each metaparameter that is searched by default, the initial
            learning rate first; the order sets the dimensions of the quasi-random sequence.
        direction: from the metaparameters (float32 scalars, traced ones too), the transformation
            of gradients into the direction that is multiplied by minus the learning rate. Its
            initial state does not depend on their values.
    """

    name: str
    search_space: tuple[tuple[str, Metaparameter], ...]
    direction: Callable[[Metaparameters], optax.GradientTransformation]

    @property
    def metaparameters(self) -> tuple[str, ...]:
        """The names it needs besides those of the learning-rate schedule."""
        return tuple(name for name, _ in self.search_space if name != LEARNING_RATE)


def _momentum(metaparameters: Metaparameters) -> optax.GradientTransformation:
    return optax.trace(metaparameters["momentum"], nesterov=False)


def _nesterov_momentum(metaparameters: Metaparameters) -> optax.GradientTransformation:
    return optax.trace(metaparameters["momentum"], nesterov=True)


# Stated by the published studies' search spaces.
_PAPER_LEARNING_RATE = (LEARNING_RATE, Range(1e-4, 10.0, "LOG_SCALE"))
_PAPER_MOMENTUM = ("momentum", Range(0.9, 0.9999, "REVERSE_LOG_SCALE"))

OPTIMIZERS = {
    definition.name: definition
    for definition in (
        OptimizerDefinition("sgd", (_PAPER_LEARNING_RATE,), lambda _: optax.identity()),
        OptimizerDefinition("momentum", (_PAPER_LEARNING_RATE, _PAPER_MOMENTUM), _momentum),
        OptimizerDefinition(
            "nesterov_momentum", (_PAPER_LEARNING_RATE, _PAPER_MOMENTUM), _nesterov_momentum
        ),
    )
}


def optimizer_definition(name: str) -> OptimizerDefinition:
    """The optimizer of that name.

    Raises:
        UsageError: when there is none.
    """
    if name not in OPTIMIZERS:
        raise unknown("optimizer", name, OPTIMIZERS, "dbtool produce --list")
    return OPTIMIZERS[name]
