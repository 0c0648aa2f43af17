"""The simple convolutional network of the batch-size paper: two convolutions and a dense layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from flax import nnx

from producers.models.convolution import conv_general_dilated
from producers.models.pooling import max_pool_2x2

if TYPE_CHECKING:
    from jax.typing import DTypeLike


class SimpleCNN(nnx.Module):
    """5x5 convolution, max-pool, 5x5 convolution, max-pool, dense layer, all ReLU, then logits.

    Weights start LeCun normal, biases at zero (chosen); convolutions are zero-padded to keep the
    size of the image (recalled).

    Args:
        height: of the images.
        width: of the images.
        image_channels: of the images.
        channels: output channels of the two convolutions.
        dense: width of the dense layer.
        classes: number of logits.
        dtype: of the computation; weights are float32.
        rngs: source of the initial weights.
    """

    def __init__(
        self,
        height: int,
        width: int,
        image_channels: int,
        channels: tuple[int, int],
        dense: int,
        classes: int,
        *,
        dtype: DTypeLike,
        rngs: nnx.Rngs,
    ) -> None:
        first, second = channels
        self.first = nnx.Conv(
            image_channels,
            first,
            (5, 5),
            dtype=dtype,
            conv_general_dilated=conv_general_dilated,
            rngs=rngs,
        )
        self.second = nnx.Conv(
            first, second, (5, 5), dtype=dtype, conv_general_dilated=conv_general_dilated, rngs=rngs
        )
        self.dense = nnx.Linear(height // 4 * (width // 4) * second, dense, dtype=dtype, rngs=rngs)
        self.logits = nnx.Linear(dense, classes, dtype=dtype, rngs=rngs)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Logits of a batch.

        Args:
            images: float32 [batch, height, width, channels].
            train: whether this is a step of training.

        Returns:
            float32 [batch, classes].
        """
        del train  # it makes no difference to this model
        activations = images
        # The largest of a square is the same before ReLU as after it, and ReLU then has less to do.
        activations = jax.nn.relu(max_pool_2x2(self.first(activations)))
        activations = jax.nn.relu(max_pool_2x2(self.second(activations)))
        activations = activations.reshape(activations.shape[0], -1)
        logits: jax.Array = self.logits(jax.nn.relu(self.dense(activations)))
        return logits
