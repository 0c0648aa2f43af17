"""Training loops as one writes them by hand for a single model, with flax, optax and JAX alone.

They share nothing with the producers but the flax modules: what the others are compared with.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from producers.datasets.forms import ImageForm
from producers.models.registry import model_definition

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax.typing import DTypeLike

    from producers.datasets.forms import Form
    from producers.datasets.split import Split

    Loop = Callable[[], object]

LEARNING_RATE = 1e-3  # small, so that nothing diverges and all do the same work
MOMENTUM = 0.9


class ByHand:
    """A model, its optimizer (Nesterov momentum) and its data on one device.

    Args:
        model: its name.
        form: of the examples: images with one class each, or texts.
        dtype: what the model computes in.
        data: the training examples.
        device: where to train.
    """

    def __init__(
        self, model: str, form: Form, dtype: DTypeLike, data: Split, device: jax.Device
    ) -> None:
        self._form = form
        self._device = device
        self._data = jax.device_put((data.inputs, data.targets), device)
        self._new_model = partial(model_definition(model).build, form, dtype)
        self._optimizer = optax.sgd(LEARNING_RATE, momentum=MOMENTUM, nesterov=True)
        self._graph = nnx.graphdef(nnx.eval_shape(lambda: self._new_model(nnx.Rngs(0))))

    def step_by_step(self, batches: Any) -> Loop:
        """A compiled step called from Python for each batch, int [steps, batch]."""
        step = jax.jit(self._step, donate_argnums=0)
        state = self._start()
        on_device = [jax.device_put(batch, self._device) for batch in batches]

        def loop() -> None:
            nonlocal state
            losses = []
            for batch in on_device:
                state, loss = step(state, batch, self._data)
                losses.append(loss)
            jax.block_until_ready((state, losses))

        return loop

    def scanned(self, batches: Any) -> Loop:
        """A compiled scan over the batches, int [steps, batch]."""

        @partial(jax.jit, donate_argnums=0)
        def train(state: Any, batches: Any, data: Any) -> Any:
            return jax.lax.scan(lambda state, batch: self._step(state, batch, data), state, batches)

        state = self._start()
        on_device = jax.device_put(batches, self._device)

        def loop() -> None:
            nonlocal state
            state, losses = train(state, on_device, self._data)
            jax.block_until_ready((state, losses))

        return loop

    def _start(self) -> Any:
        def start() -> Any:
            parameters, statistics = nnx.state(self._new_model(nnx.Rngs(0)), nnx.Param, ...)
            return parameters, statistics, self._optimizer.init(parameters)

        with jax.default_device(self._device):
            return jax.device_put(jax.jit(start)(), self._device)

    def _step(self, state: Any, batch: jax.Array, data: Any) -> tuple[Any, jax.Array]:
        parameters, statistics, optimizer = state
        inputs, targets = (array[batch] for array in data)
        with_gradients = jax.value_and_grad(self._loss, has_aux=True)
        (loss, statistics), gradients = with_gradients(parameters, statistics, inputs, targets)
        updates, optimizer = self._optimizer.update(gradients, optimizer)
        return (optax.apply_updates(parameters, updates), statistics, optimizer), loss

    def _loss(
        self, parameters: Any, statistics: Any, inputs: jax.Array, targets: jax.Array
    ) -> tuple[jax.Array, Any]:
        model: Any = nnx.merge(self._graph, parameters, statistics, copy=True)
        if isinstance(self._form, ImageForm):
            inputs = inputs.reshape(*inputs.shape[:3], self._form.channels) / jnp.float32(255)
            inputs = (inputs - jnp.array(self._form.mean)) / jnp.array(self._form.deviation)
        logits = model(inputs, train=True).astype(jnp.float32)
        cross_entropy = optax.softmax_cross_entropy_with_integer_labels
        losses = cross_entropy(logits, targets.astype(jnp.int32))
        if isinstance(self._form, ImageForm):
            loss = losses.mean()
        else:
            tokens = targets != 0
            loss = jnp.where(tokens, losses, 0).sum() / tokens.sum()
        return loss, nnx.state(model, nnx.Not(nnx.Param))
