"""Learning-rate schedules.

A user's file adds its own; docs/extending.md shows one that is made with optax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.core.errors import unknown
from producers.training.optimizers import LEARNING_RATE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import jax

    Metaparameters = Mapping[str, jax.Array]


@dataclass(frozen=True)
class ScheduleDefinition:
    """A learning-rate schedule.

    Attributes:
        name: as workloads name it.
        rate: from the metaparameters (float32 scalars, traced ones too) and the number of updates
            made (int32 scalar), the learning rate.
        metaparameters: the names that it needs besides the learning rate.
    """

    name: str
    rate: Callable[[Metaparameters, jax.Array], jax.Array]
    metaparameters: tuple[str, ...] = ()


def _constant(metaparameters: Metaparameters, step: jax.Array) -> jax.Array:
    del step
    return metaparameters[LEARNING_RATE]


def _linear_decay(metaparameters: Metaparameters, step: jax.Array) -> jax.Array:
    """Decay linearly to learning_rate * end_learning_rate_factor, then stay constant.

    The end is reached after learning_rate_decay_steps updates (Shallue et al., 2018, appendix).
    """
    import jax.numpy as jnp

    progress = jnp.minimum(step / metaparameters["learning_rate_decay_steps"], 1.0)
    factor = 1.0 - (1.0 - metaparameters["end_learning_rate_factor"]) * progress
    return metaparameters[LEARNING_RATE] * factor


SCHEDULES: dict[str, ScheduleDefinition] = {
    each.name: each
    for each in (
        ScheduleDefinition("constant", _constant),
        ScheduleDefinition(
            "linear_decay", _linear_decay, ("learning_rate_decay_steps", "end_learning_rate_factor")
        ),
    )
}


def schedule_definition(name: str) -> ScheduleDefinition:
    """Return the schedule of a name."""
    if name not in SCHEDULES:
        raise unknown("learning-rate schedule", name, SCHEDULES, "dbtool produce --list")
    return SCHEDULES[name]
