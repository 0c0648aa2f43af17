"""The VGG networks: convolutions in a row, without normalisation."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import jax
from flax import nnx

from producers.models.convolution import convolution, max_pool_2x2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax.typing import DTypeLike

    from producers.datasets.forms import ImageForm


class VGG(nnx.Module):
    """Stages of 3x3 convolutions, each followed by a max-pool; dense layers; all ReLU, then logits.

    Args:
        images: what they look like.
        stages: output channels of the convolutions of each stage.
        dense: width of each dense layer.
    """

    def __init__(
        self,
        images: ImageForm,
        stages: Sequence[Sequence[int]],
        dense: Sequence[int],
        *,
        dtype: DTypeLike,
        rngs: nnx.Rngs,
    ) -> None:
        self.stages = nnx.List[nnx.List[nnx.Conv]]()
        before = images.channels
        for stage in stages:
            channels = itertools.pairwise([before, *stage])
            self.stages.append(
                nnx.List(convolution(*pair, 3, dtype=dtype, rngs=rngs) for pair in channels)
            )
            before = stage[-1]
        shrunk = 2 ** len(stages)
        sizes = [images.height // shrunk * (images.width // shrunk) * before, *dense]
        self.dense = nnx.List(
            nnx.Linear(*pair, kernel_init=nnx.initializers.he_normal(), dtype=dtype, rngs=rngs)
            for pair in itertools.pairwise(sizes)
        )
        self.logits = nnx.Linear(sizes[-1], images.classes, dtype=dtype, rngs=rngs)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Return logits [batch, classes] of images, float32 [batch, height, width, channels]."""
        del train  # it makes no difference to this model
        activations = images
        for stage in self.stages:
            *layers, last = stage
            for layer in layers:
                activations = jax.nn.relu(layer(activations))
            # The largest of a square is the same before ReLU as after it.
            activations = jax.nn.relu(max_pool_2x2(last(activations)))
        activations = activations.reshape(activations.shape[0], -1)
        for dense in self.dense:
            activations = jax.nn.relu(dense(activations))
        logits: jax.Array = self.logits(activations)
        return logits
