"""The residual network of the batch-size paper for small images: without normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from flax import nnx

from producers.models.convolution import convolution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax.typing import DTypeLike


class ResNet8(nnx.Module):
    """A 3x3 convolution, blocks of two, the mean over positions, then logits.

    The first block works at the size of the image, every further one at half of that before it.
    With three blocks it has seven convolutions and a dense layer.

    Args:
        image_channels: of the images.
        channels: of the first convolution.
        blocks: channels of each block.
        classes: number of logits.
        dtype: of the computation; weights are float32.
        rngs: source of the initial weights.
    """

    def __init__(
        self,
        image_channels: int,
        channels: int,
        blocks: Sequence[int],
        classes: int,
        *,
        dtype: DTypeLike,
        rngs: nnx.Rngs,
    ) -> None:
        self.first = convolution(image_channels, channels, 3, dtype=dtype, rngs=rngs)
        widths = [channels, *blocks]
        self.blocks = nnx.List(
            _Block(before, after, 1 if index == 0 else 2, dtype=dtype, rngs=rngs)
            for index, (before, after) in enumerate(zip(widths, blocks, strict=False))
        )
        self.logits = nnx.Linear(widths[-1], classes, dtype=dtype, rngs=rngs)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Logits of a batch.

        Args:
            images: float32 [batch, height, width, channels].
            train: whether this is a step of training.

        Returns:
            [batch, classes].
        """
        del train  # it makes no difference to this model
        activations = jax.nn.relu(self.first(images))
        for block in self.blocks:
            activations = block(activations)
        logits: jax.Array = self.logits(activations.mean((1, 2)))
        return logits


class _Block(nnx.Module):
    """Two 3x3 convolutions whose result is added to the block's inputs."""

    def __init__(
        self, before: int, after: int, stride: int, *, dtype: DTypeLike, rngs: nnx.Rngs
    ) -> None:
        self.stride = stride
        self.new_channels = after - before
        self.first = convolution(before, after, 3, stride=stride, dtype=dtype, rngs=rngs)
        self.second = convolution(after, after, 3, dtype=dtype, rngs=rngs)

    def __call__(self, images: jax.Array) -> jax.Array:
        added = self.second(jax.nn.relu(self.first(images)))
        # The positions that the first convolution's windows are centred on.
        kept = images[:, :: self.stride, :: self.stride].astype(added.dtype)
        shortcut = jnp.pad(kept, ((0, 0), (0, 0), (0, 0), (0, self.new_channels)))
        return jax.nn.relu(shortcut + added)
