"""The simple convolutional networks of both papers: two convolutions, a dense layer or none."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import jax
from flax import nnx

from producers.models.convolution import conv_general_dilated, max_pool_2x2

if TYPE_CHECKING:
    from jax.typing import DTypeLike

    from producers.datasets.forms import ImageForm

    Padding = Literal["SAME", "VALID"]

_KERNEL = 5


class SimpleCNN(nnx.Module):
    """5x5 convolution, max-pool, 5x5 convolution, max-pool, dense layer, all ReLU, then logits.

    Weights start LeCun normal, biases at zero.

    Args:
        images: what they look like.
        channels: output channels of the two convolutions.
        dense: width of the dense layer; None for none.
        padding: SAME for zeros around the image that keep its size, VALID for none.
    """

    def __init__(
        self,
        images: ImageForm,
        channels: tuple[int, int],
        dense: int | None,
        padding: Padding,
        *,
        dtype: DTypeLike,
        rngs: nnx.Rngs,
    ) -> None:
        first, second = channels
        layer = partial(
            nnx.Conv,
            kernel_size=(_KERNEL, _KERNEL),
            padding=padding,
            dtype=dtype,
            conv_general_dilated=conv_general_dilated,
            rngs=rngs,
        )
        self.first = layer(images.channels, first)
        self.second = layer(first, second)
        sides = _pooled_twice(images.height, padding), _pooled_twice(images.width, padding)
        last = sides[0] * sides[1] * second
        self.dense = None if dense is None else nnx.Linear(last, dense, dtype=dtype, rngs=rngs)
        self.logits = nnx.Linear(dense or last, images.classes, dtype=dtype, rngs=rngs)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Logits [batch, classes] of images, float32 [batch, height, width, channels]."""
        del train  # it makes no difference to this model
        activations = images
        # The largest of a square is the same before ReLU as after it, and ReLU then has less to do.
        activations = jax.nn.relu(max_pool_2x2(self.first(activations)))
        activations = jax.nn.relu(max_pool_2x2(self.second(activations)))
        activations = activations.reshape(activations.shape[0], -1)
        if self.dense is not None:
            activations = jax.nn.relu(self.dense(activations))
        logits: jax.Array = self.logits(activations)
        return logits


def _pooled_twice(side: int, padding: Padding) -> int:
    lost = _KERNEL - 1 if padding == "VALID" else 0
    return ((side - lost) // 2 - lost) // 2
