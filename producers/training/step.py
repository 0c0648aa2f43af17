"""The training step: one pure function from a state and a batch to the next state and the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from producers.models.registry import model_definition
from producers.training.optimizers import optimizer_definition
from producers.training.schedules import schedule_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from producers.training.optimizers import OptimizerDefinition
    from producers.training.schedules import Schedule

    Metaparameters = Mapping[str, jax.Array]


class TrialState(NamedTuple):
    """What one trial carries from step to step.

    Attributes:
        parameters: the model's weights, a pytree of float32 arrays.
        optimizer: the optimizer's own state.
        step: int32 scalar, updates made so far.
    """

    parameters: Any
    optimizer: Any
    step: jax.Array


@dataclass(frozen=True)
class Trainer:
    """The pure functions of one workload, for a single trial.

    Attributes:
        new_model: makes the model; its weights follow from the rngs.
        optimizer: the update rule.
        schedule: the learning rate at each step.
    """

    new_model: Callable[[nnx.Rngs], nnx.Module]
    optimizer: OptimizerDefinition
    schedule: Schedule

    def start(self, seed: jax.Array) -> TrialState:
        """The state before the first step.

        Args:
            seed: uint32 scalar, the trial's seed.
        """
        parameters = nnx.state(self.new_model(nnx.Rngs(jax.random.key(seed))))
        # The state's form does not depend on the metaparameters' values.
        zeros = dict.fromkeys(self.optimizer.metaparameters, jnp.zeros(()))
        optimizer = self.optimizer.direction(zeros).init(parameters)
        return TrialState(parameters, optimizer, jnp.zeros((), jnp.int32))

    def step(
        self,
        state: TrialState,
        metaparameters: Metaparameters,
        images: jax.Array,
        labels: jax.Array,
    ) -> tuple[TrialState, jax.Array]:
        """One update from one batch.

        Args:
            state: the trial's state.
            metaparameters: float32 scalars by name.
            images: uint8 [batch, height, width].
            labels: uint8 [batch].

        Returns:
            The next state, and the batch's mean cross entropy before the update (float32, nats).
        """

        def batch_loss(parameters: Any) -> jax.Array:
            return cross_entropy(self.logits(parameters, images), labels).mean()

        loss, gradients = jax.value_and_grad(batch_loss)(state.parameters)
        direction = self.optimizer.direction(metaparameters)
        updates, optimizer = direction.update(gradients, state.optimizer, state.parameters)
        learning_rate = self.schedule(metaparameters, state.step)
        updates = jax.tree.map(lambda update: -learning_rate * update, updates)
        parameters = optax.apply_updates(state.parameters, updates)
        return TrialState(parameters, optimizer, state.step + 1), loss

    def logits(self, parameters: Any, images: jax.Array) -> jax.Array:
        """The model's logits.

        Args:
            parameters: the model's weights.
            images: uint8 [batch, height, width]; the model sees them scaled to [0, 1].

        Returns:
            float32 [batch, classes].
        """
        abstract = nnx.eval_shape(lambda: self.new_model(nnx.Rngs(0)))
        model: Any = nnx.merge(nnx.graphdef(abstract), parameters)
        logits: jax.Array = model(images.astype(jnp.float32) / 255)
        return logits


def trainer(model: str, optimizer: str, schedule: str) -> Trainer:
    """The pure functions of a workload.

    Raises:
        UsageError: when there is no model, optimizer or schedule of that name.
    """
    return Trainer(
        model_definition(model).build, optimizer_definition(optimizer), schedule_named(schedule)
    )


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Cross entropy of each example, in nats.

    Args:
        logits: float32 [batch, classes].
        labels: integers [batch].

    Returns:
        float32 [batch].
    """
    losses: jax.Array = optax.losses.softmax_cross_entropy_with_integer_labels(
        logits, labels.astype(jnp.int32)
    )
    return losses
