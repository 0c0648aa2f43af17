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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import jax

    Metaparameters = Mapping[str, jax.Array]


@dataclass(frozen=True)
class OptimizerDefinition:
    """An update rule.

    Attributes:
        name: as in a workload's name.
        metaparameters: the names it needs besides those of the learning-rate schedule.
        direction: from the metaparameters, the transformation of gradients into the direction
            that is multiplied by minus the learning rate.
    """

    name: str
    metaparameters: tuple[str, ...]
    direction: Callable[[Metaparameters], optax.GradientTransformation]


def _momentum(metaparameters: Metaparameters) -> optax.GradientTransformation:
    return optax.trace(metaparameters["momentum"], nesterov=False)


def _nesterov_momentum(metaparameters: Metaparameters) -> optax.GradientTransformation:
    return optax.trace(metaparameters["momentum"], nesterov=True)


OPTIMIZERS = {
    definition.name: definition
    for definition in (
        OptimizerDefinition("sgd", (), lambda _: optax.identity()),
        OptimizerDefinition("momentum", ("momentum",), _momentum),
        OptimizerDefinition("nesterov_momentum", ("momentum",), _nesterov_momentum),
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
