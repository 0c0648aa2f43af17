"""Fully connected networks: ReLU layers of given widths on the flattened image."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import jax
from flax import nnx

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax.typing import DTypeLike

    from producers.datasets.forms import ImageForm


class FullyConnected(nnx.Module):
    """ReLU layers followed by a linear layer, one logit a class.

    Weights start LeCun normal, biases at zero (chosen).

    Args:
        images: what they look like.
        widths: width of each hidden layer.
    """

    def __init__(
        self, images: ImageForm, widths: Sequence[int], *, dtype: DTypeLike, rngs: nnx.Rngs
    ) -> None:
        inputs = images.height * images.width * images.channels
        sizes = [inputs, *widths, images.classes]
        self.layers = nnx.List(
            nnx.Linear(fan_in, fan_out, dtype=dtype, rngs=rngs)
            for fan_in, fan_out in itertools.pairwise(sizes)
        )

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Return logits [batch, classes] of images, float32 [batch, height, width, channels]."""
        del train  # it makes no difference to this model
        activations = images.reshape(images.shape[0], -1)
        *hidden, last = self.layers
        for layer in hidden:
            activations = jax.nn.relu(layer(activations))
        logits: jax.Array = last(activations)
        return logits
