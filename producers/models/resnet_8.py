"""The residual network of both papers for small images: without normalisation.

Blocks activate before they convolve (He et al., 2016b), and nothing follows their sum. What the
batch-size paper leaves open is as in the sparsity study's program.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from flax import nnx

from producers.models.convolution import conv_general_dilated, mean_pool_2x2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax.typing import DTypeLike

    from producers.datasets.forms import ImageForm


class ResNet8(nnx.Module):
    """A 3x3 convolution, blocks of two, ReLU, the mean over positions, then logits.

    The first block works at the size of the image, every further one at half of that before it.
    With three blocks it has seven convolutions and a dense layer. Weights start LeCun normal,
    biases at zero.

    Args:
        images: what they look like.
        channels: of the first convolution.
        blocks: channels of each block.
    """

    def __init__(
        self,
        images: ImageForm,
        channels: int,
        blocks: Sequence[int],
        *,
        dtype: DTypeLike,
        rngs: nnx.Rngs,
    ) -> None:
        self.first = _convolution(images.channels, channels, dtype=dtype, rngs=rngs)
        widths = [channels, *blocks]
        self.blocks = nnx.List(
            _Block(before, after, 1 if index == 0 else 2, dtype=dtype, rngs=rngs)
            for index, (before, after) in enumerate(zip(widths, blocks, strict=False))
        )
        self.logits = nnx.Linear(widths[-1], images.classes, dtype=dtype, rngs=rngs)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Logits [batch, classes] of images, float32 [batch, height, width, channels]."""
        del train  # it makes no difference to this model
        activations = self.first(images)
        for block in self.blocks:
            activations = block(activations)
        logits: jax.Array = self.logits(jax.nn.relu(activations).mean((1, 2)))
        return logits


class _Block(nnx.Module):
    """Two 3x3 convolutions, each of activated inputs, whose result is added to the block's inputs.

    Where a block has more channels than its inputs, the activated inputs take their place, the mean
    of every 2x2 square where it halves the image, and the new channels are zero.
    """

    def __init__(
        self, before: int, after: int, stride: int, *, dtype: DTypeLike, rngs: nnx.Rngs
    ) -> None:
        self.halves = stride == 2
        self.new_channels = after - before
        self.first = _convolution(before, after, strides=stride, dtype=dtype, rngs=rngs)
        self.second = _convolution(after, after, dtype=dtype, rngs=rngs)

    def __call__(self, images: jax.Array) -> jax.Array:
        activated = jax.nn.relu(images)
        added = self.second(jax.nn.relu(self.first(activated)))
        if not self.halves and not self.new_channels:
            return images + added
        shortcut = mean_pool_2x2(activated) if self.halves else activated
        return jnp.pad(shortcut, ((0, 0), (0, 0), (0, 0), (0, self.new_channels))) + added


_convolution = partial(
    nnx.Conv, kernel_size=(3, 3), padding="SAME", conv_general_dilated=conv_general_dilated
)
