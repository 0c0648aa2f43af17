"""Learning-rate schedules: from metaparameters and the number of updates made, the learning rate.

(Shallue et al., 2018, appendix on learning rate schedules.) A new
schedule is added here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp

from dbtool.core.errors import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import jax

    Schedule = Callable[[Mapping[str, jax.Array], jax.Array], jax.Array]


def constant(metaparameters: Mapping[str, jax.Array], step: jax.Array) -> jax.Array:
    """The metaparameter learning_rate, whatever the updates made so far."""
    del step
    return metaparameters["learning_rate"]


def linear_decay(metaparameters: Mapping[str, jax.Array], step: jax.Array) -> jax.Array:
    """From learning_rate straight down to learning_rate * end_learning_rate_factor.

    The end is reached after learning_rate_decay_steps updates and kept from then on.
    """
    progress = jnp.minimum(step / metaparameters["learning_rate_decay_steps"], 1.0)
    factor = 1.0 - (1.0 - metaparameters["end_learning_rate_factor"]) * progress
    return metaparameters["learning_rate"] * factor


SCHEDULES: dict[str, Schedule] = {"constant": constant, "linear_decay": linear_decay}


def schedule_named(name: str) -> Schedule:
    """The schedule of that name."""
    if name not in SCHEDULES:
        raise unknown("learning-rate schedule", name, SCHEDULES, "dbtool produce --list")
    return SCHEDULES[name]
