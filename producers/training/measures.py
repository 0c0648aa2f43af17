"""Measurements that a workload may ask for beside the metrics of its splits.

This is the one place that a new one is added to. They are taken at the evaluation steps that
evaluate every split, on the first training examples, with the training loss, and stored under
their metrics' names in `other_metrics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import optax

from producers.training.lipschitz import (
    gradient_lipschitz_constant,
    hessian_times,
    largest_eigenvalue,
)
from producers.training.noise_scale import gradient_moments
from producers.training.pruning import masked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from producers.training.step import Trainer, TrialState

    Metaparameters = Mapping[str, jax.Array]
    Examples = tuple[jax.Array, jax.Array]
    Function = Callable[
        [Trainer, TrialState, Metaparameters, jax.Array, jax.Array], dict[str, jax.Array]
    ]


@dataclass(frozen=True)
class Measure:
    """A measurement of one trial, to be vmapped over trials.

    Attributes:
        name: as a workload names it.
        metrics: the names of what it returns, as `other_metrics` keeps them.
        function: from the trainer, a trial's state and metaparameters, and training examples,
            inputs [slices, examples, ...] and targets likewise, to float32 scalars by metric. One
            slice at a time passes through the model, in training mode; the trial's running
            statistics stay as they are. It is pure.
    """

    name: str
    metrics: tuple[str, ...]
    function: Function


def _gradient_noise_scale(
    trainer: Trainer,
    state: TrialState,
    metaparameters: Metaparameters,
    inputs: jax.Array,
    targets: jax.Array,
) -> dict[str, jax.Array]:
    def gradient(examples: Examples) -> Any:
        return masked(trainer.gradient(state, metaparameters, *examples).gradients, state.masks)

    return gradient_moments(gradient, (inputs, targets), inputs.shape[1])._asdict()


def _gradient_lipschitz_constant(
    trainer: Trainer,
    state: TrialState,
    metaparameters: Metaparameters,
    inputs: jax.Array,
    targets: jax.Array,
) -> dict[str, jax.Array]:
    """On the way of the step that the gradient of these examples would make next (chosen)."""

    def gradient(parameters: Any) -> Any:
        moved = state._replace(parameters=parameters)
        found = trainer.accumulated_gradient(moved, metaparameters, inputs, targets)
        return masked(found.gradients, state.masks)

    here = trainer.accumulated_gradient(state, metaparameters, inputs, targets)
    after = trainer.update(state, metaparameters, here).parameters
    update = optax.tree.sub(after, state.parameters)
    constant = gradient_lipschitz_constant(gradient, state.parameters, update)
    return {"gradient_lipschitz_constant": constant}


def _largest_hessian_eigenvalue(
    trainer: Trainer,
    state: TrialState,
    metaparameters: Metaparameters,
    inputs: jax.Array,
    targets: jax.Array,
) -> dict[str, jax.Array]:
    """Within the weights that are not pruned, from the same random direction at every step."""

    def times(direction: Any) -> Any:
        def add_slice(total: Any, examples: Examples) -> tuple[Any, None]:
            def gradient(parameters: Any) -> Any:
                moved = state._replace(parameters=parameters)
                return trainer.gradient(moved, metaparameters, *examples).gradients

            product = hessian_times(gradient, state.parameters, direction)
            return optax.tree.add(total, product), None

        zeros = optax.tree.zeros_like(direction)
        total, _ = jax.lax.scan(add_slice, zeros, (inputs, targets))
        return masked(optax.tree.scale(1 / inputs.shape[0], total), state.masks)

    start = optax.tree.random_like(jax.random.key(0), state.parameters)
    eigenvalue = largest_eigenvalue(times, masked(start, state.masks))
    return {"largest_hessian_eigenvalue": eigenvalue}


MEASURES = {
    measure.name: measure
    for measure in (
        Measure(
            "gradient_noise_scale",
            ("gradient_squared_norm", "gradient_covariance_trace"),
            _gradient_noise_scale,
        ),
        Measure(
            "gradient_lipschitz_constant",
            ("gradient_lipschitz_constant",),
            _gradient_lipschitz_constant,
        ),
        Measure(
            "largest_hessian_eigenvalue",
            ("largest_hessian_eigenvalue",),
            _largest_hessian_eigenvalue,
        ),
    )
}
